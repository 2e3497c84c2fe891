# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Takes partitions that a statement drops or empties out of the ledger of the twin.

Otherwise audits would report them as lost. Servers remove the parts of a partition that a DELETE empties.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...tree.znodes import Op
from ..ledger.ledger import OpenLedger
from ..move.tables import Side, TwinTables
from .effect import Effect
from .record import AlterRecord
from .shard import AlterShard
from .statement import AlterKind


def leave_ledger(shard: AlterShard, record: AlterRecord) -> Sequence[Op]:
    """Return the operations for the multi that removes the record of the statement.

    A TRUNCATE empties the ledger, so its operations are bounded by the number of pages.
    """
    statement = record.statement
    if statement.kind not in (AlterKind.DROP, AlterKind.REPLACE) and not statement.is_delete:
        return ()
    opened = OpenLedger(shard.hot, shard.root, shard.shard_path)
    if opened.ledger is None:
        return ()
    if statement.is_delete:
        partitions = _emptied(shard, record, opened.entries)
    else:
        partitions = [each for each in opened.entries if statement.partition in ("", each)]
    return opened.plan(opened.ledger.pair, dict.fromkeys(partitions)).ops if partitions else ()


def lacking_before(shard: AlterShard, every: Sequence[TwinTables]) -> tuple[str, ...]:
    """Return partitions of the ledger that have no rows in the twin of some replica, sorted.

    Before a mutation these are lost, and the mutation does not explain it.
    """
    listed = OpenLedger(shard.hot, shard.root, shard.shard_path).entries
    if not listed:
        return ()
    return tuple(sorted({each for tables in every for each in _without_rows(shard, tables, listed)}))


def _emptied(shard: AlterShard, record: AlterRecord, listed: Iterable[str]) -> list[str]:
    """Return the partitions of the ledger that certainly lost all their rows by the mutation of the record.

    Every replica must still list the mutation: an auxiliary ensemble that was set back does not have it.
    """
    every = shard.tables() if listed else ()
    if not every or not Effect(shard, record, Side.COLD).is_there():
        return []
    empty = [set(_without_rows(shard, tables, listed)) for tables in every]
    return sorted(set.intersection(*empty) - set(record.lacking))


def _without_rows(shard: AlterShard, tables: TwinTables, partition_ids: Iterable[str]) -> list[str]:
    blocks = shard.servers.blocks(tables, Side.COLD)
    return [each for each in partition_ids if each not in blocks or not blocks[each].rows]
