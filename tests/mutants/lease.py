# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Mutants of who may write, and of how two ensembles are told apart."""

from __future__ import annotations

from mutants.mutant import Mutant

_LEASE = "lease/lease.py"
_CONFIRMATION = "lease/confirmation.py"
_TWO_ENSEMBLES = "lease/two_ensembles.py"

MUTANTS = (
    Mutant(
        "multis to hot do not check the lock",
        _LEASE,
        "return (Check(self.lock_path, 0), Check(self.epoch_path, self.hot_epoch))",
        "return (Check(self.epoch_path, self.hot_epoch),)",
        ("lease/test_lease.py::test_the_checks_of_a_lease",),
    ),
    Mutant(
        "multis to hot do not check the epoch",
        _LEASE,
        "return (Check(self.lock_path, 0), Check(self.epoch_path, self.hot_epoch))",
        "return (Check(self.lock_path, 0),)",
        ("lease/test_lease.py::test_the_checks_of_a_lease",),
    ),
    Mutant(
        "multis to cold do not check the epoch",
        _LEASE,
        "return (Check(self.epoch_path, self.cold_epoch),)",
        "return ()",
        ("lease/test_lease.py::test_the_run_that_raises_the_epochs_last_has_the_lease",),
    ),
    Mutant(
        "multis to cold check the epoch of hot",
        _LEASE,
        "return (Check(self.epoch_path, self.cold_epoch),)",
        "return (Check(self.epoch_path, self.hot_epoch),)",
        ("lease/test_lease.py::test_the_run_that_raises_the_epochs_last_has_the_lease",),
    ),
    Mutant(
        "what was read is trusted although the epoch is another one",
        _CONFIRMATION,
        "if lock is None or epoch is None or epoch.stat.version != lease.hot_epoch:",
        "if lock is None or epoch is None:",
        ("lease/test_lease_retries.py::test_an_epoch_that_changes_later_is_a_lost_lease",),
    ),
    Mutant(
        "what was read is trusted although the lock is gone",
        _CONFIRMATION,
        "if lock is None or epoch is None or epoch.stat.version != lease.hot_epoch:",
        "if lock is None and epoch is not None and epoch.stat.version == lease.hot_epoch:\n"
        "        return\n"
        "    if lock is None or epoch is None or epoch.stat.version != lease.hot_epoch:",
        ("lease/test_lease.py::test_a_lease_without_its_lock_is_lost",),
    ),
    Mutant(
        "what was read is trusted although the epoch of cold is another one",
        _CONFIRMATION,
        "if znodes.cold_epoch is None or znodes.cold_epoch.stat.version != lease.cold_epoch:",
        "if znodes.cold_epoch is None:",
        ("lease/test_confirmation.py::test_a_read_that_ended_after_an_epoch_was_raised_is_not_confirmed",),
    ),
    Mutant(
        "a lock that was seen is taken for free",
        _LEASE,
        "if attempt == 0 and seen is not None and seen.lock is None:",
        "if seen is not None:",
        ("lease/test_lease_seen.py::test_epochs_raised_since_are_raised_further",),
    ),
    Mutant(
        "the epoch of cold is raised by an old version again and again",
        _LEASE,
        "if attempt or seen is None else seen.cold_epoch",
        "if seen is None else seen.cold_epoch",
        ("lease/test_lease_seen.py::test_epochs_raised_since_are_raised_further",),
    ),
    Mutant(
        "the epoch of hot is not raised",
        _LEASE,
        "            ops = (*new_lock(lock_path, self._data, lock), _raised(epoch_path, epoch))",
        "            raised: tuple[Op, ...] = (_raised(epoch_path, None),) if epoch is None else ()\n"
        "            ops = (*new_lock(lock_path, self._data, lock), *raised)",
        ("lease/test_lease.py::test_a_lease_locks_hot_and_raises_both_epochs",),
    ),
    Mutant(
        "the lock is looked for before hot has caught up",
        _LEASE,
        "            self._hot.sync(lock_path)\n",
        "",
        ("lease/test_lease_sessions.py::test_a_member_behind_shows_no_lock_that_is_gone",),
    ),
    Mutant(
        "the lock of a former session is not replaced",
        _CONFIRMATION,
        "    if lock.stat.ephemeral_owner != hot.session_id:\n",
        "    if False:\n",
        ("lease/test_lease_sessions.py::test_a_confirmed_lease_outlives_the_session_that_created_its_lock",),
    ),
    Mutant(
        "a lock is replaced whosever it is",
        _CONFIRMATION,
        "[(check, *new_lock(lock.path, lock.data, lock))]",
        "[(check, *new_lock(lock.path, lock.data, lock))[1:]]",
        ("lease/test_lease_sessions.py::test_the_lock_of_a_run_that_took_over_stays",),
    ),
    Mutant(
        "the epoch of cold is not raised",
        _LEASE,
        "cold_epoch = 0 if self._cold is None else self._raise_epoch(self._cold, epoch_path, seen)",
        "known = None if self._cold is None else self._cold.read([epoch_path])[0]\n"
        "        cold_epoch = 0 if self._cold is None else "
        "self._raise_epoch(self._cold, epoch_path, seen) if known is None else known.stat.version",
        ("lease/test_lease.py::test_a_lease_locks_hot_and_raises_both_epochs",),
    ),
    Mutant(
        "the lock may be that of another run by then",
        _LEASE,
        "is_ours = lock is not None and lock.data == self._data",
        "is_ours = lock is not None",
        ("lease/test_lease.py::test_a_lock_taken_over_by_another_run_is_lost",),
    ),
    Mutant(
        "the lease was taken when the clock of the controller says",
        _LEASE,
        "epoch.stat.mtime / 1000)",
        "self._clock.now())",
        ("lease/test_lease.py::test_the_begin_of_a_lease_is_independent_of_the_local_clock",),
    ),
    Mutant(
        "the lock is given back whosever it is",
        _LEASE,
        "self._hot.commit([(*lease.hot_checks, Delete(lease.lock_path, 0))])",
        "self._hot.commit([(Delete(lease.lock_path, 0),)])",
        ("lease/test_lease.py::test_a_run_that_lost_its_lock_cannot_write_or_release",),
    ),
    Mutant(
        "the lock of another run is taken for ours",
        _LEASE,
        "            if lock is None or lock.data == self._data:\n",
        "            if lock is None or lock.data:\n",
        ("lease/test_lease_interrupted.py::test_the_lock_of_another_run_stays_where_it_is_held",),
    ),
    Mutant(
        "an epoch counts as raised when the answer was lost",
        _LEASE,
        "            if isinstance(outcome, Committed):\n                return 0 if znode",
        "            if not isinstance(outcome, Rejected):\n                return 0 if znode",
        ("lease/test_lease.py::test_acquire_survives_a_lost_answer",),
    ),
    Mutant(
        "a lock counts as created when the answer was lost",
        _LEASE,
        "            if isinstance(outcome, Committed):\n                return 0 if epoch",
        "            if not isinstance(outcome, Rejected):\n                return 0 if epoch",
        ("lease/test_lease.py::test_acquire_survives_a_lost_answer",),
    ),
    Mutant(
        "an address that both have is let pass",
        _TWO_ENSEMBLES,
        "    if common:\n",
        "    if len(common) > 1:\n",
        ("lease/test_two_ensembles.py::test_a_common_address_is_detected",),
    ),
    Mutant(
        "cold is asked for the nonce before it has caught up",
        _TWO_ENSEMBLES,
        '            cold.sync("/")\n',
        "",
        ("lease/test_two_ensembles.py::test_a_lagging_member_does_not_hide_the_nonce",),
    ),
    Mutant(
        "the nonce is looked for without the chroot of hot",
        _TWO_ENSEMBLES,
        'if _is_there(cold, f"{hot.chroot}{path}"):',
        "if _is_there(cold, path):",
        ("lease/test_two_ensembles.py::test_a_chroot_does_not_hide_the_nonce",),
    ),
    Mutant(
        "a nonce that ended before cold was read proves that there are two ensembles",
        _TWO_ENSEMBLES,
        "            if hot.read([path])[0] is not None:\n                return\n",
        "            return\n",
        ("lease/test_two_ensembles.py::test_a_nonce_that_never_stays_proves_nothing",),
    ),
    Mutant(
        "hot is asked for the nonce before it has caught up",
        _TWO_ENSEMBLES,
        '            hot.sync("/")\n',
        "",
        ("lease/test_two_ensembles.py::test_a_nonce_that_a_member_behind_still_shows_proves_nothing",),
    ),
    Mutant(
        "a nonce that cold denies to show is not there",
        _TWO_ENSEMBLES,
        "# Only a znode that exists can be denied.\n        return True",
        "return False",
        ("lease/test_two_ensembles.py::test_an_unreadable_nonce_exists",),
    ),
    Mutant(
        "the twin is looked for below the chroot of cold",
        _TWO_ENSEMBLES,
        "twin = cold.read([absolute], absolute=True)[0]",
        "twin = cold.read([path])[0]",
        ("lease/test_two_ensembles.py::test_a_chroot_does_not_hide_the_same_history",),
    ),
    Mutant(
        "the lock of an interrupted run stays",
        _LEASE,
        "                self._abandon(lock_path, epoch_path)\n",
        "                pass\n",
        ("lease/test_lease_interrupted.py::test_an_interruption_at_any_request_leaves_no_lock",),
    ),
    Mutant(
        "an interrupted run removes the lock of another run",
        _LEASE,
        "if epoch is not None and lock is not None and lock.data == self._data:",
        "if epoch is not None and lock is not None:",
        ("lease/test_lease_interrupted.py::test_an_interruption_while_another_run_has_the_lock",),
    ),
    Mutant(
        "an interrupted run removes the lock that another run took over meanwhile",
        _LEASE,
        "self._hot.commit([(Check(epoch_path, epoch.stat.version), Delete(lock_path, 0))])",
        "self._hot.commit([(Delete(lock_path, 0),)])",
        ("lease/test_lease_interrupted.py::test_the_lock_that_another_run_took_over_stays",),
    ),
)
