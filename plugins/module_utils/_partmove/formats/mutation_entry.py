# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Parses entries of ``mutations``, with the block number of the mutation in each partition."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .names import check_partition_id
from .znode_text import ZnodeText, unescape

_WITH_AUTHOR = 2
_FORMAT_VERSIONS = (1, _WITH_AUTHOR)


@dataclass(frozen=True)
class MutationEntry:
    """One mutation.

    where: the path of the znode.
    id: the name of the znode and ``mutation_id`` of ``system.mutations``.
    create_time: the server's local time, unchanged.
    block_numbers: partition id → block number of the mutation in the partition. Parts with a smaller data
    version still lack the mutation. Partitions without a key are not affected.
    commands: SQL text.
    alter_version: the number of the ALTER of the table's definition that caused the mutation. Without such an
    ALTER -1, or None in entries of old servers.
    """

    where: str
    id: str
    create_time: str
    source_replica: str
    block_numbers: Mapping[str, int]
    commands: str
    alter_version: int | None


def parse_mutation_entry(data: bytes, where: str) -> MutationEntry:
    """Parse an entry of ``mutations``. ``where``: the path of the entry. Raises FormatError."""
    text = ZnodeText(data, where)
    version = text.number(text.field("format version: "))
    if version not in _FORMAT_VERSIONS:
        raise text.refused(f"format version {_FORMAT_VERSIONS[0]} or {_FORMAT_VERSIONS[-1]}")
    create_time = text.field("create time: ")
    source_replica = text.field("source replica: ")
    block_numbers = _read_block_numbers(text)
    commands = unescape(text.field("commands: ", may_end_text=True))
    alter_version = text.optional_field("alter version: ", may_end_text=True)
    alter_number = None if alter_version is None else text.number(alter_version)
    if version >= _WITH_AUTHOR:
        text.field("author: ", may_end_text=True)
    text.end()
    name = where.rpartition("/")[2]
    return MutationEntry(where, name, create_time, source_replica, block_numbers, commands, alter_number)


def _read_block_numbers(text: ZnodeText) -> dict[str, int]:
    block_numbers: dict[str, int] = {}
    for _each in range(text.count(text.field("block numbers count: "))):
        partition_id, tab, number = text.line("a partition id, a tab and a block number").partition("\t")
        if not tab or partition_id in block_numbers:
            raise text.refused("another partition id, a tab and a block number")
        check_partition_id(partition_id, text.where)
        block_numbers[partition_id] = text.count(number)
    return block_numbers
