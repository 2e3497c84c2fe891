# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A replicated table's definition, as its ``metadata`` and ``columns`` znodes tell it."""

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
# Servers from 18.16 on write those that apply, in this order; a line of another kind may change what the
# table does with its parts, so it is refused.
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

    ``format_version`` is the data format version of the table's parts, 0 or 1. ``partition_key`` is the
    expression, empty without PARTITION BY. ``ttl`` is the expression of the table's TTL, empty without one;
    a TTL of a column stands in the ``columns`` znode. ``raw`` are the bytes of the znode.
    """

    format_version: int
    partition_key: str
    ttl: str
    raw: bytes

    @property
    def has_ttl(self) -> bool:
        """Whether the table has a TTL of its own."""
        return bool(self.ttl)


def parse_table_metadata(data: bytes, where: str) -> TableMetadata:
    """Read the bytes of a ``metadata`` znode; ``where`` is its path. Raises FormatError."""
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
    """Whether a column has a TTL, by the bytes of a ``columns`` znode at ``where``. Raises FormatError."""
    text = ZnodeText(data, where)
    text.exactly("columns format version: 1")
    count = text.line("the number of columns").removesuffix(" columns:")
    columns = [text.line("a column") for _each in range(text.count(count))]
    text.end()
    # Tabs and newlines inside of expressions are escaped, so a tab begins a field.
    return any(field.startswith("TTL ") for column in columns for field in column.split("\t")[1:])
