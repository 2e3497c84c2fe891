# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The kinds of an audit of twins: each has a meaning and a remedy."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.audit.kind import TwinKind

SOUND = [TwinKind.COLD, TwinKind.HOT, TwinKind.EXCHANGED, TwinKind.WITHOUT_TWIN]


@pytest.mark.parametrize("kind", TwinKind)
def test_a_kind_has_a_meaning_and_a_remedy(kind: TwinKind) -> None:
    assert kind.value == kind.name.lower()
    assert kind.means
    assert bool(kind.remedy) != kind.is_consistent
    for text in (kind.means, kind.remedy):
        assert not text.endswith(".")
        assert "|" not in text


def test_consistent_kinds_come_last_after_not_judged() -> None:
    assert list(TwinKind)[-5:] == [TwinKind.NOT_JUDGED, *SOUND]
    assert [kind for kind in TwinKind if kind.is_consistent] == SOUND
    assert [kind for kind in TwinKind if not kind.is_inconsistent] == [TwinKind.NOT_JUDGED, *SOUND]


def test_kinds_that_another_run_ends_are_marked() -> None:
    assert [kind for kind in TwinKind if kind.is_begun] == [
        TwinKind.CLONED,
        TwinKind.ATTACHED,
        TwinKind.DROPPED_PARTLY,
        TwinKind.MERGED,
        TwinKind.DROPPED,
        TwinKind.RECORDED,
        TwinKind.STALE,
        TwinKind.WITHOUT_PARTS,
    ]


def test_kinds_with_missing_rows_are_the_most_urgent() -> None:
    missing = [
        TwinKind.LOST,
        TwinKind.SET_ASIDE,
        TwinKind.TWIN_GONE,
        TwinKind.TWIN_REPLACED,
        TwinKind.TABLE_REPLACED,
    ]
    assert [kind for kind in TwinKind if kind.is_missing] == missing == list(TwinKind)[:5]
    assert not any(kind.is_begun or kind.is_seen_twice for kind in missing)
    assert not any("DROP TABLE" in kind.remedy or "DELETE" in kind.remedy for kind in missing)


def test_kinds_with_rows_that_readers_may_see_twice() -> None:
    twice = {kind for kind in TwinKind if kind.is_seen_twice}
    assert twice == {
        TwinKind.UNKNOWN,
        TwinKind.EQUAL,
        TwinKind.EQUAL_IN_PART,
        TwinKind.AS_MANY_ROWS,
        TwinKind.CLONED,
        TwinKind.ATTACHED,
        TwinKind.DROPPED_PARTLY,
        TwinKind.MERGED,
    }
