# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The reports of a move about partitions that stay, beyond the gates of partitions and tables."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import (
    PartMoveError,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.gate import Refusal
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.judge import MOVE_GATES
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.names import GateName
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.probe import ActivePart
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.servers import (
    AskServers,
    NoServers,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.ledger.entry import (
    ColdEnsemble,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.ledger.ledger import (
    VERIFY,
    Ledger,
    LedgerReadiness,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import Znode
from ansible_collections.olap.partmove.plugins.module_utils._partmove.zip_strict import zip_strict
from support.memory.arrange import Arrange, allow, both, create, create_cold, delete, entry, mark
from support.memory.bench import DAY, LOCK, OTHER, PART, PATH, Bench, HookedStore
from support.memory.probe import SimulatedProbe
from support.memory.tables import TableOptions

LOG = f"{PATH}/log/log-0000000000"


class Probe:
    """Implements ReplicaProbe: every part of PART's name is there, but for what a test says."""

    def __init__(self, bench: Bench) -> None:
        self._real = SimulatedProbe(bench.servers)
        self.change: Callable[[ActivePart], ActivePart] = lambda part: part
        self.detached: dict[str, frozenset[str]] = {}
        self.fail_after = 1000

    def active_parts(
        self, shard_path: str, replica: str, host: str, partitions: Collection[str]
    ) -> Mapping[str, tuple[ActivePart, ...]]:
        self._count()
        found = self._real.active_parts(shard_path, replica, host, partitions)
        return {each: tuple(map(self.change, parts)) for each, parts in found.items()}

    def detached_parts(self, _shard_path: str, replica: str, _host: str) -> frozenset[str]:
        self._count()
        return self.detached.get(replica, frozenset())

    def _count(self) -> None:
        self.fail_after -= 1
        if self.fail_after < 0:
            raise PartMoveError("no answer")


def ledger_of(bench: Bench) -> LedgerReadiness:
    """Readiness by a ledger that nobody has written to."""
    return LedgerReadiness(Ledger(bench.context.hot), ColdEnsemble.of(bench.context.cold))


def with_probe(change: Callable[[Bench, Probe], object]) -> Arrange:
    def arrange(bench: Bench) -> None:
        probe = Probe(bench)
        bench.context = bench.context._replace(servers=AskServers(probe))
        change(bench, probe)

    return arrange


class Shortened(HookedStore):
    """Has a second member, which lacks a part."""

    def members(self) -> Sequence[HookedStore]:
        lagging = Lagging(self.ensemble)
        return [self, lagging]


class Lagging(HookedStore):
    name = "cold-2"

    def read(self, paths: Sequence[str], *, absolute: bool = False) -> list[Znode | None]:
        found = super().read(paths)
        return [
            None if path.endswith(f"r2/parts/{PART}") else each for path, each in zip_strict(paths, found)
        ]


def lagging_member(bench: Bench) -> None:
    cold = Shortened(bench.cold_ensemble)
    bench.context = bench.context._replace(cold=cold)


def lock_held(bench: Bench) -> None:
    bench.hot.create(LOCK, b"another run", ephemeral=True, makepath=True)


def expire_at_every_switch(bench: Bench) -> None:
    bench.before_switch(bench.hot_store.expire, times=100)


def busy_table(bench: Bench) -> None:
    bench.before_switch(lambda: bench.hot.set(f"{PATH}/log", b""), times=100)


def keeps_merging(bench: Bench) -> None:
    def merge() -> None:
        bench.servers.assign_merge(DAY)
        bench.servers.catch_up()

    bench.before_switch(merge, times=100)


def dropped_on_the_way(bench: Bench) -> None:
    bench.before_switch(lambda: bench.servers.drop(DAY))


class Case(NamedTuple):
    """What is done, and what the report says of DAY then."""

    gate: str
    arrange: Arrange
    reason: str
    remedy: str
    word: str = "deferred"


READ_ZNODE = (
    "Read the znode in system.zookeeper: if a ClickHouse newer than this collection knows wrote the znode,"
    " use a newer olap.partmove; if the znode is damaged, repair it first"
)
LOST = f"{PATH}: the lock or epoch of this run is no longer valid"
AUDIT = "part_audit_info lists what each replica has, and part_repair repairs the rest"
BRING_BACK = f"Bring the partition back: part_move with state: hot and the option clickhouse. {AUDIT}"
CHECK = (
    "Run again; if the reason stays the same, let ClickHouse repair the part while the partition is hot"
    " (CHECK TABLE)"
)
GONE = (
    "Run part_audit_info, then part_repair, now and before a server restarts; find out which program deleted"
    " the copies"
)
LATE = "Run again once the partition gets no inserts any more and every replica has its parts"

CASES = [
    Case(
        "partition_exists",
        both(delete(f"replicas/r1/parts/{PART}"), delete(f"replicas/r2/parts/{PART}")),
        "no part of the partition is registered in either ensemble",
        "Check the partition id (system.parts.partition_id) and the shard path",
    ),
    Case(
        "registered",
        with_probe(
            lambda bench, _probe: both(
                delete(f"replicas/r1/parts/{PART}"), delete(f"replicas/r2/parts/{PART}")
            )(bench)
        ),
        f"parts of the partition are active on disk and registered in neither ensemble: r1 has {PART}, r2"
        f" has {PART}",
        "Do not restart the server: a restart moves the parts to detached/. Check that cold is the"
        " ensemble that the servers have as <cold_zookeeper>. Then run part_audit_info, and register the"
        " parts with part_repair",
        "failed",
    ),
    Case(
        "partition_exists",
        dropped_on_the_way,
        "its parts left the hot ensemble while they were copied; the copies were removed",
        "Leave the partition out of the plan if it was dropped, or else run again",
    ),
    Case(
        "not_drifted",
        create(f"block_numbers/{DAY}/State", b"COLD"),
        "State is COLD, but r1 has 1 part in hot and 0 in cold, r2 has 1 part in hot and 0 in cold",
        BRING_BACK,
    ),
    Case(
        "not_drifted",
        both(
            mark,
            create(f"block_numbers/{DAY}/State", b"COLD\n"),
            *(create_cold(f"replicas/{each}/parts/{PART}") for each in ("r1", "r2")),
            *(delete(f"replicas/{each}/parts/{PART}") for each in ("r1", "r2")),
        ),
        "State is COLD\n, but r1 has 0 parts in hot and 1 in cold, r2 has 0 parts in hot and 1 in cold",
        f"Set State with partition_state: to COLD if the servers have the parts, otherwise to HOT. {AUDIT}",
    ),
    Case(
        "not_drifted",
        both(
            mark,
            create(f"block_numbers/{DAY}/State", b"COLD"),
            create_cold(f"replicas/r1/parts/{PART}"),
            *(delete(f"replicas/{each}/parts/{PART}") for each in ("r1", "r2")),
        ),
        "State is COLD, but r1 has 0 parts in hot and 1 in cold, r2 has 0 parts in hot and 0 in cold",
        BRING_BACK,
    ),
    Case(
        "patched_replicas",
        lambda bench: setattr(bench, "context", bench.context._replace(readiness=ledger_of(bench))),
        "replica r1 is not in the ledger, replica r2 is not in the ledger",
        VERIFY,
    ),
    Case(
        "active_on_disk",
        lambda bench: setattr(bench, "context", bench.context._replace(servers=NoServers())),
        "no server was asked whether the replicas have the registered parts on disk",
        "Run again with the option clickhouse, so that the servers are asked, or with assume_active",
    ),
    Case(
        "active_on_disk",
        with_probe(lambda bench, _probe: bench.servers.disk["r2"].clear()),
        f"replica r2 has the active parts [], but ['{PART}'] are registered",
        CHECK,
    ),
    Case(
        "active_on_disk",
        with_probe(lambda _bench, probe: setattr(probe, "change", lambda part: part._replace(rows=0))),
        f"replica r1 has no rows in part {PART}",
        CHECK,
    ),
    Case(
        "active_on_disk",
        with_probe(
            lambda _bench, probe: setattr(
                probe, "change", lambda part: part._replace(hash_of_all_files="00" * 16)
            )
        ),
        f"replica r1 has another part {PART} on disk than the registered one (the hashes differ)",
        CHECK,
    ),
    Case(
        "active_on_disk",
        with_probe(lambda _bench, probe: setattr(probe, "fail_after", 1)),
        "replica r2: no answer",
        "Start the server and run again",
    ),
    Case(
        "active_on_disk",
        with_probe(lambda _bench, probe: setattr(probe, "fail_after", 2)),
        "replica r1: no answer",
        "Start the server and run again",
    ),
    Case(
        "active_on_disk",
        with_probe(lambda _bench, probe: setattr(probe, "fail_after", 6)),
        "replica r1: no answer",
        "Start the server and run again",
        "failed",
    ),
    Case(
        "active_on_disk",
        with_probe(
            lambda bench, probe: bench.after_switch(
                lambda: probe.detached.update(r2=frozenset({f"unexpected_{PART}_try2"}))
            )
        ),
        f"replica r2 detached unexpected_{PART}_try2 during the run",
        "Run part_audit_info on the shard path now, and follow its remedy before the server restarts",
        "failed",
    ),
    Case(
        "lock_free",
        lock_held,
        f"{PATH} is locked by another run: another run",
        "Wait until that run has ended; the lock of a killed run ends with its session",
    ),
    Case(
        "lock_kept",
        expire_at_every_switch,
        LOST,
        "Another run took the shard path over, or our session ended; run again",
    ),
    Case(
        "readable",
        create("log/log-0000000000", entry(b"explode\nnow\n")),
        f"{LOG}, line 5: expected a known type of entry, found 'explode'",
        READ_ZNODE,
    ),
    Case(
        "readable",
        create("log/log-0000000000", b"format version: 99\n"),
        f"{LOG}, line 1: expected a format version from 4 to 7, found 'format version: 99'",
        READ_ZNODE,
    ),
    Case(
        "readable",
        create("replicas/r2/parts/tmp_fetch", b""),
        f"{PATH}/replicas/r2/parts/tmp_fetch: 'tmp_fetch' is not the name of a part in a table of data format"
        " version 1, which is <partition id>_<min block>_<max block>_<level>[_<mutation>]",
        READ_ZNODE,
    ),
    Case(
        "copies_equal",
        lagging_member,
        "the copies in the cold ensemble are not equal:"
        f" {PATH}/replicas/r2/parts/{PART} is missing on cold-2",
        "Check that every member of the cold ensemble is up and has caught up, then run again",
        "failed",
    ),
    Case(
        "quiet_table",
        busy_table,
        "the table's own merges, mutations or inserts came in between 12 times",
        "Run again at a quieter time",
    ),
    Case(
        "quiet_table",
        keeps_merging,
        "its parts changed 3 times after they had been copied",
        "Run again when the partition is not merged or mutated any more",
    ),
    Case(
        "late_insert",
        lambda bench: bench.before_switch(lambda: bench.servers.insert(DAY)),
        f"while the partition was switched, replica r1 registered {DAY}_2_2_0; the partition is registered"
        " in hot again",
        LATE,
    ),
    Case(
        "late_insert",
        lambda bench: bench.after_switch(
            lambda: create("log/log-0000000000", entry(f"drop\n{DAY}_0_9_999999999\n".encode()))(bench)
        ),
        f"the partition was switched, but entries for the partition wait: {LOG}, and the switch could not be"
        " undone",
        "Run part_audit_info on the shard path now, and part_repair before a merge of the partition",
        "failed",
    ),
    Case(
        "copies_kept",
        lambda bench: bench.after_switch(
            lambda: bench.cold.delete(f"{PATH}/replicas/r1/parts/{PART}", recursive=True)
        ),
        f"verified copies are gone from the cold ensemble: {PATH}/replicas/r1/parts/{PART}",
        GONE,
        "failed",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case.gate))
def test_why_a_partition_was_not_moved(case: Case) -> None:
    bench = Bench(TableOptions(partitions=(DAY, OTHER)))
    case.arrange(bench)

    report = bench.move()

    assert getattr(report, case.word) == {DAY: Refusal(GateName(case.gate), case.reason, case.remedy)}
    assert report.moved == {}
    assert len(report.deferred) + len(report.failed) == 1


def test_a_partition_that_no_multi_can_carry() -> None:
    bench = Bench(TableOptions(partitions=(DAY, OTHER), parts=500))
    allow(500)(bench)

    report = bench.move()

    assert report.deferred == {
        DAY: Refusal(
            GateName.FITS_ONE_MULTI,
            "its 1001 operations do not fit one multi, so the partition cannot be switched, or switched"
            " back, at one instant",
            "Merge the partition into fewer parts (partition_merge) and run again",
        )
    }
    assert not bench.cold_ensemble.children([f"{PATH}/replicas/r1/parts"])[0]


def test_a_switch_that_could_not_be_undone_is_refused() -> None:
    """Parts are deleted with less bytes than it takes to create them again."""
    bench = Bench(TableOptions(partitions=(DAY, OTHER), legacy=True))
    big = b"checksums format version: 4\n" + bytes(300_000)
    for replica in ("r1", "r2"):
        bench.hot.set(f"{bench.part(replica)}/checksums", big)

    assert bench.move().deferred[DAY].gate == "fits_one_multi"


def test_every_gate_that_is_no_row_of_a_table_has_a_case() -> None:
    elsewhere = {"fits_one_multi", "post_switch_check", "bound_here", "not_held", "alter_finished"}
    of_the_way_back = {"copies_needed", "hot_members"}
    between_twins = {
        "clones_equal",
        "links_made",
        "not_inner",
        "parts_distinct",
        "parts_droppable",
        "readers_done",
        "readers_ready",
        "room_for_clones",
        "twin_alike",
        "twin_apart",
        "twin_at_rest",
        "twin_even",
        "twin_known",
        "twin_ready",
        "twin_whole",
    }
    in_tables = {gate.name.value for kind in MOVE_GATES for gate in kind}
    others = {each.value for each in GateName} - in_tables
    assert {case.gate for case in CASES} | elsewhere | of_the_way_back | between_twins == others
