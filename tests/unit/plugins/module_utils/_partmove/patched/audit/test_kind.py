# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The vocabulary of an audit: every kind has a meaning and a remedy."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.kind import FindingKind

SOUND = {FindingKind.COPIES_NEEDED, FindingKind.COLD, FindingKind.HOT, FindingKind.EMPTY}


@pytest.mark.parametrize("kind", FindingKind)
def test_a_kind_has_a_meaning_and_a_remedy(kind: FindingKind) -> None:
    assert kind.value == kind.name.lower()
    assert kind.means
    assert bool(kind.remedy) != kind.is_consistent
    for text in (kind.means, kind.remedy):
        assert not text.endswith(".")
        assert "|" not in text


def test_consistent_and_inconsistent_kinds() -> None:
    assert {kind for kind in FindingKind if kind.is_consistent} == SOUND
    assert {kind for kind in FindingKind if not kind.is_inconsistent} == {*SOUND, FindingKind.NOT_JUDGED}


def test_kinds_with_an_unsafe_restart_are_inconsistent_and_come_first() -> None:
    unsafe = {kind for kind in FindingKind if kind.restart_unsafe}
    assert unsafe == {
        FindingKind.UNREGISTERED,
        FindingKind.REGISTERED_FOR_ANOTHER,
        FindingKind.UNREADABLE,
        FindingKind.COLD_UNKNOWN,
    }
    assert all(kind.is_inconsistent and kind.rank < FindingKind.FOREIGN.rank for kind in unsafe)


def test_the_worst_kind_comes_first_and_consistent_kinds_last() -> None:
    ordered = sorted(FindingKind, key=lambda kind: kind.rank)
    assert ordered == list(FindingKind)
    assert ordered[0] is FindingKind.UNREGISTERED
    assert set(ordered[-len(SOUND) :]) == SOUND
    assert ordered[-len(SOUND) - 1] is FindingKind.NOT_JUDGED
