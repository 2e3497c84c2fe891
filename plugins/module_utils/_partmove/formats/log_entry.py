# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Parses entries of a table's replication log and of the replicas' queues, and names their parts."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from .names import parse_part_name
from .znode_text import ZnodeText, unescape

_CREATE_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}")
_QUOTED = r"'(?:[^'\\]|\\.)*'"
_QUOTED_LIST = re.compile(rf"\[(?:{_QUOTED}(?:,{_QUOTED})*)?\]")
_PART_TYPES = ("Wide", "Compact", "InMemory")
_STORAGE_TYPES = ("Full", "Packed")
_WITH_LOG_ENTRY_ID = 7
# 18.16 to 20.12 write 4; later servers write 4, too, unless the entry has fields of 5, 6 or 7.
_FORMAT_VERSIONS = (4, 5, 6, _WITH_LOG_ENTRY_ID)


class EntryKind(Enum):
    """The command of an entry; the value is the word in the entry."""

    GET = "get"
    ATTACH = "attach"
    MERGE = "merge"
    MUTATE = "mutate"
    DROP = "drop"
    DETACH = "detach"
    CLEAR_COLUMN = "clear_column"
    CLEAR_INDEX = "clear_index"
    REPLACE_RANGE = "REPLACE_RANGE"
    ALTER = "alter"
    CLONE_FROM_SHARD = "clone_part_from_shard"
    SYNC_PINNED_PARTS = "sync_pinned_part_uuids"


@dataclass(frozen=True)
class LogEntry:
    """One parsed entry.

    where: the path of the znode.
    create_time: the server's local time, ``YYYY-MM-DD hh:mm:ss``.
    parts: the names of all parts and ranges in the entry: sources, result and dropped range.
    table_wide: whether the entry concerns all parts and names none.
    source_table: database and table whose parts a REPLACE_RANGE clones; ("", "") for other entries.
    """

    where: str
    kind: EntryKind
    create_time: str
    source_replica: str
    block_id: str
    parts: tuple[str, ...]
    table_wide: bool
    source_table: tuple[str, str] = ("", "")


class _Body(NamedTuple):
    parts: tuple[str, ...]
    table_wide: bool = False
    source_table: tuple[str, str] = ("", "")


def parse_log_entry(data: bytes, where: str) -> LogEntry:
    """Parse an entry of ``log`` or of a ``queue``. ``where``: the path of the entry.

    Raises FormatError for any unknown text: an entry with unknown text may concern every partition.
    """
    text = ZnodeText(data, where)
    version = text.number(text.field("format version: "))
    if version not in _FORMAT_VERSIONS:
        raise text.refused(f"a format version from {_FORMAT_VERSIONS[0]} to {_FORMAT_VERSIONS[-1]}")
    create_time = text.field("create_time: ")
    if _CREATE_TIME.fullmatch(create_time) is None:
        raise text.refused("a date and time")
    source_replica = text.field("source replica: ")
    block_id = unescape(text.field("block_id: "))
    if version >= _WITH_LOG_ENTRY_ID:
        text.field("log_entry_id: ")
    word = text.line("the type of the entry")
    try:
        kind = EntryKind(word)
    except ValueError:
        raise text.refused("a known type of entry") from None
    body = _BODIES[kind](text)
    _read_trailer(text)
    return LogEntry(where, kind, create_time, source_replica, block_id, *body)


def partitions_named(entry: LogEntry, format_version: int) -> frozenset[str]:
    """Return the partition ids of the parts in the entry.

    A ``table_wide`` entry concerns all partitions, whatever this function returns.

    format_version: the data format version of the table.

    Raises FormatError for an invalid part name.
    """
    return frozenset(parse_part_name(part, format_version, entry.where).partition_id for part in entry.parts)


def _part(text: ZnodeText) -> str:
    return text.line("the name of a part")


def _read_one_part(text: ZnodeText) -> _Body:
    return _Body((_part(text),))


