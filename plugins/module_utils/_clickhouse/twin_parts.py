# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reads the parts of partitions in both tables of a replica."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from .._partmove.errors import PartMoveError
from .._partmove.formats.sql import is_one_of
from .._partmove.twin.move.tables import PartContent, Parts, PartsOf, TwinPart, TwinTables
from .client import ClickHouseClient
from .twin_sql import pair_condition


def read_parts(
    client: ClickHouseClient, tables: TwinTables, partition_ids: Sequence[str]
) -> Mapping[str, PartsOf]:
    """Implement `TwinServers.parts` by one query for the partitions alone.

    Raises QueryRefused if the version lacks one of the columns.
    """
    names = pair_condition(tables)
    rows = client.rows(
        "SELECT table, partition_id, name, toString(rows), hash_of_all_files, hash_of_uncompressed_files,"
        " toString(bytes_on_disk), disk_name, toString(toUnixTimestamp(modification_time)),"
        " toString(active), uncompressed_hash_of_compressed_files"
        f" FROM system.parts WHERE {names} AND {is_one_of('partition_id', partition_ids)}"
    )
    found: dict[tuple[str, str, bool], list[TwinPart]] = defaultdict(list)
    for table, partition_id, name, count, files, plain, size, disk, modified, active, data in rows:
        is_active = bool(int(active))
        if is_active and not (files and plain and data):
            raise PartMoveError(
                f"{tables.server} does not report the hashes of part {name} of {table}",
                remedy="Check whether the part is broken, and run again",
            )
        content = PartContent(int(count), files.lower(), plain.lower())
        part = TwinPart(name, content, int(size), disk, float(modified), data.lower())
        found[table, partition_id, is_active].append(part)
    hot, cold = tables.hot.name, tables.cold.name

    def of(each: str, table: str, *, active: bool) -> Parts:
        return tuple(sorted(found[table, each, active]))

    return {
        each: PartsOf(
            of(each, hot, active=True),
            of(each, cold, active=True),
            of(each, hot, active=False),
            of(each, cold, active=False),
        )
        for each in partition_ids
    }
