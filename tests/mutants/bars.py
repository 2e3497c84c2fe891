# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Mutants of bars: a run would work on a shard path that somebody holds, or a hold would begin amid a run."""

from __future__ import annotations

from mutants.mutant import Mutant

_LEASE = "lease/lease.py"
_BARS = "lease/bars.py"
_HOLDS = "twin/alter/holds.py"
_TEST_BARS = "lease/test_bars.py"
_TEST_HOLDS = "twin/alter/test_holds.py"

MUTANTS = (
    Mutant(
        "a hold keeps nobody away",
        _LEASE,
        "if not hold.is_over(lease.taken_at):",
        "if False:",
        (f"{_TEST_BARS}::test_a_hold_keeps_every_run_away_and_leaves_no_lock",),
    ),
    Mutant(
        "the clock of the host ends a hold",
        _LEASE,
        "if not hold.is_over(lease.taken_at):",
        "if not hold.is_over(self._clock.now()):",
        (f"{_TEST_BARS}::test_the_clock_of_the_host_ends_no_hold",),
    ),
    Mutant(
        "a hold ends before its time",
        _BARS,
        "return taken_at * 1000 >= self.until",
        "return taken_at * 1000 >= self.until - 1",
        (f"{_TEST_BARS}::test_a_hold_keeps_every_run_away_and_leaves_no_lock",),
    ),
    Mutant(
        "a hold that is over is deleted by a run that lost its lease",
        _LEASE,
        "outcome = self._hot.commit([(*checks, Delete(znode.path, znode.stat.version))])[0]",
        "outcome = self._hot.commit([(Delete(znode.path, znode.stat.version),)])[0]",
        (f"{_TEST_BARS}::test_a_run_that_lost_its_lease_ends_no_hold",),
    ),
    Mutant(
        "an unfinished statement keeps nobody away",
        _LEASE,
        "if znode is not None and kind is Bar.ALTER:",
        "if znode is None and kind is Bar.ALTER:",
        (f"{_TEST_BARS}::test_an_unfinished_statement_keeps_every_run_away",),
    ),
    Mutant(
        "the lock of a run that a bar kept away stays",
        _LEASE,
        "if isinstance(error, LeaseHeld) and not isinstance(error, (ShardHeld, AlterUnfinished)):",
        "if isinstance(error, LeaseHeld):",
        (f"{_TEST_BARS}::test_a_hold_keeps_every_run_away_and_leaves_no_lock",),
    ),
    Mutant(
        "a hold begins without the lease",
        _HOLDS,
        "self._commit((*lease.hot_checks, op), len(lease.hot_checks), shard_path)",
        "self._commit((op,), 0, shard_path)",
        (f"{_TEST_HOLDS}::test_a_run_that_took_over_meanwhile_gets_no_hold",),
    ),
    Mutant(
        "a hold begins while a partition is between the tables",
        _HOLDS,
        "        self._refuse_partitions(shard_path)\n",
        "",
        (f"{_TEST_HOLDS}::test_a_partition_between_the_tables_has_to_arrive_first",),
    ),
    Mutant(
        "a hold begins while a statement is unfinished",
        _HOLDS,
        "if record is not None:",
        "if record is None and znode is not None:",
        (f"{_TEST_HOLDS}::test_an_unfinished_statement_has_to_be_finished_first",),
    ),
    Mutant(
        "the hold of another owner is replaced",
        _HOLDS,
        "before.owner != hold.owner and not before.is_over(lease.taken_at)",
        "before.owner == hold.owner and not before.is_over(0)",
        (f"{_TEST_HOLDS}::test_a_hold_belongs_to_its_owner",),
    ),
    Mutant(
        "the hold of another owner is removed",
        _HOLDS,
        "if before.owner != owner:",
        "if not owner:",
        (f"{_TEST_HOLDS}::test_a_hold_belongs_to_its_owner",),
    ),
)
