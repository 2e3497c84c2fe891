# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Mutants of turns: two hosts would look after the tables at once, or none any more."""

from __future__ import annotations

from mutants.mutant import Mutant

_TURN = "lease/timed_lease.py"

MUTANTS = (
    Mutant(
        "the turn of another is taken over before its time has passed",
        _TURN,
        "if left > 0:",
        "if left > claim.ttl:",
        ("lease/test_timed_lease.py::test_a_lease_is_taken_once",),
    ),
    Mutant(
        "the turn of another is never taken over",
        _TURN,
        "if left > 0:",
        "if True:",
        ("lease/test_timed_lease.py::test_an_expired_lease_is_taken_over",),
    ),
    Mutant(
        "who asks says how long the turn of another lasts",
        _TURN,
        "left = self._seconds_left(znode, current)",
        "left = self._seconds_left(znode, claim)",
        ("lease/test_timed_lease.py::test_the_owner_sets_the_duration_of_a_lease",),
    ),
    Mutant(
        "the time is that of the last one who asked for it",
        _TURN,
        '            self._is_done(self._parent, SetData(self._parent, b"", parent.stat.version))\n',
        "",
        ("lease/test_timed_lease.py::test_the_current_time_comes_from_a_new_write",),
    ),
    Mutant(
        "a turn does not count from when it was prolonged",
        _TURN,
        "return claim.ttl - (now - znode.stat.mtime) / 1000",
        "return claim.ttl - (now - znode.stat.ctime) / 1000",
        ("lease/test_timed_lease.py::test_a_prolonged_lease_lasts_longer",),
    ),
    Mutant(
        "a turn is taken over whatever happened since it was read",
        _TURN,
        "else SetData(path, claim.data, znode.stat.version)",
        "else SetData(path, claim.data, self._hot.read([path])[0].stat.version)",
        ("lease/test_timed_lease.py::test_of_two_concurrent_takers_of_an_expired_lease_one_succeeds",),
    ),
    Mutant(
        "a turn counts as taken when it was refused",
        _TURN,
        "            if self._is_done(path, op):\n                return TimedLease(claim",
        "            if self._is_done(path, op) or True:\n                return TimedLease(claim",
        ("lease/test_timed_lease.py::test_of_two_concurrent_takers_of_a_free_lease_one_succeeds",),
    ),
    Mutant(
        "the turn of another is given back",
        _TURN,
        "if znode is None or current is None or current.owner != owner:",
        "if znode is None or current is None:",
        ("lease/test_timed_lease.py::test_a_lease_of_another_owner_is_not_given_back",),
    ),
    Mutant(
        "a lost answer hides who had the turn",
        _TURN,
        "former = current if attempt == 0 or current != claim else former",
        "former = current",
        ("lease/test_timed_lease.py::test_take_survives_a_lost_answer",),
    ),
)
