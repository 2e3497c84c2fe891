# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Mutants of the ledger and its entries."""

from __future__ import annotations

from mutants.mutant import Mutant

_LEDGER = "patched/ledger/ledger.py"
_ENTRY = "patched/ledger/entry.py"
_WITHOUT_DATA = "patched/ledger/without_data.py"

MUTANTS = (
    Mutant(
        "one that was withdrawn meanwhile is entered again by what runs on a schedule",
        _LEDGER,
        "if renew and existing is None:",
        "if False:",
        ("patched/ledger/test_enter.py::test_one_that_is_withdrawn_while_its_entry_is_written_stays_out",),
    ),
    Mutant(
        "one that was never entered is entered by what runs on a schedule",
        _LEDGER,
        "if renew and existing is None:",
        "if renew and existing is None and first:",
        ("patched/ledger/test_enter.py::test_one_that_is_withdrawn_while_the_server_is_asked_stays_out",),
    ),
    Mutant(
        "a replica without an entry is ready",
        _LEDGER,
        '        return f"replica {replica.name} is not in the ledger"',
        "        return None",
        ("patched/ledger/test_ledger.py::test_what_makes_a_replica_unready[added]",),
    ),
    Mutant(
        "an entry that is not understood is one",
        _LEDGER,
        '        return f"replica {replica.name}: {error.message}"',
        "        return error.message[:0] or None",
        ("patched/ledger/test_ledger.py::test_what_makes_a_replica_unready[not understood]",),
    ),
    Mutant(
        "a replica that is not active is ready",
        _LEDGER,
        "if replica.host is None or replica.is_active is None:",
        "if replica.host is None:",
        ("patched/ledger/test_ledger.py::test_what_makes_a_replica_unready[stopped]",),
    ),
    Mutant(
        "an entry outlives its activation",
        _LEDGER,
        "if activation != (known.host_version, known.host_mzxid):",
        "if replica.host.stat.version < 0:",
        ("patched/ledger/test_ledger.py::test_what_makes_a_replica_unready[restarted]",),
    ),
    Mutant(
        "an entry is compared by the version of host alone",
        _LEDGER,
        "if activation != (known.host_version, known.host_mzxid):",
        "if activation[0] != known.host_version:",
        ("patched/ledger/test_ledger.py::test_what_makes_a_replica_unready[made again]",),
    ),
    Mutant(
        "an entry holds for any cold ensemble",
        _LEDGER,
        "if known.cold != cold:",
        "if not known.cold:",
        ("patched/ledger/test_ledger.py::test_other_members_of_cold_than_those_that_were_verified",),
    ),
    Mutant(
        "an entry holds for any chroot of cold",
        _LEDGER,
        "if known.cold != cold:",
        "if known.cold.hosts != cold.hosts:",
        ("patched/ledger/test_ledger.py::test_another_chroot_of_cold_than_the_one_that_was_verified",),
    ),
    Mutant(
        "an entry is written whatever became of the server",
        _LEDGER,
        "outcome = self._hot.commit([(Check(host, entry.host_version), op)])[0]",
        "outcome = self._hot.commit([(op,)])[0]",
        ("patched/ledger/test_ledger.py::test_a_server_that_is_activated_anew_meanwhile_is_not_entered",),
    ),
    Mutant(
        "a withdrawal whose answer was lost was applied",
        _LEDGER,
        "            outcome = self._hot.commit([(Delete(path, existing.stat.version),)])[0]\n"
        "            if isinstance(outcome, Committed):",
        "            outcome = self._hot.commit([(Delete(path, existing.stat.version),)])[0]\n"
        "            if not isinstance(outcome, Rejected):",
        ("patched/ledger/test_ledger.py::test_a_lost_answer_is_found_out_about[False]",),
    ),
    Mutant(
        "an entry is read before hot has caught up",
        _LEDGER,
        "            self._hot.sync(self.path)\n            yield",
        "            yield",
        (
            "patched/ledger/test_withdraw_behind.py::test_an_entry_that_a_member_does_not_know_of_is_withdrawn",
        ),
    ),
    Mutant(
        "no entry is checked by the switch",
        _LEDGER,
        "checks = [Check(each.path, each.stat.version) for each in entries.values() if each is not None]",
        "checks: list[Op] = []",
        ("patched/ledger/test_ledger.py::test_the_switch_checks_the_version_of_every_entry",),
    ),
    Mutant(
        "the entry of one replica stands for all",
        _LEDGER,
        "reasons = [not_ready(entries[each.name], each, self._cold) for each in replicas]",
        "reasons = [not_ready(entries[each.name], each, self._cold) for each in replicas[:1]]",
        ("patched/ledger/test_ledger.py::test_what_makes_a_replica_unready[withdrawn]",),
    ),
    Mutant(
        "a replica that cold has parts for which it does not have is entered",
        "patched/ledger/enter.py",
        "        self._refuse_without_data(keys)\n",
        "",
        ("patched/ledger/test_enter.py::test_a_replica_does_not_inherit_what_cold_has_of_its_namesake",),
    ),
    Mutant(
        "what cold has for a replica is on its disk",
        _WITHOUT_DATA,
        "missing = [part.text for part in only.parts if not is_covered(part, active)]",
        "missing = [part.text for part in only.parts if not active]",
        ("patched/ledger/test_without_data.py::test_what_is_not_on_disk[others]",),
    ),
    Mutant(
        "cold is read for lacking parts before it has caught up",
        _WITHOUT_DATA,
        '    cold.sync("/")\n',
        "",
        ("patched/ledger/test_without_data.py::test_a_member_of_cold_that_is_behind_catches_up",),
    ),
    Mutant(
        "what is dropped while a replica is verified is missing",
        _WITHOUT_DATA,
        "return {key: names for key, names in still.items() if names}",
        "return lacking",
        ("patched/ledger/test_without_data.py::test_a_part_that_is_dropped_meanwhile_is_not_missing",),
    ),
    Mutant(
        "an entry is made without the chroot of cold",
        _ENTRY,
        "cls(tuple(sorted(set(map(_canonical, cold.addresses)))), cold.chroot)",
        'cls(tuple(sorted(set(map(_canonical, cold.addresses)))), "")',
        ("patched/ledger/test_entry.py::test_another_port_or_chroot_is_another_ensemble",),
    ),
    Mutant(
        "an entry is read without the chroot of cold",
        _ENTRY,
        'cold=ColdEnsemble(tuple(cold["hosts"]), cold["chroot"])',
        'cold=ColdEnsemble(tuple(cold["hosts"]), "")',
        ("patched/ledger/test_entry.py::test_an_entry_is_read_as_it_was_written[entry0]",),
    ),
    Mutant(
        "an entry for another cold ensemble says as much",
        _ENTRY,
        "            started_at=other.started_at,\n",
        "            started_at=other.started_at,\n            cold=other.cold,\n",
        ("patched/ledger/test_entry.py::test_when_and_by_whom_makes_no_other_entry",),
    ),
    Mutant(
        "an entry for another activation says as much",
        _ENTRY,
        "            started_at=other.started_at,\n",
        "            started_at=other.started_at,\n"
        "            host_mzxid=other.host_mzxid,\n"
        "            host_version=other.host_version,\n",
        ("patched/ledger/test_entry.py::test_when_and_by_whom_makes_no_other_entry",),
    ),
    Mutant(
        "all ports of a host are one",
        _ENTRY,
        "{parts.port or _ZOOKEEPER_PORT}",
        "{_ZOOKEEPER_PORT}",
        ("patched/ledger/test_entry.py::test_another_port_or_chroot_is_another_ensemble",),
    ),
)
