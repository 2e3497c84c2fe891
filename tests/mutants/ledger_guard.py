# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Mutants of how replicas are entered and withdrawn."""

from __future__ import annotations

from mutants.mutant import Mutant

_ENTER = "patched/ledger/enter.py"
_WITHDRAW = "patched/ledger/withdraw.py"

MUTANTS = (
    Mutant(
        "a server is asked before its activation is read",
        _ENTER,
        "        live = look_up_replicas(self._hot, keys)\n"
        "        version, started = self._verify_server(requirements)\n",
        "        version, started = self._verify_server(requirements)\n"
        "        live = look_up_replicas(self._hot, keys)\n",
        ("patched/ledger/test_enter.py::test_a_restart_while_the_server_is_asked[version-0]",),
    ),
    Mutant(
        "a server that was started before its configuration was changed is entered",
        _ENTER,
        "and started < requirements.config_changed_at:",
        "and started < 0:",
        ("patched/ledger/test_enter.py::test_a_process_that_is_older_than_its_configuration[1000.5-True]",),
    ),
    Mutant(
        "a server without the patch is entered",
        _ENTER,
        "if not self._probe.shows(requirements.patched_sign):",
        "if not requirements.patched_sign:",
        ("patched/ledger/test_enter.py::test_what_is_refused[stock]",),
    ),
    Mutant(
        "a replica that is read-only is entered",
        _ENTER,
        "if served.read_only or served.session_expired:",
        "if served.session_expired:",
        ("patched/ledger/test_enter.py::test_what_is_refused[read-only]",),
    ),
    Mutant(
        "a replica without a session is entered",
        _ENTER,
        "if served.read_only or served.session_expired:",
        "if served.read_only:",
        ("patched/ledger/test_enter.py::test_a_session_that_has_expired",),
    ),
    Mutant(
        "a replica of another ensemble is entered",
        _ENTER,
        "if self._probe.activation(key) != here:",
        "if self._probe.activation(key) is None:",
        ("patched/ledger/test_enter.py::test_what_is_refused[another ensemble]",),
    ),
    Mutant(
        "the guard reads before the ensembles have caught up",
        _WITHDRAW,
        "        self._hot.sync(layout.path)\n        self._cold.sync(layout.path)\n        metadata",
        "        metadata",
        (
            "patched/ledger/test_withdraw_behind.py::test_a_move_that_a_member_does_not_know_of_is_in_the_way[hot]",
        ),
    ),
    Mutant(
        "the guard reads before hot has caught up",
        _WITHDRAW,
        "        self._hot.sync(layout.path)\n        self._cold.sync(layout.path)\n        metadata",
        "        self._cold.sync(layout.path)\n        metadata",
        (
            "patched/ledger/test_withdraw_behind.py::test_a_move_that_a_member_does_not_know_of_is_in_the_way[hot]",
        ),
    ),
    Mutant(
        "the guard reads before cold has caught up",
        _WITHDRAW,
        "        self._hot.sync(layout.path)\n        self._cold.sync(layout.path)\n        metadata",
        "        self._hot.sync(layout.path)\n        metadata",
        (
            "patched/ledger/test_withdraw_behind.py::test_a_move_that_a_member_does_not_know_of_is_in_the_way[cold]",
        ),
    ),
    Mutant(
        "the guard does not check again",
        _WITHDRAW,
        '    _refuse_cold(guard, shard_paths, withdrawal, "the entries were withdrawn by '
        'then, and stay withdrawn")\n',
        "",
        (
            "patched/ledger/test_withdraw.py::test_a_move_that_is_faster_is_seen_and_the_entries_stay_withdrawn",
        ),
    ),
    Mutant(
        "the guard does not read how hot and cold are bound",
        _WITHDRAW,
        "if read_binding(self._hot, self._cold, self._root, layout).cold is None:",
        "if self._cold.read([layout.path])[0] is None:",
        ("patched/ledger/test_withdraw.py::test_another_cold_ensemble_is_refused_by_name",),
    ),
    Mutant(
        "the guard takes an ensemble that knows nothing for cold",
        _WITHDRAW,
        "            self._refuse_unknown_cold(layout)\n            return []",
        "            return []",
        ("patched/ledger/test_withdraw.py::test_a_cold_ensemble_that_knows_nothing_of_a_cold_partition",),
    ),
    Mutant(
        "the guard withdraws where nobody ever was entered",
        _WITHDRAW,
        "    if not never_entered:\n",
        "    if never_entered:\n",
        ("patched/ledger/test_withdraw.py::test_a_ledger_that_nothing_was_ever_entered_in_is_refused",),
    ),
    Mutant(
        "the guard reads only replicas that hot has",
        _WITHDRAW,
        "names.by_partition(each, _replicas(each, layout)) for each in",
        "names.by_partition(each, _replicas(self._hot, layout)) for each in",
        (
            (
                "patched/ledger/test_withdraw.py::test_what_only_cold_has_is_in_the_way_whatever_state_says[a"
                " replica that hot does not have]"
            ),
        ),
    ),
    Mutant(
        "the guard withdraws the first replica only",
        _WITHDRAW,
        "    for key in keys:\n        withdrawal",
        "    for key in keys[:1]:\n        withdrawal",
        (
            "patched/ledger/test_withdraw.py::test_a_move_that_is_faster_is_seen_and_the_entries_stay_withdrawn",
        ),
    ),
)
