# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Finds the clones of an ATTACH in what the ensemble of the destination keeps.

An ATTACH writes one multi for each partition:

- an entry of the replication log, REPLACE_RANGE, with the names of the clones and the source table. Servers
  remove old entries, so the log shows all clones only as long as it has every entry since the record.
- a znode below ``blocks`` for each clone, named after the hash of the source part, with the name of the
  clone. Servers remove old ones, and those of dropped parts, so they only show that a part is a clone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from ...formats.log_entry import EntryKind, LogEntry, parse_log_entry
from ...formats.names import parse_names
from .record import TwinRecord, contents
from .tables import KnownClones, PartsOf, TwinTable

CLONE_BLOCK = "_replace_from_"
"""Separates the partition id from the hash in the names of the block znodes that an ATTACH creates."""
_ENTRY = re.compile(r"log-([0-9]+)")
_WHERE = "the replication log"
_HALF = 16


class AttachTraces(NamedTuple):
    """What the ensemble of a table keeps of the statements on it."""

    log: Mapping[str, bytes]
    """Name of each log entry → its data."""
    blocks: Mapping[str, str]
    """Name of each block znode of a clone → name of the clone."""


def known_clones(traces: AttachTraces, source: TwinTable, since: Mapping[str, int]) -> dict[str, KnownClones]:
    """Return the clones of parts of the source, for each partition.

    since: partition id → number of the newest log entry before the ATTACH, -1 if it is unknown. Raises
    FormatError for a log entry of an unknown format, which may be an ATTACH.
    """
    found: dict[str, KnownClones] = {}
    numbered = {int(match[1]): name for name in traces.log if (match := _ENTRY.fullmatch(name))}
    entries = [(number, parse_log_entry(traces.log[name], name)) for number, name in sorted(numbered.items())]
    for each, newest in since.items():
        names = frozenset(
            name
            for number, entry in entries
            if _is_since(number, newest) and entry.source_table == (source.database, source.name)
            for name in _clones_in(entry)
            if name.startswith(f"{each}_")
        )
        is_complete = newest >= 0 and bool(numbered) and min(numbered) <= newest + 1
        found[each] = KnownClones(names, is_complete, _blocks_of(traces, each))
    return found


def _is_since(number: int, newest: int) -> bool:
    """Whether an entry is newer than the newest one before an ATTACH.

    A server shows the number 0 also for an empty log, so the entry with the number 0 counts as newer.
    """
    return number > newest > 0 or newest == 0


def _clones_in(entry: LogEntry) -> Iterator[str]:
    """Yield the names of the clones: a REPLACE_RANGE names its dropped range, all sources and all clones."""
    if entry.kind is EntryKind.REPLACE_RANGE:
        yield from entry.parts[1 + len(entry.parts) // 2 :]


def _blocks_of(traces: AttachTraces, partition_id: str) -> dict[str, str]:
    prefix = f"{partition_id}{CLONE_BLOCK}"
    return {
        clone: name[len(prefix) :].lower() for name, clone in traces.blocks.items() if name.startswith(prefix)
    }


def clones_since(record: TwinRecord, parts: PartsOf, found: KnownClones, partition_id: str) -> KnownClones:
    """Return the clones that an ATTACH has made since the record.

    Parts that the destination had before do not count. A block znode counts only if its hash is of a part of
    the source, because other tables may have been attached too.
    """
    source = {**contents(parts.past(record.destination.other)), **record.parts}
    source.update(contents(parts.on(record.destination.other)))
    hashes = {each for content in source.values() for each in _spellings(content.hash_of_all_files)}
    by_block = {name for name, digest in found.blocks.items() if digest in hashes}
    held = parse_names(record.held, partition_id, _WHERE)
    names = parse_names(sorted(found.names | by_block), partition_id, _WHERE)
    new = (name.text for name in names if not any(each.covers(name) for each in held))
    return KnownClones(frozenset(new), found.complete)


def _spellings(digest: str) -> tuple[str, str]:
    """Return a hash as newer servers write it into a path, and as older ones do."""
    return digest, digest[_HALF:] + digest[:_HALF]
