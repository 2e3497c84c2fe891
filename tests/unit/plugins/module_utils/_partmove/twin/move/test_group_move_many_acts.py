# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Many acts at any steps, kills and refused statements, in an order that a seed decides, with a ledger.

RUNS says how many; each of them can be done again by its number.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.classify import TwinState
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.group_move import GroupMove
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.progress import (
    Current,
    Progress,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.transitions import TRANSITIONS
from support.memory.twin_schedules import TwinSchedule, explore_all

RUNS = int(os.environ.get("RUNS") or "1000")


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> set[tuple[TwinState, TwinState]]:
    """Every pair of successive states in the schedules of the test."""
    pairs: set[tuple[TwinState, TwinState]] = set()
    read_states = GroupMove._read_states

    def read_and_note(move: GroupMove, members: Sequence[Progress]) -> list[Current]:
        currents = read_states(move, members)
        for each in currents:
            before, state = getattr(each.progress, "before", None), each.classification.state
            if before is not None:
                pairs.add((before, state))
            each.progress.before = state  # type: ignore[attr-defined]
        return currents

    monkeypatch.setattr(GroupMove, "_read_states", read_and_note)
    return pairs


@pytest.mark.parametrize("part", range(4))
def test_no_row_is_lost_or_stays_twice_and_steps_lead_where_the_transitions_say(
    shown: set[tuple[TwinState, TwinState]], part: int
) -> None:
    explore_all(range(part, RUNS, 4), TwinSchedule)
    missing = {(state, after) for state, after in shown if after not in TRANSITIONS[state].leads_to}
    assert not missing
    assert RUNS < 1000 or len(shown) > 15
