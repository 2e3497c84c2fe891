# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Decides whether a table without a twin at the given place never left the default ensemble.

On the way home there is nothing to do for a table that never left. But the rows may be in a twin at another
place than the given one, and then the table must not count as being at home. The servers show such a twin by
its name, and the coordination root has records of moves to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ...gates.gate import Refusal
from ...gates.names import GateName
from ...text import first_few
from ...tree.ports import ZnodeStore
from ..ledger.entry import parse_head
from ..ledger.ledger import path_of_ledger
from ..move.record import Records
from ..move.tables import Side
from .exchange_record import ExchangeRecords
from .pair import LocatedTables, table_of_twin
from .table_refused import TableRefused


class WithoutTwin(NamedTuple):
    """The table at the shard path of a replica that has no twin at the given place."""

    server: str
    database: str
    name: str
    elsewhere: str
    """A table in an auxiliary ensemble that belongs to this table by its name; "" without any."""


def require_never_left(
    hot: ZnodeStore, root: str, shard_path: str, found: Sequence[LocatedTables], twin: str
) -> None:
    """Raise TableRefused if a replica has a twin, or if the table may have left. Otherwise as below."""
    for each in found:
        if each.away is not None:
            lacking = [other.server for other in found if other.away is None]
            raise TableRefused(refuse_lacking(shard_path, str(each.home), lacking[0]))
    tables = [WithoutTwin(each.server, each.home.database, each.home.name, each.elsewhere) for each in found]
    refusal = refuse_departed(hot, root, shard_path, tables, twin)
    if refusal is not None:
        raise TableRefused(refusal)


def refuse_departed(
    hot: ZnodeStore, root: str, shard_path: str, tables: Sequence[WithoutTwin], twin: str
) -> Refusal | None:
    """Return why a table may have left; None if nothing says so. ``root``: the coordination root.

    tables: of each replica. Raises FormatError for a znode that cannot be read, and EnsembleError.
    """
    for each in tables:
        reason = _evidence(hot, root, shard_path, each, twin)
        if reason:
            return Refusal(
                GateName.TWIN_READY,
                f"{each.server}: {each.database}.{each.name} ({shard_path}) has no twin at the place of the"
                f" options, and {reason}",
                "Give ensemble, path and twin as in the move. If the table is at home with all its rows,"
                " leave it out",
            )
    return None


def refuse_lacking(shard_path: str, name: str, server: str) -> Refusal:
    """Return the refusal of a way home where one replica lacks the twin that another replica has."""
    return Refusal(
        GateName.TWIN_READY,
        f"{server} has no twin of {name} ({shard_path}), and other replicas have one",
        "Create it there with twin_table, and run again",
    )


def _evidence(hot: ZnodeStore, root: str, shard_path: str, table: WithoutTwin, twin: str) -> str:
    if table.elsewhere:
        return f"{table.elsewhere} may be the other table of the pair"
    exchanges = ExchangeRecords(hot, root, shard_path, Side.COLD)
    if exchanges.is_stored:
        return f"{exchanges.path} says that the name went to another ensemble"
    records = Records(hot, root, shard_path)
    ids = records.partition_ids()
    if ids:
        return f"partition {first_few(ids)} is between the table and its twin, says {records.path(ids[0])}"
    (head,) = hot.read([path_of_ledger(root, shard_path)])
    if head is not None:
        return f"{head.path} lists partitions in its twin at {parse_head(head).cold.place}"
    original = table_of_twin(table.name, twin)
    return f"it is named as the twin of {table.database}.{original}" if original else ""
