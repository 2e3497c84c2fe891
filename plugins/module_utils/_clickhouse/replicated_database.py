# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Databases of the engine Replicated, where a table in an auxiliary ensemble does not work as elsewhere.

- Such a table cannot be altered: a server writes its ALTER, and the entry of the database in the default
  ensemble, in one multi. So a twin could never follow an ALTER of its table.
- If the database has several shards, servers execute ATTACH PARTITION FROM in every shard, and DROP PART only
  in one. A move in one shard would leave clones in the others.
"""

from __future__ import annotations

from .._partmove.errors import PartMoveError
from .._partmove.formats.inner_tables import InnerTable, is_inner
from .._partmove.formats.sql import literal
from .._partmove.twin.move.tables import TwinTable
from .._partmove.twin.table.pair import EXCHANGEABLE, REPLICATED
from .client import ClickHouseClient

_REMEDY = (
    f"Create the table anew in a database of the engine {EXCHANGEABLE}, and copy its rows: servers rename no"
    f" table of a database of the engine {REPLICATED} into another database"
)


def refuse_new_twin(client: ClickHouseClient, table: TwinTable) -> None:
    """Raise PartMoveError if a table may not get a twin.

    A view would not find its inner table any more, and servers would never alter the twin of a table in a
    database of the engine Replicated.
    """
    if is_inner(table.name):
        raise InnerTable(client.label, str(table))
    if is_replicated(client, table):
        raise PartMoveError(
            f"{client.label}: the database {table.database} is of the engine {REPLICATED}, in which a server"
            " cannot ALTER a table in an auxiliary ensemble, so that a twin could not follow its table",
            remedy=_REMEDY,
        )


def refuse_several_shards(client: ClickHouseClient, table: TwinTable) -> None:
    """Raise PartMoveError if an ATTACH in one shard would be executed in others, or shards are unknown."""
    if not is_replicated(client, table):
        return
    ((shards,),) = client.rows(
        "SELECT toString(uniqExact(shard_num)) FROM system.clusters"
        f" WHERE cluster = {literal(table.database)}"
    )
    if int(shards) != 1:
        number = shards if int(shards) else "an unknown number of"
        raise PartMoveError(
            f"{client.label}: the database {table.database} is of the engine {REPLICATED} with {number}"
            " shards, and servers would execute the ATTACH PARTITION FROM of a move in each of them",
            remedy=_REMEDY,
        )


def is_replicated(client: ClickHouseClient, table: TwinTable) -> bool:
    """Whether the database of the table is of the engine Replicated."""
    ((engine,),) = client.rows(f"SELECT engine FROM system.databases WHERE name = {literal(table.database)}")
    return bool(engine == REPLICATED)
