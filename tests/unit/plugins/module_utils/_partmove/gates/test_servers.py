# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether the servers have on disk what is registered, as far as they are asked."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import NamedTuple

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import (
    FormatError,
    PartMoveError,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.payload import parse_payload
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.gate import Refusal
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.names import GateName
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.probe import ActivePart
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.servers import (
    AskServers,
    AssumeActive,
    NoServers,
    ServerCheck,
    server_silent,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.shard.facts import (
    PartitionFacts,
    ShardFacts,
)
from support.memory.arrange import create, delete, legacy_part
from support.memory.bench import DAY, OTHER, PART, PATH, Bench
from support.memory.probe import SimulatedProbe

CHECK_TABLE = (
    "Run again; if the reason stays the same, let ClickHouse repair the part while the partition is hot"
    " (CHECK TABLE)"
)
AUDIT = (
    "Run again; if the reason stays the same, do not restart the server nor CHECK the table:"
    " part_audit_info lists the unregistered parts, and part_repair registers them"
)
AUDIT_COLD = (
    "Run again; if the reason stays the same, run part_audit_info and follow its remedy (ghost: no disk has"
    " the part, and part_repair removes its znodes); where no server has the partition because it was"
    " dropped, set State to HOT with partition_state"
)


class Disks:
    """Implements ReplicaProbe with the disks of the bench, except for r2 where a test changes the answers.

    change: applied to the parts of r2. errors: the first error is raised when r2 is asked.
    """

    def __init__(self, bench: Bench) -> None:
        self._real = SimulatedProbe(bench.servers)
        self.change: Callable[[ActivePart], ActivePart] = lambda part: part
        self.errors: list[PartMoveError] = []
        self.detached: Mapping[str, frozenset[str] | None] = {}
        self.asked: list[tuple[str, str, str]] = []

    def active_parts(
        self, shard_path: str, replica: str, host: str, partitions: Collection[str]
    ) -> Mapping[str, tuple[ActivePart, ...]]:
        self._ask(shard_path, replica, host)
        found = self._real.active_parts(shard_path, replica, host, partitions)
        if replica != "r2":
            return found
        return {each: tuple(map(self.change, parts)) for each, parts in found.items()}

    def detached_parts(self, shard_path: str, replica: str, host: str) -> frozenset[str] | None:
        self._ask(shard_path, replica, host)
        return self.detached.get(replica)

    def _ask(self, *what: str) -> None:
        self.asked.append((what[0], what[1], what[2].partition("\n")[0]))
        if what[1] == "r2" and self.errors:
            raise self.errors[0]


class Looked(NamedTuple):
    shard: ShardFacts
    partitions: list[PartitionFacts]


def look(bench: Bench) -> Looked:
    reader = bench.reader()
    shard, found = reader.read([DAY, OTHER])
    return Looked(shard, list(found.values()))


@pytest.fixture
def bench() -> Bench:
    return Bench()


@pytest.fixture
def disks(bench: Bench) -> Disks:
    return Disks(bench)


def refusals(bench: Bench, disks: Disks) -> Mapping[str, Refusal]:
    return AskServers(disks).refusals(*look(bench))


def test_every_replica_is_asked_by_its_address(bench: Bench, disks: Disks) -> None:
    assert refusals(bench, disks) == {}
    assert disks.asked == [(PATH, "r1", "host: r1.example"), (PATH, "r2", "host: r2.example")]


def test_parts_that_differ_from_their_znodes_are_refused_by_partition(bench: Bench, disks: Disks) -> None:
    bench.servers.disk["r2"] = {f"{DAY}_0_0_1", f"{OTHER}_0_0_0"}
    assert refusals(bench, disks) == {
        DAY: Refusal(
            GateName.ACTIVE_ON_DISK,
            f"replica r2 has the active parts ['{DAY}_0_0_1'], but ['{PART}'] are registered",
            AUDIT,
        )
    }


def test_the_first_differing_replica_is_named(bench: Bench, disks: Disks) -> None:
    for names in bench.servers.disk.values():
        names.discard(PART)
    reasons = {each: refusal.reason for each, refusal in refusals(bench, disks).items()}
    assert reasons == {DAY: f"replica r1 has the active parts [], but ['{PART}'] are registered"}


def test_a_replica_that_was_added_since_has_nothing_to_have(bench: Bench, disks: Disks) -> None:
    looked = look(bench)
    bench.servers.add_replica("r3")
    later = look(bench)
    assert [replica.name for replica in later.shard.replicas] == ["r1", "r2", "r3"]
    assert AskServers(disks).refusals(later.shard, looked.partitions) == {}


def test_a_cold_part_is_not_to_be_checked(bench: Bench, disks: Disks) -> None:
    bench.servers.disk["r2"].discard(PART)
    create(f"block_numbers/{DAY}/State", b"COLD")(bench)
    assert refusals(bench, disks)[DAY].remedy == AUDIT_COLD


@pytest.mark.parametrize("state", [b"HOT", b"COLD"])
def test_a_server_with_parts_that_are_not_registered_is_not_to_be_stopped(
    bench: Bench, disks: Disks, state: bytes
) -> None:
    """Neither while the partition is hot nor while it is cold for the other replica."""
    create(f"block_numbers/{DAY}/State", state)(bench)
    bench.hot.delete(bench.part("r2"))
    assert refusals(bench, disks)[DAY] == Refusal(
        GateName.ACTIVE_ON_DISK, f"replica r2 has the active parts ['{PART}'], but [] are registered", AUDIT
    )


def test_a_part_that_was_merged_on_disk_is_registered_by_what_it_became(bench: Bench, disks: Disks) -> None:
    create(f"replicas/r2/parts/{DAY}_0_1_1", bench.hot.get(bench.part("r2"))[0])(bench)
    bench.hot.delete(bench.part("r2"))
    assert refusals(bench, disks)[DAY].remedy == CHECK_TABLE


def hash_of(bench: Bench, part: str = PART) -> str:
    """Return the hash registered for r2, in the form of system.parts of 20.12."""
    checksums = parse_payload(bench.hot.get(bench.part("r2", part))[0], {}, "here").checksums
    assert checksums is not None
    return checksums.hash_of_all_files


OTHER_HASH = f"replica r2 has another part {PART} on disk than the registered one (the hashes differ)"


@pytest.mark.parametrize(
    ("shown", "reason"),
    [
        (lambda stored: stored, None),
        (lambda stored: stored.upper(), None),
        (lambda stored: stored[16:] + stored[:16], None),
        (lambda _stored: None, None),
        (lambda _stored: "0" * 32, OTHER_HASH),
        (lambda stored: stored[::-1], OTHER_HASH),
    ],
    ids=["the same", "in capitals", "the high word first", "not told", "zeros", "backwards"],
)
def test_the_files_of_a_part_are_compared_by_their_hash(
    bench: Bench, disks: Disks, shown: Callable[[str], str | None], reason: str | None
) -> None:
    stored = hash_of(bench)
    disks.change = lambda part: part._replace(hash_of_all_files=shown(stored)) if part.name == PART else part
    assert [refusal.reason for refusal in refusals(bench, disks).values()] == ([reason] if reason else [])


def test_a_part_that_registers_a_list_of_files_has_no_hash_to_compare(bench: Bench, disks: Disks) -> None:
    legacy_part("r2", b"checksums format version: 4\nall files")(bench)
    disks.change = lambda part: part._replace(
        hash_of_all_files=hash_of(bench, part.name) if part.name != PART else "0" * 32
    )
    assert refusals(bench, disks) == {}


def test_a_part_without_rows_is_refused(bench: Bench, disks: Disks) -> None:
    disks.change = lambda part: part._replace(rows=0) if part.name == PART else part
    assert refusals(bench, disks)[DAY].reason == f"replica r2 has no rows in part {PART}"


@pytest.mark.parametrize(
    ("remedy", "told"), [("", "Start the server and run again"), ("Give a password", "Give a password")]
)
def test_a_server_that_does_not_answer_stops_every_partition(
    bench: Bench, disks: Disks, remedy: str, told: str
) -> None:
    bench.servers.disk["r1"].discard(PART)
    disks.errors.append(PartMoveError("it is down", remedy=remedy))
    refusal = Refusal(GateName.ACTIVE_ON_DISK, "replica r2: it is down", told)

    assert refusals(bench, disks) == {DAY: refusal, OTHER: refusal}
    with pytest.raises(PartMoveError) as error:
        AskServers(disks).detached(look(bench).shard)
    assert server_silent(error.value) == refusal


def test_a_replica_without_an_address_is_asked_all_the_same(bench: Bench, disks: Disks) -> None:
    """The probe decides whether the server can be reached without an address."""
    delete("replicas/r2/host")(bench)
    assert refusals(bench, disks) == {}
    assert disks.asked[1] == (PATH, "r2", "")


def test_active_parts_by_partition_and_replica(bench: Bench, disks: Disks) -> None:
    bench.servers.disk["r2"] = {f"{OTHER}_0_0_0", f"{OTHER}_1_1_0"}
    shard = look(bench).shard
    assert AskServers(disks).active(shard, [DAY, OTHER, "20300101"]) == {
        DAY: {"r1": (PART,)},
        OTHER: {"r1": (f"{OTHER}_0_0_0",), "r2": (f"{OTHER}_0_0_0", f"{OTHER}_1_1_0")},
    }
    disks.errors.append(PartMoveError("it is down"))
    with pytest.raises(PartMoveError, match="replica r2: it is down"):
        AskServers(disks).active(shard, [DAY])


def test_detached_parts_of_the_replicas_that_can_list_them(bench: Bench, disks: Disks) -> None:
    disks.detached = {"r1": None, "r2": frozenset({f"ignored_{PART}"})}
    assert AskServers(disks).detached(look(bench).shard) == {"r2": {f"ignored_{PART}"}}


def test_only_who_asks_says_so(disks: Disks) -> None:
    checks: list[ServerCheck] = [AssumeActive(), NoServers(), AskServers(disks)]
    assert [check.asks for check in checks] == [False, False, True]


@pytest.mark.parametrize("check", [AssumeActive(), NoServers()])
def test_who_does_not_ask_knows_of_nothing_that_is_detached(bench: Bench, check: ServerCheck) -> None:
    assert check.detached(look(bench).shard) == {}
    assert check.active(look(bench).shard, [DAY]) == {}


def test_where_nobody_vouches_nothing_may_become_cold(bench: Bench) -> None:
    refusal = Refusal(
        GateName.ACTIVE_ON_DISK,
        "no server was asked whether the replicas have the registered parts on disk",
        "Run again with the option clickhouse, so that the servers are asked, or with assume_active",
    )
    assert NoServers().refusals(*look(bench)) == {DAY: refusal, OTHER: refusal}


def test_the_operator_may_vouch(bench: Bench) -> None:
    assert AssumeActive().refusals(*look(bench)) == {}
    assert AssumeActive().detached(look(bench).shard) == {}


@pytest.mark.parametrize(
    "names", [set(), {PART, f"{DAY}_1_1_0"}, {f"{DAY}_1_1_0"}], ids=["fewer", "more", "another"]
)
def test_a_server_with_fewer_or_more_or_other_parts_is_refused(
    bench: Bench, disks: Disks, names: set[str]
) -> None:
    bench.servers.disk["r2"] = names | {f"{OTHER}_0_0_0"}
    assert refusals(bench, disks).keys() == {DAY}


def test_parts_lacking_on_a_server_are_listed_by_their_paths(bench: Bench, disks: Disks) -> None:
    looked = look(bench)
    parts = [*looked.partitions[0].hot_parts]
    servers = AskServers(disks)
    assert servers.lacking(looked.shard, parts) == []
    bench.servers.disk["r2"].discard(PART)
    assert servers.lacking(looked.shard, parts) == [bench.part("r2")]
    assert AssumeActive().lacking(looked.shard, parts) == []
    assert NoServers().lacking(looked.shard, parts) == []


def test_a_server_that_does_not_answer_says_of_no_part_that_it_has_it_not(
    bench: Bench, disks: Disks, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked = look(bench)

    def silent(*_args: object) -> None:
        raise PartMoveError("no answer")

    monkeypatch.setattr(disks, "active_parts", silent)
    assert AskServers(disks).lacking(looked.shard, [*looked.partitions[0].hot_parts]) == []


def test_a_damaged_part_znode_in_cold_is_reported_with_its_ensemble(bench: Bench, disks: Disks) -> None:
    """As where State is to be set to what the servers have."""
    bench.move(DAY)
    bench.cold.set(bench.part("r2"), b"garbage")
    disks.change = lambda part: part._replace(hash_of_all_files="00" * 16)
    shard, (partition, _other) = look(bench)
    with pytest.raises(FormatError, match=f"^{bench.part('r2')} in the cold ensemble has data that is not"):
        AskServers(disks).refusals(shard, [replace(partition, hot=partition.cold)])
