# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Each state has one step, and steps lead where the table of transitions says."""

from __future__ import annotations

from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move import group_move
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.classify import TwinState
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.transitions import TRANSITIONS


def test_every_state_has_its_transition_and_its_step() -> None:
    assert TRANSITIONS.keys() == group_move._STEP_OF.keys() == set(TwinState)


def test_a_run_ends_where_no_state_follows() -> None:
    ends = {state for state, transition in TRANSITIONS.items() if not transition.leads_to}
    assert ends == {TwinState.ABSENT, TwinState.AT_DESTINATION, TwinState.UNKNOWN}


def test_every_state_but_the_first_follows_from_another() -> None:
    following = frozenset().union(*(each.leads_to for each in TRANSITIONS.values()))
    assert following == set(TwinState)
