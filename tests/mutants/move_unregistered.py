# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Mutants of what is said of partitions that neither ensemble registers."""

from __future__ import annotations

from mutants.mutant import Mutant

_NOWHERE = "patched/move/unregistered.py"

MUTANTS = (
    Mutant(
        "servers that are not asked have no part of a cold partition",
        _NOWHERE,
        "    if not servers.asks or not partition_ids:\n        return sorted(partition_ids)\n",
        "",
        (
            "patched/move/test_unregistered.py::test_without_servers_a_lost_partition_is_like_a_dropped_one[servers0]",
        ),
    ),
    Mutant(
        "a server that is silent has no part of a cold partition",
        _NOWHERE,
        "    except PartMoveError:\n        return sorted(partition_ids)\n",
        "    except PartMoveError:\n        return []\n",
        ("patched/move/test_unregistered.py::test_a_silent_server_leaves_the_partition_in_doubt[0]",),
    ),
    Mutant(
        "a server that is silent has no part of what neither ensemble registers",
        _NOWHERE,
        "        return Unregistered(set(), dict.fromkeys(ids, server_silent(error)), {})\n",
        "        return Unregistered(set(ids), {}, {})\n",
        ("patched/move/test_unregistered.py::test_a_silent_server_leaves_the_partition_in_doubt[0]",),
    ),
    Mutant(
        "an unregistered partition on disk counts as dropped",
        _NOWHERE,
        "            result.failed[each] = refuse_unregistered(on_disk)\n",
        "            result.gone.add(each)\n",
        (
            "patched/move/test_to_cold.py::test_why_a_partition_was_not_moved[registered]",
            "patched/move/test_unregistered.py::test_what_one_server_has_is_lost_too",
        ),
    ),
    Mutant(
        "what is registered meanwhile is taken for lost",
        _NOWHERE,
        "if each not in names or locate(names[each]) is not Location.ABSENT:",
        "if each not in names:",
        ("patched/move/test_unregistered.py::test_a_part_that_is_registered_meanwhile_is_not_lost",),
    ),
    Mutant(
        "what is dropped meanwhile is taken for lost",
        _NOWHERE,
        "on_disk = _in_both(before[each], after.get(each, {}))",
        "on_disk = _in_both(before[each], before[each])",
        ("patched/move/test_unregistered.py::test_a_part_that_is_dropped_meanwhile_is_not_lost",),
    ),
    Mutant(
        "parts that something takes from hot while they are copied were dropped",
        "patched/move/run.py",
        "        self._report_unregistered(read.shard, unregistered, prepared)\n",
        "        self._report.deferred.update(dict.fromkeys(prepared, _dropped()))\n",
        ("patched/move/test_unregistered.py::test_registrations_that_go_while_they_are_copied",),
    ),
)
