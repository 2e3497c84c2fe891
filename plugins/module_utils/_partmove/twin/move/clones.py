# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Identifies clones: which new parts of the destination an ATTACH cloned from which recorded parts.

All functions are about a single partition and need replicas with equal parts: clones are undefined otherwise.
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
    """Map the name of each recorded part to the name of its clone, or return why the clones are incomplete.

    The clones are complete if:

    - the source has every recorded part with the recorded content,
    - each recorded part has one new part in the destination with equal rows and equal hashes, whatever its
      name. Clones that certainly were merged count as they were before the merge;
    - the destination has no other new part. On the way to hot, inserts are allowed. An insert that equals a
      recorded part stays beside its clone, whichever of the two counts as the clone. Where this run did not
      execute the ATTACH, only parts that the ensemble knows as clones count as clones.
    """
    source = contents(parts.on(record.destination.other))
    changed = [name for name, content in record.parts.items() if source.get(name) != content]
    if changed:
        return f"part {min(changed)} of the source is not as recorded, for example because of a merge"
    expected = Counter(record.parts.values())
    clones: dict[PartContent, list[str]] = {}
    cloned, others = resolve_merged(
        record, parts, new_parts(record, parts), partition_id, frozenset(expected), known_names(record, parts)
    )
    for part in cloned:
        clones.setdefault(part.content, []).append(part.name)
    cloned_counts = Counter({content: len(names) for content, names in clones.items()})
    missing = sum((expected - cloned_counts).values())
    extra = sum((cloned_counts - expected).values()) + len(others)
    # ATTACH clones unrecorded parts of the source as well, and no run would drop them from the source.
    may_be_inserts = record.destination is Side.HOT and len(source) == len(record.parts)
    if may_be_inserts and _are_harmless(record, parts, others, partition_id):
        extra = 0
    if missing or extra:
        return f"of {len(record.parts)} parts {missing} were not cloned, and {extra} other parts are new"
    return {name: clones[content].pop(0) for name, content in sorted(record.parts.items())}


def parts_holding_clones(
    record: TwinRecord, parts: PartsOf, clones: Mapping[str, str], partition_id: str
) -> list[str]:
    """Return the parts of the destination with the clones, also after merges of the clones."""
    cloned = parse_names(clones.values(), partition_id, _WHERE)
    new = parse_names([part.name for part in new_parts(record, parts)], partition_id, _WHERE)
    return [part.text for part in new if any(part.covers(each) for each in cloned)]


def _are_harmless(record: TwinRecord, parts: PartsOf, others: Iterable[TwinPart], partition_id: str) -> bool:
    """Whether each part is an insert, or was merged from inserts and parts from before the ATTACH alone."""

    def parsed(names: Iterable[str]) -> list[PartName]:
        return parse_names(names, partition_id, _WHERE)

    expected = frozenset(record.parts.values())
    held = parsed(record.held)
    past = parsed(part.name for part in parts.past(record.destination) if part.content not in expected)
    inserted = {each for each in past if _is_insert(each) and not any(other.covers(each) for other in held)}
    return all(
        _is_insert(each) or is_made_of(each, [*held, *inserted])
        for each in parsed(part.name for part in others)
    )


def _is_insert(name: PartName) -> bool:
    return name.level == 0 and name.mutation is None


def checksum_problem(checksums: Sequence[str]) -> str:
    """Return why checksums differ between tables or replicas; "" if all agree, or if none was read."""
    if len(set(checksums)) <= 1:
        return ""
    return (
        f"files have the same hashes, but not all replicas read the same rows from both tables"
        f" (checksums {', '.join(checksums)}, of the source first)"
    )


def is_source_changed(record: TwinRecord, parts: PartsOf) -> bool:
    """Whether the source differs from the record: an ATTACH would clone parts without a record."""
    return contents(parts.on(record.destination.other)) != record.parts


def known_names(record: TwinRecord, parts: PartsOf) -> frozenset[str] | None:
    """Return the names of the parts that an ATTACH made in hot; None if each new part may be such a part.

    Nobody inserts into the twin, so each new part of the twin may be a clone.
    """
    if record.destination is Side.COLD or parts.clones is None:
        return None
    return parts.clones.names


def may_have_clones(record: TwinRecord, parts: PartsOf, partition_id: str) -> bool:
    """Whether a new part of the destination may be, or contain, a clone.

    In the twin, each new part may. In hot, parts do not count that certainly were inserted: others than the
    recorded parts, and parts that the ensemble does not know as clones although it knows all clones.
    """
    new = new_parts(record, parts)
    if record.destination is Side.COLD or not new:
        return bool(new)
    clones = parts.clones
    if clones is not None and clones.complete:
        return bool(clones.names)
    expected = frozenset(record.parts.values())
    others = [part for part in new if part.content not in expected]
    return len(others) < len(new) or not _are_harmless(record, parts, others, partition_id)


def new_parts(record: TwinRecord, parts: PartsOf) -> list[TwinPart]:
    """Return the parts of the destination that the record does not list, by name."""
    return sorted(part for part in parts.on(record.destination) if part.name not in record.held)
