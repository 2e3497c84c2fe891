# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Sums of counts, with a limited number of names."""

from __future__ import annotations

from ansible_collections.olap.partmove.plugins.module_utils._partmove.census.counts import (
    BoundedCounts,
    Counts,
    merged,
    total_of,
)


def figures(counts: Counts) -> tuple[int, int]:
    return counts.znodes, counts.bytes


def test_counts_of_several_are_added_by_key() -> None:
    found = merged([{"a": Counts(1, 10), "b": Counts(2, 5)}, {"a": Counts(3, 7)}])
    assert {key: figures(counts) for key, counts in found.items()} == {"a": (4, 17), "b": (2, 5)}
    assert figures(total_of(found.values())) == (6, 22)


def test_names_beyond_the_most_are_counted_together() -> None:
    counts = BoundedCounts(2)
    for name in ("a", "b", "c", "d", "a"):
        counts.add(name, 10)
    assert {name: figures(each) for name, each in counts.by_name.items()} == {
        "a": (2, 20),
        "b": (1, 10),
        BoundedCounts.REST: (2, 20),
    }
