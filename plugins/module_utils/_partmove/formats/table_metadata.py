# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Parses the definition of a replicated table from its ``metadata`` and ``columns`` znodes."""

from __future__ import annotations

from dataclasses import dataclass

from .names import FORMAT_VERSIONS
from .znode_text import ZnodeText

_REQUIRED = (
    "date column: ",
    "sampling expression: ",
    "index granularity: ",
    "mode: ",
    "sign column: ",
    "primary key: ",
)
_DATA_FORMAT_VERSION = "data format version: "
_PARTITION_KEY = "partition key: "
_TTL = "ttl: "
# Servers from 18.16 on write the lines that apply, in this order. Unknown lines are refused, because they may
# change how the table treats its parts.
_OPTIONAL = (
    "sorting key: ",
    _TTL,
    "indices: ",
    "projections: ",
    "granularity bytes: ",
    "constraints: ",
    "merge parameters format version: ",
    "version column: ",
    "is_deleted column: ",
    "columns to sum: ",
    "graphite hash: ",
)


@dataclass(frozen=True)
class TableMetadata:
    """The ``metadata`` znode of a shard path, or of a replica.

    format_version: the data format version of the table's parts, 0 or 1.
    partition_key: the expression of PARTITION BY, or empty.
    ttl: the expression of the table's TTL, or empty. TTLs of columns are in the ``columns`` znode.
    raw: the bytes of the znode.
    """

    format_version: int
    partition_key: str
    ttl: str
    raw: bytes

    @property
    def has_ttl(self) -> bool:
        """Whether the table itself has a TTL; TTLs of columns do not count."""
        return bool(self.ttl)


def parse_table_metadata(data: bytes, where: str) -> TableMetadata:
    """Parse the data of a ``metadata`` znode. ``where``: the path of the znode. Raises FormatError."""
    text = ZnodeText(data, where)
    text.exactly("metadata format version: 1")
    for key in _REQUIRED:
        text.field(key)
    format_version, partition_key = 0, ""
    version = text.optional_field(_DATA_FORMAT_VERSION)
    if version is not None:
        format_version = text.number(version)
        if format_version not in FORMAT_VERSIONS:
            raise text.refused("data format version 0 or 1")
    if format_version:
        partition_key = text.field(_PARTITION_KEY)
    values = {key: text.optional_field(key) for key in _OPTIONAL}
    text.end()
    return TableMetadata(format_version, partition_key, values[_TTL] or "", data)


def columns_have_ttl(data: bytes, where: str) -> bool:
    """Whether a column has a TTL. ``data``: of the ``columns`` znode at ``where``. Raises FormatError."""
    text = ZnodeText(data, where)
    text.exactly("columns format version: 1")
    count = text.line("the number of columns").removesuffix(" columns:")
    columns = [text.line("a column") for _each in range(text.count(count))]
    text.end()
    # Tabs and newlines inside expressions are escaped, so every tab begins a field.
    return any(field.startswith("TTL ") for column in columns for field in column.split("\t")[1:])
