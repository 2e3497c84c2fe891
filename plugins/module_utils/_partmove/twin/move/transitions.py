# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The states of a partition between its two tables, and where the step of each state leads.

`GroupMove` follows this table: each state has exactly one step, and a run takes steps until a state has
none. The tests compare every step of random schedules with ``leads_to``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from .classify import TwinState


class Transition(NamedTuple):
    """The step of a run in a state, and the possible states after the step."""

    when: str
    """What identifies the state: the record of the partition, and the parts that every replica has."""
    step: str
    """What the run does."""
    leads_to: frozenset[TwinState] = frozenset()
    """The next states, whatever servers and other clients do meanwhile; empty where the run ends."""


_S = TwinState
_ANY_ATTACHED = frozenset({_S.ATTACHED, _S.DROPPED_PARTLY, _S.DROPPED, _S.MERGED, _S.CHANGED, _S.UNKNOWN})
_NO_RECORD = frozenset({_S.AT_SOURCE, _S.AT_DESTINATION, _S.ABSENT})
"""After a record in the other direction ends, the partition may already be at the destination of this run."""
_NOT_VERIFIED = frozenset({_S.RECORDED, _S.CLONED, _S.STALE, _S.UNDOING, _S.UNKNOWN})

TRANSITIONS: Mapping[TwinState, Transition] = {
    _S.ABSENT: Transition("No record; neither table has the partition.", "Defer the partition."),
    _S.AT_DESTINATION: Transition(
        "No record; only the destination has the partition.", "Report the partition as unchanged or moved."
    ),
    _S.AT_SOURCE: Transition(
        "No record; the source has the partition.",
        "Ask the gates, write the record and execute ATTACH.",
        _NOT_VERIFIED | _NO_RECORD,
    ),
    _S.RECORDED: Transition(
        "A record without clones; the source is as recorded, and the destination has no new part that may be"
        " a clone.",
        "Execute ATTACH. If it was in vain, remove the record.",
        _NOT_VERIFIED | _NO_RECORD,
    ),
    _S.CLONED: Transition(
        "A record without clones; the source is as recorded, and new parts of the destination may be clones.",
        "Compare every replica, record the clones, read the marks of both tables again and drop the recorded"
        " parts. Undo the ATTACH if the new parts differ from the record or the marks have changed.",
        _NOT_VERIFIED | _ANY_ATTACHED | _NO_RECORD,
    ),
    _S.STALE: Transition(
        "A record without clones; the source has changed.",
        "Drop the clones by their names, and remove the record.",
        _NOT_VERIFIED | _NO_RECORD,
    ),
    _S.UNDOING: Transition(
        "A record without clones that names parts to drop again.",
        "Drop the rest of these parts, and remove the record.",
        _NOT_VERIFIED | _NO_RECORD,
    ),
    _S.ATTACHED: Transition(
        "A record with clones; the source has every recorded part.",
        "Read the marks of both tables again, and drop each recorded part of the source by its name. Drop the"
        " clones instead if the marks have changed.",
        _ANY_ATTACHED | _NOT_VERIFIED | _NO_RECORD,
    ),
    _S.CHANGED: Transition(
        "A record with clones, and no part was dropped; a mutation has rewritten a recorded part or a clone.",
        "Drop the clones by their names, and remove the record.",
        _NOT_VERIFIED | _NO_RECORD,
    ),
    _S.DROPPED_PARTLY: Transition(
        "A record with clones; some recorded parts are dropped.",
        "Drop the remaining recorded parts by their names.",
        _ANY_ATTACHED,
    ),
    _S.MERGED: Transition(
        "A record with clones; a merge in the source took recorded parts.",
        "Drop the clones of these parts by their names, and take the parts out of the record.",
        _ANY_ATTACHED | _NO_RECORD,
    ),
    _S.DROPPED: Transition(
        "A record with clones; every recorded part is gone from the source on every replica.",
        "Remove the record.",
        _NO_RECORD,
    ),
    _S.UNKNOWN: Transition("The parts fit no other state.", "Report the partition as failed; do nothing."),
}
"""State → its transition, in the order of a move."""
