# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Symptoms on the disk of a server, alone and compared with the cold ensemble and the ledger."""

from __future__ import annotations

from collections.abc import Iterator

from ..text import count_of, first_few
from .facts import ColdFacts, DiskTable, HealthFacts
from .symptom import Occurrence, Severity, Symptom

_DETACHED_BY_SERVER = ("ignored_", "unexpected_")
"""Prefixes of folders detached by the server itself, because ZooKeeper did not register the part."""


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
        listed = first_few(f"{name} with {count_of(-count, 'part')}" for count, name in counts)
        yield Occurrence(where, f"inserts are {how} from {least} active parts of a partition on: {listed}")


def _detached_parts(facts: HealthFacts) -> Iterator[Occurrence]:
    for key, names in facts.disk.detached.items():
        detached = sorted(name for name in names or () if name.startswith(_DETACHED_BY_SERVER))
        if detached:
            yield Occurrence(str(key), f"its folder detached has {first_few(detached)}")


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
                    f"the table has cold partitions ({first_few(cold.cold_partitions)}), and the server"
                    " has no sign of the patch",
                )


def _not_ready(facts: HealthFacts) -> Iterator[ColdFacts]:
    for cold in facts.cold:
        if cold.cold_partitions and cold.not_ready is not None:
            yield cold


def _state_without_ledger(facts: HealthFacts) -> Iterator[Occurrence]:
    if facts.server.patched is None:
        for cold in _not_ready(facts):
            yield Occurrence(
                str(cold.key), f"State of {first_few(cold.cold_partitions)} is COLD, and {cold.not_ready}"
            )


def _ledger_stale(facts: HealthFacts) -> Iterator[Occurrence]:
    if facts.server.patched:
        for cold in _not_ready(facts):
            yield Occurrence(
                str(cold.key), f"State of {first_few(cold.cold_partitions)} is COLD, and {cold.not_ready}"
            )


def _old_process(facts: HealthFacts) -> Iterator[Occurrence]:
    changed, started = facts.limits.config_changed_at, facts.server.started
    # The start time is exact to a second only, so a smaller difference proves nothing.
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
        "Insert fewer, larger batches into fewer partitions, and check that merges are running"
        " (system.merges)",
        _too_many_parts,
    ),
    Symptom(
        "many_parts",
        Severity.WARNING,
        "A partition has so many small parts that inserts are slowed down.",
        "system.parts, system.merge_tree_settings (parts_to_delay_insert)",
        "Insert fewer, larger batches into fewer partitions, and check that merges are running"
        " (system.merges)",
        _many_parts,
    ),
    Symptom(
        "cold_missing",
        Severity.ERROR,
        "A part that the cold ensemble registers for the replica is not on the replica's disk.",
        "system.parts, the folder detached, olap.partmove.part_info",
        "Do not restart the server, nor CHECK or OPTIMIZE the table; search for the part in the folder"
        " detached and on the other replicas, then run part_audit_info: its finding names the repair",
        _cold_missing,
    ),
    Symptom(
        "unregistered",
        Severity.ERROR,
        "A part is active on disk and registered in neither ensemble: the next restart moves it to"
        " detached/.",
        "system.parts, olap.partmove.part_info, olap.partmove.part_audit_info",
        "Do not restart the server, nor CHECK or OPTIMIZE the table; check that cold is the ensemble that the"
        " server has, run part_audit_info, then part_repair with the kind of its finding",
        _unregistered,
    ),
    Symptom(
        "unpatched",
        Severity.ERROR,
        "The server is not patched while partitions of its tables are cold.",
        "the query given as patched_sign, olap.partmove.part_info",
        "Do not restart the server; install the patched server, or bring the partitions back to the hot"
        " ensemble (part_move with state: hot)",
        _unpatched,
    ),
    Symptom(
        "state_without_ledger",
        Severity.ERROR,
        "Partitions are cold, and the ledger does not vouch that the server knows the cold ensemble.",
        "olap.partmove.part_info, the ledger in the hot ensemble",
        "Find out whether the server is patched (patched_sign); verify the server and enter it with"
        " replica_ledger, or bring the partitions back to the hot ensemble (part_move with state: hot)",
        _state_without_ledger,
    ),
    Symptom(
        "ledger_stale",
        Severity.WARNING,
        "Partitions are cold, the server is patched, and the ledger does not say so.",
        "the ledger in the hot ensemble",
        "Verify the server and enter it with replica_ledger; until then no other partition is moved",
        _ledger_stale,
    ),
    Symptom(
        "old_process",
        Severity.ERROR,
        "The server process is older than the last change of its configuration.",
        "uptime(), the time of the config file",
        "Restart the server",
        _old_process,
    ),
    Symptom(
        "detached_parts",
        Severity.WARNING,
        "The server detached parts because ZooKeeper did not register them (ignored_, unexpected_).",
        "the folder detached, system.detached_parts",
        "Check whether an active part has their rows; put a cold part back by renaming its folder while the"
        " table is detached, not by ATTACH PART; delete folders that are not needed any more",
        _detached_parts,
    ),
)
"""These symptoms, in the order of the report."""
