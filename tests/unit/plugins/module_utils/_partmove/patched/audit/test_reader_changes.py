# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Evidence from members that are behind, of tables that change meanwhile, and of what is left of them."""

from __future__ import annotations

from collections.abc import Callable
from math import inf

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.binding.owner import Owner
from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import NoSuchTable
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.evidence import DiskParts
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.reader import (
    EvidenceReader,
    ShardEvidence,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.replicas import (
    NO_PARTITION,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.paths import DEFAULT_ROOT
from support.memory.arrange import create_cold, mark_of_other_cluster, mark_without_path
from support.memory.behind import Behind
from support.memory.bench import DAY, PATH, Bench
from support.memory.disks import SimulatedDisks


class Asking(SimulatedDisks):
    """Does something once, when the first server is asked."""

    def __init__(self, bench: Bench, act: Callable[[], object]) -> None:
        super().__init__(bench.servers)
        self._acts = [act]

    def parts(self, shard_path: str, replica: str, host: str) -> DiskParts:
        """As Disks does."""
        found = super().parts(shard_path, replica, host)
        if self._acts:
            self._acts.pop()()
        return found


@pytest.fixture
def bench() -> Bench:
    return Bench()


def read(bench: Bench, act: Callable[[], object] = lambda: None) -> ShardEvidence:
    reader = EvidenceReader(
        bench.hot_store, bench.cold_store, Asking(bench, act), bench.clock, DEFAULT_ROOT, at_once=1
    )
    return reader.read_anywhere(PATH)


def hot_behind(bench: Bench) -> Behind:
    """Let the bench read hot from a member that can fall behind."""
    behind = Behind(bench.hot_ensemble)
    bench.hot_store = behind
    return behind


def cold_behind(bench: Bench) -> Behind:
    """Let the bench read cold from a member that can fall behind."""
    behind = Behind(bench.cold_ensemble)
    bench.cold_store = behind
    return behind


def test_a_server_that_has_stopped_meanwhile_may_need_copies(bench: Bench) -> None:
    bench.move()
    bench.reheat()
    behind = hot_behind(bench)
    behind.fall_behind()
    bench.servers.stop("r2")
    assert read(bench).partitions[DAY].seconds_needed == inf


def test_a_part_that_came_while_servers_were_asked(bench: Bench) -> None:
    behind = hot_behind(bench)

    def insert() -> None:
        behind.fall_behind()
        bench.servers.insert(DAY)

    first = read(bench, insert).partitions[DAY].replicas[0]
    assert len(first.hot) == 2


def test_parts_that_went_to_cold_while_servers_were_asked(bench: Bench) -> None:
    other = bench.beside()
    behind = cold_behind(bench)

    def move() -> None:
        behind.fall_behind()
        other.move()

    first = read(bench, move).partitions[DAY].replicas[0]
    assert len(first.cold) == 1


def test_a_table_that_was_dropped_while_servers_were_asked(bench: Bench) -> None:
    with pytest.raises(NoSuchTable):
        read(bench, bench.servers.drop_table)


def test_what_a_table_left_in_cold_although_a_member_does_not_show_it_yet(bench: Bench) -> None:
    other = bench.beside()
    behind = cold_behind(bench)
    behind.fall_behind()
    other.move()
    bench.servers.drop_table()
    evidence = read(bench)
    assert list(evidence.partitions) == [DAY]
    assert evidence.partitions[DAY].replicas[0].cold


def test_the_wait_of_a_reader_is_that_of_the_clock(bench: Bench) -> None:
    before = bench.clock.now()
    EvidenceReader(
        bench.hot_store, bench.cold_store, SimulatedDisks(bench.servers), bench.clock, DEFAULT_ROOT
    ).wait(7.0)
    assert bench.clock.now() == before + 7.0


def test_servers_that_do_not_answer(bench: Bench) -> None:
    disks = SimulatedDisks(bench.servers)
    reader = EvidenceReader(bench.hot_store, bench.cold_store, disks, bench.clock, DEFAULT_ROOT)
    assert reader.read(PATH).silent == {}
    disks.silent.add("r2")
    assert reader.read(PATH).silent.keys() == {"r2"}


def test_names_that_no_part_has_are_leftovers_as_well(bench: Bench) -> None:
    create_cold("replicas/r1/parts/junk")(bench)
    bench.servers.drop_table()
    (odd,) = read(bench).partitions[NO_PARTITION].replicas
    assert (odd.is_in_hot, odd.unreadable) == (False, (f"{PATH}/replicas/r1/parts/junk",))


def test_what_another_cluster_has_in_cold_is_no_leftover(bench: Bench) -> None:
    bench.move()
    mark_of_other_cluster(bench)
    bench.servers.drop_table()
    with pytest.raises(NoSuchTable):
        read(bench)


def test_leftovers_with_a_marker_that_names_no_path(bench: Bench) -> None:
    bench.move()
    mark_without_path(bench)
    bench.servers.drop_table()
    assert read(bench).owner is Owner.FORMER


def test_each_server_is_asked_at_the_host_that_its_replica_registers(bench: Bench) -> None:
    bench.hot.set(f"{PATH}/replicas/r1/host", b"host: h1\nport: 9009\n")
    bench.hot.delete(f"{PATH}/replicas/r2/host")
    hosts: dict[str, str] = {}

    class Recording(SimulatedDisks):
        def parts(self, shard_path: str, replica: str, host: str) -> DiskParts:
            hosts[replica] = host
            return super().parts(shard_path, replica, host)

    disks = Recording(bench.servers)
    EvidenceReader(bench.hot_store, bench.cold_store, disks, bench.clock, DEFAULT_ROOT).read(PATH)
    assert hosts == {"r1": "host: h1\nport: 9009\n", "r2": ""}


@pytest.mark.parametrize("folder", ["replicas", "block_numbers"])
def test_a_table_without_a_folder(bench: Bench, folder: str) -> None:
    bench.hot.delete(f"{PATH}/{folder}", recursive=True)
    evidence = read(bench)
    assert DAY in evidence.partitions
    assert bool(evidence.partitions[DAY].replicas) is (folder != "replicas")


def test_cold_is_known_by_the_record_in_hot_if_there_is_one(bench: Bench) -> None:
    assert not read(bench).partitions[DAY].cold_is_known
    create_cold("replicas/r1/parts")(bench)
    assert read(bench).partitions[DAY].cold_is_known
    bench.move()
    assert read(bench).partitions[DAY].cold_is_known
    bench.cold_store = Bench().cold_store
    assert not read(bench).partitions[DAY].cold_is_known
