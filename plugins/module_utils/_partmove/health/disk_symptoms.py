# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Symptoms of what is on the disk of a server, by itself and against the cold ensemble and the ledger."""

from __future__ import annotations

from collections.abc import Iterator

from ..text import first_few
from .facts import ColdFacts, DiskTable, HealthFacts
from .symptom import Occurrence, Severity, Symptom

_SET_ASIDE = ("ignored_", "unexpected_")
"""How the names of folders begin that a server took out of a table because of ZooKeeper."""


def _too_many_parts(facts: HealthFacts) -> Iterator[Occurrence]:
    throw = facts.server.parts_to_throw
    if throw:
        for key, table in facts.disk.tables.items():
            yield from _crowded(str(key), table, throw, None, "refused")


def _many_parts(facts: HealthFacts) -> Iterator[Occurrence]:
    delay, throw = facts.server.parts_to_delay, facts.server.parts_to_throw
    if delay:
        for key, table in facts.disk.tables.items():
            yield from _crowded(str(key), table, delay, throw or None, "slowed down")


def _crowded(where: str, table: DiskTable, least: int, below: int | None, how: str) -> Iterator[Occurrence]:
    counts = sorted(
        (-len(partition.parts), name)
        for name, partition in table.partitions.items()
        if len(partition.parts) >= least and (below is None or len(partition.parts) < below)
    )
    if counts:
        listed = first_few(f"{name} with {-count} parts" for count, name in counts)
        yield Occurrence(where, f"inserts are {how} from {least} active parts of a partition on: {listed}")


def _detached_parts(facts: HealthFacts) -> Iterator[Occurrence]:
    for key, names in facts.disk.detached.items():
        aside = sorted(name for name in names or () if name.startswith(_SET_ASIDE))
        if aside:
            yield Occurrence(str(key), f"its folder detached has {first_few(aside)}")


def _cold_missing(facts: HealthFacts) -> Iterator[Occurrence]:
    for cold in facts.cold:
        if cold.missing:
            yield Occurrence(
                str(cold.key), f"registered in the cold ensemble and not on disk: {first_few(cold.missing)}"
            )


def _unregistered(facts: HealthFacts) -> Iterator[Occurrence]:
    for cold in facts.cold:
        if cold.unregistered:
            what = f"active on disk and registered in neither ensemble: {first_few(cold.unregistered)}"
            yield Occurrence(str(cold.key), what)


def _unpatched(facts: HealthFacts) -> Iterator[Occurrence]:
    if facts.server.patched is False:
        for cold in facts.cold:
            if cold.cold_partitions:
                yield Occurrence(
                    str(cold.key),
                    f"it has cold partitions ({first_few(cold.cold_partitions)}), and the server has no sign of the"
                    " patch",
                )


def _not_ready(facts: HealthFacts) -> Iterator[ColdFacts]:
    for cold in facts.cold:
        if cold.cold_partitions and cold.not_ready is not None:
            yield cold


def _state_without_ledger(facts: HealthFacts) -> Iterator[Occurrence]:
    if facts.server.patched is None:
        for cold in _not_ready(facts):
            yield Occurrence(
                str(cold.key), f"State is COLD of {first_few(cold.cold_partitions)}, and {cold.not_ready}"
            )


def _ledger_stale(facts: HealthFacts) -> Iterator[Occurrence]:
    if facts.server.patched:
        for cold in _not_ready(facts):
            yield Occurrence(
                str(cold.key), f"State is COLD of {first_few(cold.cold_partitions)}, and {cold.not_ready}"
            )


def _old_process(facts: HealthFacts) -> Iterator[Occurrence]:
    changed, started = facts.limits.config_changed_at, facts.server.started
    # The start is known to a second only, so less than that proves nothing.
    if changed is not None and changed >= started + 1:
        seconds = changed - started
        yield Occurrence(
            facts.server.address, f"its process started {seconds:.0f} s before the config changed"
        )


DISK_SYMPTOMS = (
    Symptom(
        "too_many_parts",
        Severity.ERROR,
        "Too many parts: a partition has so many small parts that inserts are refused.",
        "system.parts, system.merge_tree_settings (parts_to_throw_insert)",
        "Insert fewer, larger batches into fewer partitions, and see that merges are running (system.merges)",
        _too_many_parts,
    ),
    Symptom(
        "many_parts",
        Severity.WARNING,
        "A partition has so many small parts that inserts are slowed down.",
        "system.parts, system.merge_tree_settings (parts_to_delay_insert)",
        "Insert fewer, larger batches into fewer partitions, and see that merges are running (system.merges)",
        _many_parts,
    ),
    Symptom(
        "cold_missing",
        Severity.ERROR,
        "A part that the cold ensemble has registered for the replica is not on its disk.",
        "system.parts, the folder detached, olap.partmove.part_info",
        "Do not restart, CHECK or OPTIMIZE the table; look for the part in the folder detached and on the"
        " other replicas, and let part_audit_info tell how it is put right",
        _cold_missing,
    ),
    Symptom(
        "unregistered",
        Severity.ERROR,
        "A part is active on disk and registered in neither ensemble: the next restart sets it aside.",
        "system.parts, olap.partmove.part_info, olap.partmove.part_audit_info",
        "Do not restart the server, nor CHECK or OPTIMIZE the table; see that cold is the ensemble that the"
        " server has, let part_audit_info tell what is so, and repair it with part_repair",
        _unregistered,
    ),
    Symptom(
        "unpatched",
        Severity.ERROR,
        "The server is not patched while partitions of its tables are cold.",
        "the query given as patched_sign, olap.partmove.part_info",
        "Do not restart it; install the patched server, or bring the partitions back to the hot ensemble",
        _unpatched,
    ),
    Symptom(
        "state_without_ledger",
        Severity.ERROR,
        "Partitions are cold while nobody vouches that the server knows the cold ensemble.",
        "olap.partmove.part_info, the ledger in the hot ensemble",
        "Find out whether the server is patched (patched_sign); verify it and enter it with replica_ledger,"
        " or bring the partitions back to the hot ensemble",
        _state_without_ledger,
    ),
    Symptom(
        "ledger_stale",
        Severity.WARNING,
        "Partitions are cold, the server is patched, and the ledger does not say so.",
        "the ledger in the hot ensemble",
        "Verify the server and enter it with replica_ledger; until then nothing else is moved",
        _ledger_stale,
    ),
    Symptom(
        "old_process",
        Severity.ERROR,
        "The server runs with a configuration from before it was changed.",
        "uptime(), the time of the config file",
        "Restart the server",
        _old_process,
    ),
    Symptom(
        "detached_parts",
        Severity.WARNING,
        "Parts were taken out of a table because ZooKeeper did not know them (ignored_, unexpected_).",
        "the folder detached, system.detached_parts",
        "See whether an active part has their rows; a cold part is put back by renaming its folder while the"
        " table is detached, not by ATTACH PART; delete folders that are not needed any more",
        _detached_parts,
    ),
)
"""All of these symptoms, in the order in which findings are told."""
