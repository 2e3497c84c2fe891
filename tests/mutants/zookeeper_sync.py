# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Mutants of the syncs of audits, and of those that keep reads from going back over a new connection."""

from __future__ import annotations

from mutants.mutant import Mutant

_UTILS = "plugins/module_utils"
_SYNCED = "_zookeeper/synced.py"
_TESTS = "_zookeeper/test_synced.py"
_RECONNECTS = "_zookeeper/test_reconnects.py"
_RUNS = "_partmove/patched/move/test_run_reconnect_interleavings.py"


class AdapterMutant(Mutant):
    """A mutant whose file and tests are named below ``module_utils``, because they are not of the domain."""

    @property
    def path(self) -> str:
        """The file, from the root of the repository."""
        return f"{_UTILS}/{self.file}"

    @property
    def node_ids(self) -> tuple[str, ...]:
        """The tests, from the root of the repository."""
        return tuple(f"tests/unit/{_UTILS}/{test}" for test in self.tests)


class SyncMutant(Mutant):
    """A mutant of the domain whose tests are named below ``tests/unit``."""

    @property
    def node_ids(self) -> tuple[str, ...]:
        """The tests, from the root of the repository."""
        return tuple(f"tests/unit/{test}" for test in self.tests)


_AUDIT = "patched/audit/reader.py"

MUTANTS = (
    SyncMutant(
        "an audit asks the replicas of the past",
        _AUDIT,
        "        self._hot.sync(layout.path)\n        version",
        "        version",
        ("test_syncs_repair.py::test_an_audit_asks_the_replica_that_was_added_just_now",),
    ),
    SyncMutant(
        "an audit does not see what was registered while servers were asked",
        _AUDIT,
        "        self._hot.sync(layout.path)\n        lock",
        "        lock",
        ("test_syncs_repair.py::test_an_audit_sees_what_was_registered_while_servers_were_asked",),
    ),
    SyncMutant(
        "an audit reads the cold ensemble of the past",
        _AUDIT,
        "        self._cold.sync(layout.path)\n        cold",
        "        cold",
        (
            "test_syncs_repair.py::test_an_audit_sees_that_a_cold_partition_was_dropped_just_now",
            "test_syncs_repair.py::test_a_repair_finds_what_drifted_just_now",
        ),
    ),
    SyncMutant(
        "an audit finds what a dropped table left in cold in the past",
        _AUDIT,
        "        self._cold.sync(layout.path)\n        if is_shard_path",
        "        if is_shard_path",
        ("test_syncs_repair.py::test_an_audit_sees_what_a_dropped_table_left_just_now",),
    ),
    AdapterMutant(
        "a read over any connection counts",
        _SYNCED,
        "if answer.error not in LOST and reply.connection == self._synced_connection(reads.sync, deadline):",
        "if answer.error not in LOST and self._synced_connection(reads.sync, deadline) != -2:",
        (f"{_RUNS}::test_a_server_that_acts_before_a_connection_is_lost",),
    ),
    AdapterMutant(
        "a sync that was answered holds for all later connections",
        _SYNCED,
        "        return sync.reply.connection",
        "        return self._session.breaks",
        (
            f"{_TESTS}::test_a_sync_that_was_answered_holds_over_the_next_connection",
            f"{_TESTS}::test_a_direct_connection_with_a_member",
            f"{_RECONNECTS}::test_a_sync_holds_over_the_next_connection",
        ),
    ),
    AdapterMutant(
        "what was read or written without a sync is not kept over a new connection",
        _SYNCED,
        "            return self._first_connection",
        "            return self._session.breaks",
        (
            f"{_TESTS}::test_an_own_write_is_read_after_a_reconnection",
            f"{_TESTS}::test_what_was_read_once_is_not_taken_back_without_any_sync",
        ),
    ),
    AdapterMutant(
        "a sync whose answer was lost counts as answered over the new connection",
        _SYNCED,
        "        if answer.error in LOST:\n            return None",
        "        if answer.error in LOST:\n            return self._session.breaks",
        (f"{_TESTS}::test_a_sync_that_a_server_gave_up_is_repeated",),
    ),
    AdapterMutant(
        "reads go on although their sync failed",
        _SYNCED,
        "        if answer.error:\n            self._refuse",
        "        if answer.error > 0:\n            self._refuse",
        (
            f"{_TESTS}::test_a_sync_that_fails_fails_the_reads",
            f"{_TESTS}::test_a_sync_that_is_repeated_and_fails_fails_the_reads",
        ),
    ),
    AdapterMutant(
        "reads are repeated over a new connection without a sync",
        _SYNCED,
        'reads.sync = self._send_sync("/")',
        "reads.sync, self._first_connection = None, self._session.breaks",
        (
            f"{_TESTS}::test_a_read_that_is_lost_is_repeated_behind_a_sync",
            f"{_RECONNECTS}::test_a_connection_that_is_lost_under_way",
        ),
    ),
    AdapterMutant(
        "a lost read is repeated alone, and answered after those behind it",
        _SYNCED,
        "reads.waiting = deque((each, self._session.send(each)) for each, _reply in reads.waiting)",
        "reads.waiting[0] = (request, self._session.send(request))",
        (f"{_TESTS}::test_no_answer_of_a_call_is_older_than_an_earlier_one",),
    ),
    AdapterMutant(
        "the sync goes behind the reads that are repeated",
        _SYNCED,
        """            reads.sync = self._send_sync("/")
            reads.waiting = deque((each, self._session.send(each)) for each, _reply in reads.waiting)
""",
        """            reads.waiting = deque((each, self._session.send(each)) for each, _ in reads.waiting)
            reads.sync = self._send_sync("/")
""",
        (
            f"{_TESTS}::test_a_sync_that_was_answered_holds_over_the_next_connection",
            f"{_RUNS}::test_a_connection_that_is_lost",
        ),
    ),
    AdapterMutant(
        "reads do not know of the sync before them",
        _SYNCED,
        "_Reads(self._latest)",
        "_Reads(None)",
        (f"{_TESTS}::test_a_sync_that_fails_fails_the_reads",),
    ),
    AdapterMutant(
        "the first sync stands for all later ones",
        _SYNCED,
        "self._latest = _SentSync(path, self._session.send(request))",
        "self._latest = self._latest or _SentSync(path, self._session.send(request))",
        (f"{_TESTS}::test_reads_are_behind_the_latest_sync",),
    ),
    AdapterMutant(
        "what became of an unknown multi is read without a sync",
        "_zookeeper/store.py",
        "if any(isinstance(outcome, Unknown) for outcome in outcomes):",
        "if not outcomes:",
        (f"{_TESTS}::test_reads_after_an_unknown_outcome_are_behind_a_sync",),
    ),
    AdapterMutant(
        "all connections of kazoo have one number",
        "_zookeeper/session.py",
        "queue_request(self._client, request, lambda: self._breaks, done)",
        "queue_request(self._client, request, lambda: 0, done)",
        (f"{_RECONNECTS}::test_a_sync_holds_over_the_next_connection",),
    ),
    AdapterMutant(
        "a connection that is lost without its session is not counted",
        "_zookeeper/session.py",
        'if state != "CONNECTED":',
        'if state == "LOST":',
        (
            f"{_RECONNECTS}::test_a_sync_holds_over_the_next_connection",
            f"{_RECONNECTS}::test_an_answer_before_the_loss_is_not_newer_than_one_after_it",
        ),
    ),
)
