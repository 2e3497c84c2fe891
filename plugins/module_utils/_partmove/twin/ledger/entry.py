# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The entries of the ledger of a twin: for each partition, its rows and its lineage in the twin.

An entry takes about 50 bytes. The lineage lets an audit distinguish merges and mutations, which keep the
blocks of a partition, from lost parts, which do not.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from ...envelope import Envelope
from ...records import COUNT, TEXT, WHOLE_NUMBER, FieldType, InvalidValue, Record, mapping_of
from ...tree.znodes import Znode

MOST_RANGES = 100
"""The most block ranges in an entry; of a partition with more ranges, only the first ones are entered."""

_REMEDY = "Use the version of olap.partmove that wrote it, or find out which client wrote it"
_HEAD = Envelope("ledger of a twin", "olap.partmove/twin-ledger", 1, remedy=_REMEDY)
_PAGE = Envelope("page of the ledger of a twin", "olap.partmove/twin-ledger-page", 1, remedy=_REMEDY)
_RANGE = re.compile(r"(0|[1-9]\d*)(?:-([1-9]\d*))?(?:@([1-9]\d*))?", re.ASCII)
_DIGESTS = re.compile(r"([0-9a-f]{6})([0-9a-f]{6})", re.ASCII)


class BlockRange(NamedTuple):
    """Consecutive blocks of a partition in the twin."""

    first: int
    last: int
    expires: int = 0
    """When all rows of the blocks had expired by the TTL of the table, in seconds since 1970; 0 without."""

    def __str__(self) -> str:
        return str(self.first) if self.first == self.last else f"{self.first}-{self.last}"


class LedgerEntry(NamedTuple):
    """What the twin had of a partition when the entry was written."""

    rows: int
    ranges: tuple[BlockRange, ...]
    mutation: int
    """The highest mutation version in the names of the parts; 0 without a mutation."""
    names: str
    """Digest of the names of the parts."""
    contents: str
    """Digest of the contents of the parts, whatever their names."""
    cold_blocks: int
    """How many block numbers the twin had allocated in the partition, at least."""
    hot_blocks: int
    """As `read_hot_blocks` returns."""

    @property
    def as_json(self) -> list[object]:
        """The entry as a short list."""
        ranges = " ".join(f"{each}@{each.expires}" if each.expires else str(each) for each in self.ranges)
        digests = self.names + self.contents
        return [self.rows, ranges, self.mutation, digests, self.cold_blocks, self.hot_blocks]


class Birth(NamedTuple):
    """When the znodes of a replicated table were created in its ensemble.

    Both are of the znode ``log``. A server creates it in one transaction with the znode of the table, and
    removes it with the last replica. So these values stay while replicas come and go.
    """

    czxid: int
    ctime: int
    """In seconds since 1970, by the clock of the ensemble."""


class TablePlace(NamedTuple):
    """One of the two tables when the ledger was written."""

    name: str
    """Database and name, for messages."""
    place: str
    """Ensemble and path, as in `TwinTable.place`."""
    uuids: Mapping[str, str]
    """Replica → UUID of the table on its server; without replicas whose server keeps no UUIDs."""
    born: Birth | None = None
    """None if it was not known when the ledger was written."""

    def is_replaced_by(self, now: TablePlace) -> bool:
        """Whether the table of today is another one, or may be.

        It is the same one if a replica still has its UUID, or if its znodes are those of then: every replica
        may have been replaced.
        """
        if not (self.uuids and now.uuids) or set(self.uuids.values()) & set(now.uuids.values()):
            return False
        return self.born is None or self.born != now.born

    @property
    def as_json(self) -> dict[str, object]:
        """The fields for the head of a ledger."""
        fields: dict[str, object] = {"name": self.name, "place": self.place, "uuids": self.uuids}
        return fields if self.born is None else {**fields, "born": self.born._asdict()}


class TwinPair(NamedTuple):
    """The table and its twin, which a ledger is about."""

    hot: TablePlace
    cold: TablePlace

    def encode(self) -> bytes:
        """Return the data for the head of the ledger."""
        return _encoded(_HEAD, {"hot": self.hot.as_json, "cold": self.cold.as_json})


Entries = Mapping[str, LedgerEntry]
"""Partition id → entry."""


def _encoded(envelope: Envelope, fields: Mapping[str, object]) -> bytes:
    return json.dumps(envelope.around(fields), separators=(",", ":"), ensure_ascii=False).encode()


def encode_page(entries: Entries) -> bytes:
    """Return the data for a page of the ledger."""
    return _encoded(_PAGE, {"entries": {each: entries[each].as_json for each in sorted(entries)}})


def _ranges(text: str) -> tuple[BlockRange, ...]:
    found = []
    for each in text.split():
        match = _RANGE.fullmatch(each)
        if match is None:
            raise InvalidValue
        first, last, expires = (int(number or 0) for number in match.groups())
        found.append(BlockRange(first, last or first, expires))
    return tuple(found)


def _entry(value: object) -> LedgerEntry:
    if not isinstance(value, list) or len(value) != 6:
        raise InvalidValue
    rows, ranges, mutation, digests, cold_blocks, hot_blocks = value
    match = _DIGESTS.fullmatch(TEXT.check(digests))
    if match is None:
        raise InvalidValue
    counts = (COUNT.check(cold_blocks), WHOLE_NUMBER.check(hot_blocks))
    return LedgerEntry(
        COUNT.check(rows), _ranges(TEXT.check(ranges)), COUNT.check(mutation), match[1], match[2], *counts
    )


_ENTRIES = Record({"entries": mapping_of(FieldType(_entry, "a list of six values"))}, remedy=_REMEDY)
_BIRTH = Record({"czxid": COUNT, "ctime": COUNT})
_TABLE = Record({"name": TEXT, "place": TEXT, "uuids": mapping_of(TEXT)}, {"born": _BIRTH})
_PAIR = Record({"hot": _TABLE, "cold": _TABLE}, remedy=_REMEDY)


def parse_page(znode: Znode) -> Entries:
    """Parse a page of the ledger. Raises FormatError."""
    where = f"The data of {znode.path}"
    entries: Entries = _ENTRIES.read(_PAGE.parsed(znode.data, where), where)["entries"]
    return entries


def parse_head(znode: Znode) -> TwinPair:
    """Parse the head of a ledger. Raises FormatError."""
    where = f"The data of {znode.path}"
    fields = _PAIR.read(_HEAD.parsed(znode.data, where), where)
    return TwinPair(_table_place(fields["hot"]), _table_place(fields["cold"]))


def _table_place(fields: Mapping[str, Any]) -> TablePlace:
    born = fields.get("born")
    return TablePlace(
        fields["name"], fields["place"], fields["uuids"], None if born is None else Birth(**born)
    )