def _read_attach(text: ZnodeText) -> _Body:
    first = _part(text)
    if first in ("detached", "unreplicated"):
        # Servers before 2017 wrote such entries, and later servers still read them.
        source = _part(text)
        text.exactly("into")
        return _Body((source, _part(text)))
    text.field("part_checksum: ")
    return _Body((first,))


def _read_merge(text: ZnodeText) -> _Body:
    parts = []
    while not text.optional_line("into"):
        parts.append(_part(text))
    parts.append(_part(text))
    text.field("deduplicate: ")
    for key in ("merge_type: ", "into_uuid: ", "deduplicate_by_columns: ", "cleanup: "):
        text.optional_field(key)
    patches = text.optional_field("apply_patches: ")
    if patches is not None:
        parts += [_part(text) for _each in range(text.count(patches))]
    return _Body(tuple(parts))


def _read_mutate(text: ZnodeText) -> _Body:
    source = _part(text)
    text.exactly("to")
    result = _part(text)
    if text.optional_line("to_uuid"):
        text.line("a UUID")
    if text.optional_line("alter_version"):
        text.number(text.line("the number of an ALTER"))
    return _Body((source, result))


def _read_clear(text: ZnodeText) -> _Body:
    text.line("the name of a column or an index")
    text.exactly("from")
    return _Body((_part(text),))


def _read_replace_range(text: ZnodeText) -> _Body:
    dropped = text.field("drop_range_name: ")
    database = unescape(text.field("from_database: "))
    table = unescape(text.field("from_table: "))
    sources = _quoted_list(text, "source_parts: ")
    results = _quoted_list(text, "new_parts: ")
    _quoted_list(text, "part_checksums: ")
    text.number(text.field("columns_version: "))
    return _Body((dropped, *sources, *results), source_table=(database, table))


def _read_alter(text: ZnodeText) -> _Body:
    text.exactly("alter_version")
    text.number(text.line("the number of an ALTER"))
    text.exactly("have_mutation")
    text.number(text.line("0 or 1"))
    for name in ("columns", "metadata"):
        text.exactly(f"{name}_str_size:")
        text.block(text.count(text.line(f"the size of the {name}")), f"{name} text")
    return _Body((), table_wide=True)


def _read_clone(text: ZnodeText) -> _Body:
    part = _part(text)
    text.field("source_shard: ")
    return _Body((part,))


def _read_sync(text: ZnodeText) -> _Body:
    text.exactly("")
    return _Body((), table_wide=True)


_BODIES: dict[EntryKind, Callable[[ZnodeText], _Body]] = {
    EntryKind.GET: _read_one_part,
    EntryKind.ATTACH: _read_attach,
    EntryKind.MERGE: _read_merge,
    EntryKind.MUTATE: _read_mutate,
    EntryKind.DROP: _read_one_part,
    EntryKind.DETACH: _read_one_part,
    EntryKind.CLEAR_COLUMN: _read_clear,
    EntryKind.CLEAR_INDEX: _read_clear,
    EntryKind.REPLACE_RANGE: _read_replace_range,
    EntryKind.ALTER: _read_alter,
    EntryKind.CLONE_FROM_SHARD: _read_clone,
    EntryKind.SYNC_PINNED_PARTS: _read_sync,
}


def _quoted_list(text: ZnodeText, key: str) -> list[str]:
    """Read the field ``key``: a list in square brackets of strings in single quotes."""
    value = text.field(key)
    if _QUOTED_LIST.fullmatch(value) is None:
        raise text.refused(f"{key!r} and a list of quoted names")
    return [unescape(quoted[1:-1]) for quoted in re.findall(_QUOTED, value)]


def _read_trailer(text: ZnodeText) -> None:
    for key, known in (("part_type: ", _PART_TYPES), ("storage_type: ", _STORAGE_TYPES)):
        value = text.optional_field(key)
        if value is not None and value not in known:
            raise text.refused(f"{key!r} and one of {', '.join(known)}")
    quorum = text.optional_field("quorum: ")
    if quorum is not None:
        text.count(quorum)
    text.end()
