# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Cases of tests that `make test` leaves to `make test WHOLE=1`, each with the reason.

These tests repeat one claim for many combinations of parameters, or another target of the Makefile runs them.
Of two parameters, `make test` runs each value of one with some values of the other.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import NamedTuple

_SAME_CLAIM = "the same claim for each combination; `make explore` tries random ones besides"
_KILLS = "a run that is killed at each statement, for combinations of what happens meanwhile"


class Share(NamedTuple):
    """Which cases of a test run in `make test`, and why the others do not."""

    reason: str
    one_of: int = 0
    """Every so manieth case, counted along each parameter; 0 for none."""
    stay: Sequence[str] = ()
    """Ids of cases that run besides."""

    def has(self, indices: Mapping[str, int], case: str) -> bool:
        """Whether a case runs in `make test`. ``indices``: parameter → index of its value, see pytest."""
        is_in_share = bool(self.one_of) and sum(indices.values()) % self.one_of == 0
        return is_in_share or case in self.stay


_DOMAIN = "unit/plugins/module_utils/_partmove/patched"

SHARES: Mapping[str, Mapping[str, Share]] = {
    f"{_DOMAIN}/move/test_to_hot_interleavings.py": {"test_a_server_that_acts": Share(_SAME_CLAIM, 3)},
    f"{_DOMAIN}/repair/test_run_interleavings.py": {"test_a_server_that_acts": Share(_SAME_CLAIM, 3)},
    "clickhouse/test_config_shapes.py": {
        "test_the_module_does_what_the_server_does": Share("a start of a server for each combination", 3),
        "test_the_module_sees_the_hot_members_of_the_engine": Share(
            "test_config_extracted.py asks programs of other versions about each shape", 3
        ),
    },
    "compat/test_cores.py": {
        "test_playbooks_and_inventories": Share("`make compat` runs it with each release", 2),
    },
    "integration/test_benchmark_scale.py": {
        "test_one_partition_may_have_all_parts": Share("the other shape of a benchmark"),
    },
    "integration/test_scenario_rollout.py": {
        "test_the_scenario_passes": Share(
            "`make staging` boots its hosts; playbooks/test_rollout.py has its steps"
        )
    },
    "integration/test_twin.py": {"test_killed_run_is_taken_up": Share(_KILLS, 3)},
    "integration/test_twin_alter.py": {
        "test_a_change_of_columns_of_a_killed_run_is_finished": Share(_KILLS, 3),
        "test_a_mutation_of_a_killed_run_is_executed_once": Share(
            _KILLS, stay=("25.8-False-0-True", "25.8-False-1-False", "25.8-True-0-True")
        ),
        "test_both_tables_are_renamed_and_readers_find_them": Share(_KILLS, 3),
    },
    "integration/test_twin_readers.py": {
        "test_whatever_a_killed_run_leaves_each_row_is_seen_once": Share(_KILLS, stay=("25.8-hot-True",)),
    },
}
"""File below tests → its tests."""


def is_whole() -> bool:
    """Whether this run of the tests leaves out no cases."""
    return bool(os.environ.get("RUNGS") or os.environ.get("WHOLE"))


def is_left_out(file: str, test: str, indices: Mapping[str, int], case: str) -> bool:
    """Whether this run leaves a case to `make test WHOLE=1`.

    file: below tests. indices, case: of the parameters; empty without any.
    """
    share = SHARES.get(file, {}).get(test)
    return share is not None and not is_whole() and not share.has(indices, case)
