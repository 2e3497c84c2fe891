# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Policies follow the records on every replica, and a run waits for readers that began before."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.names import GateName
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.refusals import Refused
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.readers.hidden import (
    hidden_by,
    policy_condition,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.readers.statements import (
    LeftPolicy,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.readers.views import (
    PolicyReaders,
    Replica,
)
from support.memory.between import record
from support.memory.memory import ManualClock
from support.memory.readers import BOTH, READING, MemoryReaderServers
from support.memory.twins import DAY

COMING, GOING = {DAY: record()}, {DAY: record(clones=True)}


def readers_with(servers: MemoryReaderServers, clock: ManualClock | None = None) -> PolicyReaders:
    replicas = [Replica(each, servers.reading(each)._replace(storage="local_directory")) for each in BOTH]
    return PolicyReaders(servers, clock or ManualClock(), replicas, 60.0)


def test_policies_come_change_and_go_and_are_waited_for() -> None:
    servers = MemoryReaderServers()
    readers = readers_with(servers)
    readers.follow({})
    assert not servers.acts
    for records in (COMING, GOING):
        servers.acts.clear()
        readers.follow(records)
        condition = policy_condition(hidden_by(records), BOTH[0])
        assert servers.policies == {"r1": condition, "r2": condition}
        policy = ["CreatePolicy", "AlterPolicy"] if records is COMING else ["AlterPolicy"]
        assert servers.acts == [
            *(f"{replica} {verb} hits_all" for replica in ("r1", "r2") for verb in policy),
            "r1 readers",
            "r2 readers",
        ]
        servers.acts.clear()
        readers.follow(records)
        assert not servers.acts
    readers.follow({})
    assert servers.acts == ["r1 DropPolicy hits_all", "r2 DropPolicy hits_all"]
    assert not servers.policies


def test_a_partition_that_leaves_is_shown_without_a_wait() -> None:
    servers = MemoryReaderServers()
    readers = readers_with(servers)
    other = record()._replace(parts={}, held={}, clones={})
    readers.follow({**COMING, "20200101": other})
    servers.acts.clear()
    readers.follow(COMING)
    assert servers.acts == ["r1 AlterPolicy hits_all", "r2 AlterPolicy hits_all"]


@pytest.mark.parametrize("replica", ["r1", "r2"])
def test_readers_of_every_replica_are_waited_for_and_later_ones_are_not(replica: str) -> None:
    servers, clock = MemoryReaderServers(), ManualClock()
    servers.running[replica] = {"query a": 3}
    began = clock.now()
    reads = 0
    original = servers.readers

    def readers_and_new_ones(tables: object) -> frozenset[str]:
        nonlocal reads
        reads += 1
        servers.running[replica][f"query new {reads}"] = 1_000
        return original(tables)  # type: ignore[arg-type] # it is the one that came

    # The first read is that of the step: what begins later has the new policy.
    readers = readers_with(servers, clock)
    servers_readers = servers.readers
    first = servers_readers(BOTH[0]) | servers_readers(BOTH[1])
    assert first == {"query a"}
    servers.running[replica] = {"query a": 3}
    readers.follow(COMING)
    assert not servers.running[replica]
    assert 0 < clock.now() - began < 1
    servers.readers = readers_and_new_ones  # type: ignore[method-assign]
    readers_of = readers_with(servers, clock)
    servers.running[replica] = {"query b": 2}
    with pytest.raises(Refused, match="query new 1"):
        readers_of.follow(COMING)


def test_a_wait_that_takes_too_long_names_the_reader() -> None:
    servers, clock = MemoryReaderServers(), ManualClock()
    servers.running["r2"] = {"query long": 1_000_000}
    readers = readers_with(servers, clock)
    began = clock.now()
    with pytest.raises(Refused) as refused:
        readers.follow(COMING)
    assert refused.value.refusal.gate is GateName.READERS_DONE
    assert "server of r2: after 60 s" in refused.value.refusal.reason
    assert "query long" in refused.value.refusal.reason
    assert 60 <= clock.now() - began < 63
    # Whoever goes on all the same waits again.
    with pytest.raises(Refused):
        readers.follow(COMING)
    readers.follow({})
    assert not servers.policies


def test_a_server_that_fails_stops_the_move_and_the_next_step_is_waited_for() -> None:
    servers = MemoryReaderServers()
    readers = readers_with(servers)
    readers.follow(COMING)
    servers.fails = True
    with pytest.raises(Refused, match="the server is away"):
        readers.follow(GOING)
    servers.fails = False
    servers.acts.clear()
    # Readers may have begun with the other policy on a replica.
    readers.follow(COMING)
    assert servers.acts == [
        *(
            f"{replica} {verb} hits_all"
            for replica in ("r1", "r2")
            for verb in ("CreatePolicy", "AlterPolicy")
        ),
        "r1 readers",
        "r2 readers",
    ]


def test_policies_of_a_killed_run_are_taken_over_or_removed() -> None:
    servers = MemoryReaderServers(left=(READING,))
    readers = readers_with(servers)
    readers.follow(GOING)
    assert servers.acts[:2] == ["r1 CreatePolicy hits_all", "r1 AlterPolicy hits_all"]
    assert servers.acts[-1] == "r2 readers"
    readers_with(servers).follow({})
    assert not servers.policies


def test_a_run_that_hides_nothing_removes_left_policies_once() -> None:
    servers = MemoryReaderServers(tables=(), left=(READING,))
    readers = readers_with(servers)
    readers.follow(GOING)
    readers.follow({})
    assert servers.acts == ["r1 DropPolicy hits_all", "r2 DropPolicy hits_all"]


def test_a_policy_with_an_older_name_goes_before_the_new_one_comes() -> None:
    """With both in force, readers would miss what either hides."""
    servers = MemoryReaderServers(older=(LeftPolicy("partmove_moving_hits", READING),))
    readers = readers_with(servers)
    readers.follow(COMING)
    assert servers.acts[:3] == [
        "r1 drops partmove_moving_hits",
        "r1 CreatePolicy hits_all",
        "r1 AlterPolicy hits_all",
    ]
    servers.acts.clear()
    readers.follow(GOING)
    assert servers.acts[:2] == ["r1 AlterPolicy hits_all", "r2 AlterPolicy hits_all"]
    readers = readers_with(servers)
    servers.acts.clear()
    readers.follow({})
    assert servers.acts[:2] == ["r1 DropPolicy hits_all", "r1 drops partmove_moving_hits"]


def test_a_left_policy_that_could_not_be_removed_is_still_to_be_removed() -> None:
    servers = MemoryReaderServers(tables=(), left=(READING,))
    readers = readers_with(servers)
    servers.fails = True
    with pytest.raises(Refused, match="the server is away"):
        readers.follow(GOING)
    assert not readers.has_nothing_to_do
    servers.fails = False
    readers.follow(GOING)
    assert readers.has_nothing_to_do
