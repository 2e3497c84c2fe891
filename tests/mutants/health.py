# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Mutants of what is said of a server whose parts neither ensemble registers."""

from __future__ import annotations

from mutants.mutant import Mutant

_PRESENCE = "health/cold_presence.py"

MUTANTS = (
    Mutant(
        "what hot does not register is registered in cold",
        _PRESENCE,
        "unregistered += uncovered_names(active.parts, registered, partition_id, str(replica.key))",
        "registered = registered or active.parts\n"
        "        unregistered += uncovered_names(active.parts, registered, partition_id, str(replica.key))",
        ("health/test_cold_presence.py::test_a_partition_of_which_nothing_is_registered",),
    ),
    Mutant(
        "a part in cold alone counts as unregistered",
        _PRESENCE,
        "known = names | (in_cold[replica.path] or frozenset())",
        "known = names",
        ("health/test_cold_presence.py::test_what_is_on_disk_and_not_registered[cold]",),
    ),
    Mutant(
        "a part that was registered just now counts as unregistered",
        _PRESENCE,
        '        self._hot.sync("/")\n',
        "",
        ("health/test_cold_presence.py::test_a_member_that_is_behind_catches_up_first[hot]",),
    ),
    Mutant(
        "a part that moved to cold just now counts as unregistered",
        _PRESENCE,
        '        self._cold.sync("/")\n',
        "",
        ("health/test_cold_presence.py::test_a_member_that_is_behind_catches_up_first[cold]",),
    ),
    Mutant(
        "the ensembles are not read again",
        _PRESENCE,
        "        again = self._unregistered(replicas, read_disk())\n",
        "        again = {each.key: each.unregistered or () for each in facts}\n",
        ("health/test_cold_presence.py::test_both_are_read_again[registered in hot]",),
    ),
    Mutant(
        "the disk is not read again",
        _PRESENCE,
        "unregistered=tuple(name for name in each.unregistered if name in again.get(each.key, ()))",
        "unregistered=each.unregistered",
        ("health/test_cold_presence.py::test_both_are_read_again[dropped]",),
    ),
)
