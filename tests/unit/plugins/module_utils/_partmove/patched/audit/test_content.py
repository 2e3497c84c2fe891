# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The content of many partitions and replicas, read portion by portion."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.layout import ShardLayout
from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.payload import parse_payload
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.content import (
    ReplicaContent,
    read_contents,
    with_content,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.evidence import (
    DiskParts,
    ReplicaEvidence,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.names import (
    EnsembleNames,
    split_names,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.replicas import (
    ListedNames,
    ReplicaAnswer,
    replica_evidence,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import Znode
from support.memory.client import MemoryClient
from support.memory.memory import MemoryEnsemble, MemoryStore
from support.memory.synthetic import LEGACY, MINIMALISTIC

PATH = "/t"
A, B = "a_0_0_0", "b_0_0_0"
OTHER = MINIMALISTIC.replace(b"\x22" * 48, b"\x44" * 48)
CHECKSUMS = parse_payload(MINIMALISTIC, {}, "").checksums
assert CHECKSUMS is not None
HASH = CHECKSUMS.hash_of_all_files


class Counting(MemoryStore):
    """A store that counts its reads, and notes how many znodes the largest one asks for."""

    reads = largest = 0

    def read(self, paths: Sequence[str], *, absolute: bool = False) -> list[Znode | None]:
        self.reads += 1
        self.largest = max(self.largest, len(paths))
        return super().read(paths, absolute=absolute)


class Shard:
    """Both ensembles, and what is listed of r1, r2, and of r9, which only cold has."""

    def __init__(self) -> None:
        self.hot, self.cold = (Counting(MemoryEnsemble(name)) for name in ("hot", "cold"))
        self.names: dict[str, dict[str, list[str]]] = {"hot": {}, "cold": {}}
        self.hashes: dict[str, str | None] = {}

    def register(self, where: str, name: str, data: bytes = MINIMALISTIC, replica: str = "r1") -> str:
        path = f"{PATH}/replicas/{replica}/parts/{name}"
        store = self.hot if where == "hot" else self.cold
        MemoryClient(store).create(path, data, makepath=True)
        self.names[where].setdefault(replica, []).append(name)
        return path

    def listed(self) -> ListedNames:
        hot, cold = (
            EnsembleNames({each: split_names(names, 1)[0] for each, names in of_replicas.items()}, {})
            for of_replicas in self.names.values()
        )
        active = split_names(self.hashes, 1)[0]
        answer = ReplicaAnswer(True, DiskParts(self.hashes, frozenset()), active, "")
        return ListedNames(ShardLayout(PATH), {"r1": answer, "r2": answer}, hot, cold, {})

    def read(self, *partition_ids: str) -> dict[str, ReplicaContent]:
        return read_contents(self.hot, self.cold, self.listed(), partition_ids)

    def evidence(self, partition_id: str, *read: str) -> dict[str, ReplicaEvidence]:
        contents = self.read(*read or (partition_id,))
        replicas = replica_evidence(self.listed(), partition_id)
        return {each.name: with_content(each, contents.get(each.name)) for each in replicas}


@pytest.fixture
def shard() -> Shard:
    return Shard()


def test_a_content_problem_belongs_to_its_partition_and_replica(shard: Shard) -> None:
    for name in (A, B):
        shard.register("hot", name)
        shard.register("hot", name, replica="r2")
    shard.register("cold", A, OTHER)
    damaged = shard.register("cold", B, b"?")
    shard.hashes = {A: "0" * 32, B: HASH}
    first, other = (shard.evidence("a", "a", "b")[each] for each in ("r1", "r2"))
    assert first.differing == first.unlike_disk == other.unlike_disk == {A}
    assert other.differing == frozenset()
    assert first.unreadable == other.unreadable == ()
    second, other = (shard.evidence("b", "a", "b")[each] for each in ("r1", "r2"))
    assert (second.differing, second.unlike_disk) == (frozenset(), frozenset())
    assert second.unreadable == (damaged,)
    assert second.damaged_copies == {damaged}
    assert (other.unreadable, other.damaged_copies) == ((), frozenset())


def test_partitions_with_a_problem_are_known(shard: Shard) -> None:
    for name in ("ok_0_0_0", "differing_0_0_0", "unlike_0_0_0", "damaged_0_0_0"):
        shard.register("hot", name)
        shard.register(
            "cold", name, {"differing_0_0_0": OTHER, "damaged_0_0_0": b"?"}.get(name, MINIMALISTIC)
        )
    shard.hashes = {"unlike_0_0_0": "0" * 32}
    found = shard.read("ok", "differing", "unlike", "damaged")
    assert found["r1"].partitions == {"differing", "unlike", "damaged"}


def test_a_replica_in_cold_alone_is_read(shard: Shard) -> None:
    path = shard.register("cold", A, b"?", replica="r9")
    shard.register("hot", B, b"?", replica="r9")
    found = shard.read("a", "b")
    assert found["r9"].unreadable == {A: path}


def test_children_are_counted(shard: Shard) -> None:
    shard.register("hot", B)
    path = shard.register("hot", A, b"")
    for name, data in LEGACY.items():
        MemoryClient(shard.hot).create(f"{path}/{name}", data)
    assert shard.evidence("a")["r1"].znodes == {A: 3}
    assert shard.evidence("b")["r1"].znodes == {}


def test_content_that_was_not_read_adds_nothing(shard: Shard) -> None:
    shard.register("hot", A, b"?")
    (evidence,) = (each for each in replica_evidence(shard.listed(), "a") if each.name == "r1")
    assert with_content(evidence, None) == evidence
    assert with_content(evidence, shard.read()["r1"]) == evidence


def test_parts_are_read_in_portions(shard: Shard) -> None:
    names = [f"{number}_0_0_0" for number in range(4500)]
    for name in names:
        shard.register("hot", name)
    for store in (shard.hot, shard.cold):
        store.reads = store.largest = 0
    found = shard.read(*(name.partition("_")[0] for name in names))
    assert (shard.hot.reads, shard.hot.largest, shard.cold.reads) == (3, 2000, 0)
    assert found["r1"] == ReplicaContent()


def test_the_same_payload_is_checked_for_each_replica(shard: Shard) -> None:
    for replica in ("r1", "r2"):
        shard.register("hot", A, b"?", replica=replica)
        shard.register("hot", B, replica=replica)
    shard.hashes = {A: HASH, B: "0" * 32}
    for found in shard.read("a", "b").values():
        assert set(found.unreadable) == {A}
        assert found.unlike_disk == {B}
