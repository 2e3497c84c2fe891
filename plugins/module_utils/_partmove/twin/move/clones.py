# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What an ATTACH has cloned: which new parts of the destination are clones of which recorded ones.

All of this is about one partition of which the replicas have equal parts; where they do not, nobody can tell.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from ...formats.names import PartName, parse_names
from .lineage import is_made_of, resolve_merged
from .record import TwinRecord, contents
from .tables import PartContent, PartsOf, Side, TwinPart

_WHERE = "system.parts"


def clones_of(record: TwinRecord, parts: PartsOf, partition_id: str) -> Mapping[str, str] | str:
    """Name of each recorded part → name of its clone; or why what the tables have is not just that.

    It is just that where the source has every recorded part as it was, and each has one clone among what is
    new in the destination: rows and both hashes are equal, whatever the names. Clones that are certain to
    have been merged since count as they came. Nothing else may be new, but on the way back inserts: one that
    equals a recorded part stays beside its clone, whichever of the two is taken for it.
    """
    source = contents(parts.on(record.destination.other))
    changed = [name for name, content in record.parts.items() if source.get(name) != content]
    if changed:
        return f"part {min(changed)} of the source is not there as it was, as after a merge"
    wanted = Counter(record.parts.values())
    clones: dict[PartContent, list[str]] = {}
    cloned, others = resolve_merged(record, parts, new_in(record, parts), partition_id, frozenset(wanted))
    for part in cloned:
        clones.setdefault(part.content, []).append(part.name)
    came = Counter({content: len(names) for content, names in clones.items()})
    missing, besides = sum((wanted - came).values()), sum((came - wanted).values()) + len(others)
    # A part of the source that was not recorded would have been cloned, too, and nobody would drop it there.
    may_be_inserts = record.destination is Side.HOT and len(source) == len(record.parts)
    if may_be_inserts and _are_harmless(record, parts, others, partition_id):
        besides = 0
    if missing or besides:
        return f"of {len(record.parts)} parts {missing} were not cloned, and {besides} others came"
    return {name: clones[content].pop(0) for name, content in sorted(record.parts.items())}


def with_clones(
    record: TwinRecord, parts: PartsOf, clones: Mapping[str, str], partition_id: str
) -> list[str]:
    """The parts of the destination that have the clones: these themselves, or what they were merged into."""
    cloned = parse_names(clones.values(), partition_id, _WHERE)
    new = parse_names([part.name for part in new_in(record, parts)], partition_id, _WHERE)
    return [part.text for part in new if any(part.covers(each) for each in cloned)]


def _are_harmless(record: TwinRecord, parts: PartsOf, others: Iterable[TwinPart], partition_id: str) -> bool:
    """Whether these equal no clone and have none in them: they were inserted, or merged of what is known."""

    def parsed(names: Iterable[str]) -> list[PartName]:
        return parse_names(names, partition_id, _WHERE)

    wanted = frozenset(record.parts.values())
    held = parsed(record.held)
    past = parsed(part.name for part in parts.past(record.destination) if part.content not in wanted)
    inserted = {each for each in past if _is_insert(each) and not any(other.covers(each) for other in held)}
    return all(
        _is_insert(each) or is_made_of(each, [*held, *inserted])
        for each in parsed(part.name for part in others)
    )


def _is_insert(name: PartName) -> bool:
    return name.level == 0 and name.mutation is None


def unlike_rows(checksums: Sequence[str]) -> str:
    """Why rows are not the same in all places that these are of; empty where they are, or were not read."""
    if len(set(checksums)) <= 1:
        return ""
    return (
        f"files have the same hashes, but not all replicas read the same rows from both tables"
        f" (checksums {', '.join(checksums)}, of the source first)"
    )


def is_changed(record: TwinRecord, parts: PartsOf) -> bool:
    """Whether the source is not as it was recorded, so that an ATTACH would clone something else."""
    return contents(parts.on(record.destination.other)) != record.parts


def must_roll_back(record: TwinRecord, parts: PartsOf) -> bool:
    """Whether what came is to be undone, and no ATTACH to be given before.

    On the way back it is given first all the same where anything is new: of a part that equals a recorded one
    nobody could tell whether it is the clone, or was inserted and the statement was never given.
    """
    if not is_changed(record, parts):
        return False
    return record.destination is Side.COLD or not new_in(record, parts)


def new_in(record: TwinRecord, parts: PartsOf) -> list[TwinPart]:
    """The parts of the destination that it did not have when the record was written, by name."""
    return sorted(part for part in parts.on(record.destination) if part.name not in record.held)
