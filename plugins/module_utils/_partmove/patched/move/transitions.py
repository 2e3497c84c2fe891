# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The phases of a partition during a run over patched servers, and when one leads to another.

The tests compare every step that random schedules take with this table.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum


class Phase(str, Enum):
    """The phase of a requested partition."""

    OPEN = "open"
    PASSED = "passed"
    PREPARED = "prepared"
    SWITCHED = "switched"
    UNCHANGED = "unchanged"
    CLEANED = "cleaned"
    MOVED = "moved"
    DEFERRED = "deferred"
    FAILED = "failed"


_LEASE_LOST = "the lease was lost, and taken again"
_UNREADABLE = "the table was dropped or became unreadable, or the lease was lost for good"

TRANSITIONS: Mapping[Phase, Mapping[Phase, str]] = {
    Phase.OPEN: {
        Phase.UNCHANGED: "the partition already is in the desired state",
        Phase.CLEANED: "to hot: hot registers the partition already, and its copies were removed",
        Phase.PASSED: "the gates, and then the servers, let the partition pass",
        Phase.DEFERRED: "no run starts from its location, or a gate refused, or it changed too often",
        Phase.FAILED: "neither ensemble registers the partition, and a server has it on disk",
    },
    Phase.PASSED: {
        Phase.PREPARED: "to cold: the copies were made and compared on every member; to hot: at once",
        Phase.FAILED: "the copies differ",
        Phase.OPEN: _LEASE_LOST,
        Phase.DEFERRED: _UNREADABLE,
    },
    Phase.PREPARED: {
        Phase.SWITCHED: "one multi changed the part znodes and State at one instant",
        Phase.OPEN: f"the part znodes had changed by then, or {_LEASE_LOST}",
        Phase.DEFERRED: f"a gate refused by then, or the table was too busy, or {_UNREADABLE}",
        Phase.FAILED: "the answer was lost, and the run ended before it read State again",
    },
    Phase.SWITCHED: {
        Phase.MOVED: "both ensembles and the servers were checked and are consistent",
        Phase.DEFERRED: "to cold: a part arrived meanwhile, and the switch was undone",
        Phase.FAILED: "the check found a problem, or the run ended before the check",
    },
    Phase.UNCHANGED: {},
    Phase.CLEANED: {},
    Phase.MOVED: {},
    Phase.DEFERRED: {},
    Phase.FAILED: {},
}
"""Phase → following phase → when. A phase without a following one is an outcome."""
