# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The reads of a shard path, their order, and unreadable znodes."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.binding.marker import (
    ColdMarker,
    HotSide,
    TableId,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.binding.owner import Owner
from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import (
    BindingConflict,
    FormatError,
    NoSuchTable,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.layout import MARKS_OF_A_SHARD
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.evidence import (
    DiskParts,
    PartitionEvidence,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.reader import (
    EvidenceReader,
    ShardEvidence,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.replicas import (
    NO_PARTITION,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.paths import DEFAULT_ROOT
from support.memory.arrange import (
    both,
    create,
    create_cold,
    mark,
    mark_former,
    mark_of_other_cluster,
    write,
)
from support.memory.bench import DAY, LOCK, OTHER, PART, PATH, Bench
from support.memory.disks import SimulatedDisks
from support.memory.synthetic import MINIMALISTIC

R1, R2, R9 = (f"replicas/{replica}/parts/{PART}" for replica in ("r1", "r2", "r9"))


class Reading:
    """A bench with an evidence reader."""

    def __init__(self) -> None:
        self.bench = Bench()
        self.disks = SimulatedDisks(self.bench.servers)

    @property
    def reader(self) -> EvidenceReader:
        bench = self.bench
        return EvidenceReader(bench.hot_store, bench.cold_store, self.disks, bench.clock, DEFAULT_ROOT)

    def read(self, *content_of: str) -> ShardEvidence:
        return self.reader.read(PATH, content_of=content_of)

    def partition(self, *content_of: str) -> PartitionEvidence:
        return self.read(*content_of).partitions[DAY]


@pytest.fixture
def reading() -> Reading:
    return Reading()


def test_what_is_where(reading: Reading) -> None:
    reading.bench.move()
    evidence = reading.read()
    assert list(evidence.partitions) == [DAY, OTHER]
    assert (evidence.owner, evidence.lock) == (Owner.OURS, "")
    day, other = evidence.partitions.values()
    assert (day.is_cold, other.is_cold) == (True, False)
    assert all(each.cold_is_known for each in (day, other))
    for partition, is_cold in ((day, True), (other, False)):
        assert [each.name for each in partition.replicas] == ["r1", "r2"]
        for each in partition.replicas:
            name = f"{partition.partition_id}_0_0_0"
            assert [part.text for part in each.active or ()] == [name]
            assert [part.text for part in (each.cold if is_cold else each.hot)] == [name]
            assert not (each.hot if is_cold else each.cold)


def test_a_partition_that_was_brought_back_needs_its_copies_for_a_while(reading: Reading) -> None:
    reading.bench.move()
    reading.bench.reheat()
    assert 0 < reading.partition().seconds_needed <= 600
    reading.bench.clock.sleep(600)
    assert reading.partition().seconds_needed == 0
    reading.bench.servers.stop("r2")
    assert reading.partition().seconds_needed == float("inf")


@pytest.mark.parametrize(
    ("arrange", "owner"),
    [
        (both(), Owner.NOBODY),
        (create_cold(R1), Owner.NOBODY),
        (mark, Owner.OURS),
        (both(create_cold(R1), mark_former), Owner.FORMER),
        (both(create_cold(R1), mark_of_other_cluster), Owner.OTHER_CLUSTER),
    ],
    ids=[
        "nothing in cold",
        "no marker",
        "our marker",
        "a former one",
        "of another cluster",
    ],
)
def test_whose_parts_cold_has(reading: Reading, arrange: Callable[[Bench], object], owner: Owner) -> None:
    arrange(reading.bench)
    evidence = reading.read()
    assert evidence.owner is owner
    assert {each.owner for each in evidence.partitions.values()} == {owner}


def test_another_cold_ensemble_is_not_known(reading: Reading) -> None:
    reading.bench.move()
    assert reading.partition().cold_is_known
    reading.bench.cold_store = Bench().cold_store
    assert not reading.partition().cold_is_known
    reading.bench.cold.delete(PATH, recursive=True)
    create_cold(R1)(reading.bench)
    reading.bench.cold_store = reading.bench.beside().cold_store
    assert not reading.partition().cold_is_known


def test_a_silent_server_says_why(reading: Reading) -> None:
    reading.disks.silent.add("r2")
    first, second = reading.partition().replicas
    assert first.silence == ""
    assert (second.active, second.detached) == (None, None)
    assert second.silence == "ClickHouse at h:8123 cannot be reached. Start it."


def test_detached_parts(reading: Reading) -> None:
    reading.disks.detached["r1"] = {f"ignored_{PART}"}
    first, second = reading.partition().replicas
    assert (first.detached, second.detached) == (frozenset({f"ignored_{PART}"}), frozenset())


def test_a_partition_that_only_a_disk_has(reading: Reading) -> None:
    reading.bench.servers.disk["r1"].add("2018_0_0_0")
    first, second = reading.read().partitions["2018"].replicas
    assert [part.text for part in first.active or ()] == ["2018_0_0_0"]
    assert second.active == ()


def test_a_replica_that_only_cold_has_is_listed_where_it_has_parts(reading: Reading) -> None:
    create_cold(R9, MINIMALISTIC)(reading.bench)
    evidence = reading.read().partitions
    assert [(each.name, each.is_in_hot) for each in evidence[DAY].replicas] == [
        ("r1", True),
        ("r2", True),
        ("r9", False),
    ]
    assert [each.name for each in evidence[OTHER].replicas] == ["r1", "r2"]


def test_names_that_no_part_has_are_a_partition_of_their_own(reading: Reading) -> None:
    create("replicas/r1/parts/lock")(reading.bench)
    create_cold("replicas/r9/parts/junk")(reading.bench)
    odd = reading.read(NO_PARTITION).partitions[NO_PARTITION]
    assert [(each.name, each.unreadable) for each in odd.replicas] == [
        ("r1", (f"{PATH}/replicas/r1/parts/lock",)),
        ("r9", (f"{PATH}/replicas/r9/parts/junk",)),
    ]


def test_content_is_compared_only_where_that_is_asked_for(reading: Reading) -> None:
    create_cold(R1, MINIMALISTIC + b"?")(reading.bench)
    reading.disks.hashes[PART] = "0" * 32
    first, second = reading.partition(OTHER).replicas
    assert (first.unreadable, first.unlike_disk, second.unlike_disk) == ((), frozenset(), frozenset())
    first, second = reading.partition(DAY, "none").replicas
    assert first.unreadable == (f"{PATH}/{R1}",)
    assert first.unlike_disk == second.unlike_disk == {PART}


def test_a_lock_is_reported(reading: Reading) -> None:
    reading.bench.hot.create(LOCK, b"part_move on h, process 1", ephemeral=True, makepath=True)
    assert reading.read().lock == "part_move on h, process 1"


def test_disks_are_asked_before_anything_is_read(reading: Reading) -> None:
    """A part that a server merges or drops after the question is read in its later form."""

    class Dropping(SimulatedDisks):
        def parts(self, shard_path: str, replica: str, host: str) -> DiskParts:
            found = super().parts(shard_path, replica, host)
            if replica == "r2":
                reading.bench.servers.insert(DAY)
            return found

    reading.disks = Dropping(reading.bench.servers)
    first = reading.partition().replicas[0]
    assert len(first.active or ()) == 1
    assert len(first.hot) == 2


def test_a_move_in_between_is_seen_twice_rather_than_not_at_all(reading: Reading) -> None:
    bench = reading.bench
    moves = [lambda: bench.beside().move()]
    bench.cold_store.listing = lambda _paths: moves.pop()() if moves else None
    first = reading.partition().replicas[0]
    assert [part.text for part in first.hot] == [part.text for part in first.cold] == [PART]


def test_where_hot_has_no_table(reading: Reading) -> None:
    with pytest.raises(NoSuchTable, match="no replicated table at /none in the hot"):
        reading.reader.read("/none")
    assert reading.reader.read_left_in_cold("/none") is None


def elsewhere(path: str, root: str) -> bytes:
    return ColdMarker(TableId("", 1, 0), HotSide(path, root)).encode()


@pytest.mark.parametrize("marker", [elsewhere("/other", DEFAULT_ROOT), elsewhere(PATH, "/root")])
def test_a_table_of_another_coordination_root_is_refused(reading: Reading, marker: bytes) -> None:
    reading.bench.cold.create(PATH, marker, makepath=True)
    with pytest.raises(BindingConflict):
        reading.read()


def test_a_definition_that_is_not_understood_is_refused(reading: Reading) -> None:
    write("metadata", b"?")(reading.bench)
    with pytest.raises(FormatError):
        reading.read()


# --- what cold has of tables that are gone --------------------------------------------------------


def dropped(reading: Reading, marker: bytes | None = None) -> ShardEvidence | None:
    reading.bench.move()
    reading.bench.servers.drop_table()
    if marker is not None:
        reading.bench.cold.set(PATH, marker)
    return reading.reader.read_left_in_cold(PATH)


def test_what_a_dropped_table_left_in_cold(reading: Reading) -> None:
    evidence = dropped(reading)
    assert evidence is not None
    assert list(evidence.partitions) == [DAY]
    replicas = evidence.partitions[DAY].replicas
    assert [(each.name, each.is_in_hot, each.active) for each in replicas] == [
        ("r1", False, None),
        ("r2", False, None),
    ]
    assert all([part.text for part in each.cold] == [PART] for each in replicas)


def test_what_another_hot_ensemble_has_there_is_not_ours(reading: Reading) -> None:
    assert dropped(reading, elsewhere("/chroot/t", DEFAULT_ROOT)) is None


def test_a_whole_table_in_cold_is_no_leftover(reading: Reading) -> None:
    assert dropped(reading) is not None
    for name in sorted(MARKS_OF_A_SHARD - {"replicas"}):
        create_cold(name)(reading.bench)
    assert reading.reader.read_left_in_cold(PATH) is None
    with pytest.raises(NoSuchTable):
        reading.reader.read_anywhere(PATH)


def test_a_dropped_table_of_another_coordination_root_is_refused(reading: Reading) -> None:
    with pytest.raises(BindingConflict):
        dropped(reading, elsewhere(PATH, "/root"))


def test_a_folder_without_parts_is_nothing(reading: Reading) -> None:
    create_cold("replicas/r1/parts")(reading.bench)
    reading.bench.servers.drop_table()
    assert reading.reader.read_left_in_cold(PATH) is None
