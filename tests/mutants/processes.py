# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Mutants of the processes that share a run."""

from __future__ import annotations

from mutants.mutant import Mutant
from mutants.zookeeper_sync import AdapterMutant

_COUNT = "_tasks/process_count.py"
_COUNT_TESTS = "_tasks/test_process_count.py"
_GROUP = "_tasks/process_group.py"
_LINK = "_tasks/process_link.py"
_GROUP_TESTS = "_tasks/test_process_group.py"
_PROCESSORS_TESTS = "_tasks/test_processors.py"

MUTANTS: tuple[Mutant, ...] = (
    AdapterMutant(
        "each process has the whole limit",
        _COUNT,
        "return total // processes + (number < total % processes)",
        "return total",
        (f"{_COUNT_TESTS}::test_work_and_limits_are_divided",),
    ),
    AdapterMutant(
        "a limit smaller than the processes becomes none",
        _COUNT,
        "if 0 < limit < given:",
        "if False:",
        (f"{_COUNT_TESTS}::test_a_number_is_taken_unless_shard_paths_are_fewer",),
    ),
    AdapterMutant(
        "a quota is no limit",
        "_tasks/processors.py",
        "min([allowed, *map(int, _quotas(groups, root))])",
        "min([allowed])",
        (f"{_PROCESSORS_TESTS}::test_quotas_of_control_groups_count",),
    ),
    AdapterMutant(
        "the error of a process is lost",
        _GROUP,
        "                raise message.error\n",
        "                pass\n",
        (f"{_GROUP_TESTS}::test_an_error_ends_all_and_is_raised_with_the_results_before",),
    ),
    AdapterMutant(
        "an unexpected error of a process is lost",
        _GROUP,
        "            if message.trace:\n",
        "            if False:\n",
        (f"{_GROUP_TESTS}::test_an_unexpected_error_has_the_trace_of_its_process",),
    ),
    AdapterMutant(
        "a process that was killed counts as ended",
        _GROUP,
        "if not process.has_ended:",
        "if False:",
        (f"{_GROUP_TESTS}::test_a_killed_process_ends_all_and_its_shard_paths_are_named",),
    ),
    AdapterMutant(
        "processes work without the start by the main process",
        _LINK,
        "        except (EOFError, OSError):\n            return\n        threads",
        "        except (EOFError, OSError):\n            pass\n        threads",
        (f"{_GROUP_TESTS}::test_processes_that_are_never_started_do_nothing",),
    ),
    AdapterMutant(
        "the last results are not sent",
        _LINK,
        "        self._send_update()\n        self._send(ended)\n",
        "        self._send(ended)\n",
        (f"{_GROUP_TESTS}::test_results_of_all_processes_are_added_up",),
    ),
    AdapterMutant(
        "a signal to one process counts as the end of its work",
        _LINK,
        "if self._signal and self.ending.is_set():",
        "if False:",
        (f"{_GROUP_TESTS}::test_a_signal_to_one_process_ends_all",),
    ),
)
