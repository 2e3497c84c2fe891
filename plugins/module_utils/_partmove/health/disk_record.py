# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The active parts and detached folders of a server as plain data, for results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..records import COUNT, FLAG, TEXT, Record, list_of, mapping_of, or_none
from .facts import Disk, DiskPartition, DiskTable, TableKey

# A result of a later version may have more keys.
_PARTITION = Record({"rows": COUNT, "parts": list_of(TEXT)}, extra_keys=True)
_TABLE = Record(
    {
        "database": TEXT,
        "table": TEXT,
        "engine": TEXT,
        "ttl": FLAG,
        "partitions": mapping_of(_PARTITION),
    },
    extra_keys=True,
)
_DETACHED = Record({"database": TEXT, "table": TEXT, "names": or_none(list_of(TEXT))}, extra_keys=True)
_RECORD = Record(
    {"parts": list_of(_TABLE), "detached": list_of(_DETACHED)},
    remedy="Register a result of the module that did not fail, and give it whole",
    extra_keys=True,
)


def parts_record(disk: Disk) -> list[dict[str, Any]]:
    """Return the active parts: one mapping per table, sorted."""
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
    """Return the detached folders: one mapping per table, sorted; names is None if they are unknown."""
    return [
        {
            "database": key.database,
            "table": key.table,
            "names": None if names is None else sorted(names),
        }
        for key, names in sorted(disk.detached.items())
    ]


def parse_record(record: object) -> Disk:
    """Parse the keys ``parts`` and ``detached`` of a result; the two functions above write them.

    Other keys are ignored. Raises FormatError for invalid data.
    """
    given = _RECORD.read(record, "before is no earlier result of replica_info")
    return Disk(
        {_key(entry): _table(entry) for entry in given["parts"]},
        {_key(entry): _names(entry["names"]) for entry in given["detached"]},
    )


def _key(entry: Mapping[str, Any]) -> TableKey:
    return TableKey(entry["database"], entry["table"])


def _table(entry: Mapping[str, Any]) -> DiskTable:
    partitions = {
        name: DiskPartition(partition["rows"], tuple(partition["parts"]))
        for name, partition in entry["partitions"].items()
    }
    return DiskTable(entry["engine"], entry["ttl"], partitions)


def _names(names: list[str] | None) -> frozenset[str] | None:
    return None if names is None else frozenset(names)
