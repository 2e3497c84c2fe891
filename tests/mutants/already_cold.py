# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Mutants of the look at many shard paths: a partition would count as cold that is not, or not certainly."""

from __future__ import annotations

from mutants.mutant import Mutant

_LOOK = "patched/move/already_cold.py"
_TEST = "patched/move/test_already_cold.py"
_DOUBT = f"{_TEST}::test_a_partition_in_doubt_is_left_to_the_run"

MUTANTS = (
    Mutant(
        "many shard paths are looked at before hot has caught up",
        _LOOK,
        '    hot.sync("/")\n',
        "",
        (f"{_TEST}::test_a_member_that_lags_behind_shows_nothing_old",),
    ),
    Mutant(
        "many shard paths are looked at before cold has caught up",
        _LOOK,
        '    cold.sync("/")\n',
        "",
        (f"{_TEST}::test_a_member_that_lags_behind_shows_nothing_old",),
    ),
    Mutant(
        "a partition that is moved during the look counts as cold",
        _LOOK,
        "if [next(after) for _id in each.states] == [*each.states.values()]",
        "if [next(after) for _id in each.states]",
        (f"{_TEST}::test_a_partition_brought_back_and_moved_during_the_look",),
    ),
    Mutant(
        "a partition with a late part counts as cold",
        _LOOK,
        "        if any(name.startswith(prefixes) for name in names or ()):\n            return None\n",
        "        del names\n",
        (f"{_DOUBT}[a late part]",),
    ),
    Mutant(
        "a shard path counts as done during a statement of twin_alter",
        _LOOK,
        "len(cold_states) < len(ids) or unfinished is not None or",
        "len(cold_states) < len(ids) or",
        (f"{_DOUBT}[an unfinished statement]",),
    ),
    Mutant(
        "a shard path counts as done although it is not bound",
        _LOOK,
        "if not (pair.is_bound and binding.is_proven and binding.is_known):",
        "if not pair.is_bound:",
        (f"{_DOUBT}[another cluster]",),
    ),
    Mutant(
        "a shard path counts as done although cold does not list hot",
        _LOOK,
        "if not (pair.is_bound and binding.is_proven and binding.is_known):",
        "if not (binding.is_proven and binding.is_known):",
        (f"{_DOUBT}[cold does not list hot]",),
    ),
    Mutant(
        "a partition with other parts of some replicas counts as cold",
        _LOOK,
        "is not Location.COLD:",
        "not in (Location.COLD, Location.UNEVEN):",
        (f"{_DOUBT}[copies of one replica alone]",),
    ),
)
