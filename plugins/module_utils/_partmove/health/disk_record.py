# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The active parts and detached folders of a server as plain data: into a result, and back from one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import FormatError
from .facts import Disk, DiskPartition, DiskTable, TableKey


def parts_record(disk: Disk) -> list[dict[str, Any]]:
    """One entry a table, sorted."""
    return [
        {
            "database": key.database,
            "table": key.table,
            "engine": table.engine,
            "ttl": table.ttl,
            "partitions": {
                name: {"rows": partition.rows, "parts": list(partition.parts)}
                for name, partition in sorted(table.partitions.items())
            },
        }
        for key, table in sorted(disk.tables.items())
    ]


def detached_record(disk: Disk) -> list[dict[str, Any]]:
    """One entry a table, sorted; names is None where they are not known."""
    return [
        {
            "database": key.database,
            "table": key.table,
            "names": None if names is None else sorted(names),
        }
        for key, names in sorted(disk.detached.items())
    ]


def parse_record(record: Mapping[str, Any]) -> Disk:
    """What `parts_record` and `detached_record` gave, as ``parts`` and ``detached``, whatever is beside them.

    Raises FormatError for anything else.
    """
    try:
        return Disk(
            {_key(entry): _table(entry) for entry in record["parts"]},
            {_key(entry): _names(entry["names"]) for entry in record["detached"]},
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise FormatError(
            "before is no earlier result of replica_info",
            remedy="Register a result of the module that did not fail, and give it whole",
        ) from error


def _key(entry: Mapping[str, Any]) -> TableKey:
    return TableKey(str(entry["database"]), str(entry["table"]))


def _table(entry: Mapping[str, Any]) -> DiskTable:
    partitions = {
        str(name): DiskPartition(int(partition["rows"]), tuple(map(str, partition["parts"])))
        for name, partition in entry["partitions"].items()
    }
    return DiskTable(str(entry["engine"]), bool(entry["ttl"]), partitions)


def _names(names: Any) -> frozenset[str] | None:
    return None if names is None else frozenset(map(str, names))
