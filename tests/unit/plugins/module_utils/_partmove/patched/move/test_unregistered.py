# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Partitions in neither ensemble, and the answers of the servers about them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import PartMoveError
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.gate import Refusal
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.location import (
    refuse_dropped_or_lost,
    refuse_unregistered,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.names import GateName
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.probe import ActivePart
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.servers import (
    AskServers,
    AssumeActive,
    NoServers,
    ServerCheck,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.move.report import PatchedReport
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.move.to_hot import (
    find_reheatable,
)
from support.memory.arrange import both, delete
from support.memory.bench import DAY, OTHER, PART, PATH, Bench
from support.memory.probe import SimulatedProbe
from support.memory.reheating import cold_bench

KNOWN = "/partmove/cold/%2Fclickhouse%2Ftables%2F01%2Fhits"
NEW = "20300101"
LOST = refuse_unregistered({"r1": [PART], "r2": [PART]})
SILENT = Refusal(GateName.ACTIVE_ON_DISK, "replica r2: no answer", "Start the server and run again")


class Probe(SimulatedProbe):
    """Answers from the disks, and counts the questions.

    after: called after the answer of r2 with this number, starting at 0. silent_from: the number of the
        question
    to r2 from which there is no answer.
    """

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench.servers)
        self.asked = 0
        self.after: dict[int, Callable[[], object]] = {}
        self.silent_from = 1000

    def active_parts(
        self, shard_path: str, replica: str, host: str, partitions: Collection[str]
    ) -> Mapping[str, tuple[ActivePart, ...]]:
        found = super().active_parts(shard_path, replica, host, partitions)
        if replica == "r2":
            self.asked += 1
            if self.asked > self.silent_from:
                raise PartMoveError("no answer")
            self.after.pop(self.asked - 1, lambda: None)()
        return found


def ask(bench: Bench) -> Probe:
    probe = Probe(bench)
    bench.context = bench.context._replace(servers=AskServers(probe))
    return probe


def lose(bench: Bench, *names: str) -> None:
    """Let the cold ensemble lose parts of both replicas."""
    for name in names or (PART,):
        for replica in ("r1", "r2"):
            bench.cold.delete(bench.part(replica, name))


def lose_all(bench: Bench) -> None:
    """Use another cold ensemble, for a table without a note of its cold ensemble in hot."""
    bench.cold.delete(PATH, recursive=True)
    bench.hot.delete(KNOWN)


@pytest.mark.parametrize("losing", [lose, lose_all])
def test_parts_lost_from_cold_are_reported_for_a_whole_shard_path(losing: Callable[[Bench], None]) -> None:
    bench = Bench()
    bench.move(DAY)
    probe = ask(bench)
    losing(bench)
    trees = bench.hot_ensemble.tree(), bench.cold_ensemble.tree()

    assert find_reheatable(bench.context, PATH) == [DAY]
    assert bench.reheat(DAY) == PatchedReport(PATH, failed={DAY: LOST})
    assert (bench.hot_ensemble.tree(), bench.cold_ensemble.tree()) == trees
    assert probe.asked == 3


def test_what_was_dropped_while_it_was_cold_is_passed_over() -> None:
    bench = cold_bench()
    probe = ask(bench)
    assert find_reheatable(bench.context, PATH) == [DAY, OTHER]
    assert probe.asked == 0

    bench.servers.drop(DAY)
    assert find_reheatable(bench.context, PATH) == [OTHER]
    assert probe.asked == 1


@pytest.mark.parametrize("servers", [AssumeActive(), NoServers()])
def test_without_servers_a_lost_partition_is_like_a_dropped_one(servers: ServerCheck) -> None:
    bench = cold_bench()
    bench.context = bench.context._replace(servers=servers)
    lose(bench)
    bench.servers.drop(OTHER)

    assert find_reheatable(bench.context, PATH) == [DAY, OTHER]
    untold = {DAY: refuse_dropped_or_lost(), OTHER: refuse_dropped_or_lost()}
    assert bench.reheat(DAY, OTHER) == PatchedReport(PATH, deferred=untold)
    assert bench.move(DAY, OTHER) == PatchedReport(PATH, deferred=untold)
    assert bench.move(NEW).deferred[NEW].gate is GateName.PARTITION_EXISTS


@pytest.mark.parametrize("answers", [0, 1])
def test_a_silent_server_leaves_the_partition_in_doubt(answers: int) -> None:
    bench = cold_bench()
    lose(bench)
    ask(bench).silent_from = 0
    assert find_reheatable(bench.context, PATH) == [DAY, OTHER]

    ask(bench).silent_from = answers
    assert bench.reheat(DAY) == PatchedReport(PATH, deferred={DAY: SILENT})
    # Where a server answers once, it says that there is nothing to be looked at once more.
    told = SILENT.gate if answers == 0 else GateName.PARTITION_EXISTS
    ask(bench).silent_from = answers
    assert bench.reheat(NEW).deferred[NEW].gate is told


def test_a_part_that_is_registered_meanwhile_is_not_lost() -> None:
    """The servers have the part, and so have the ensembles at the second read."""
    bench = Bench()
    probe = ask(bench)
    parts = {bench.part(replica): bench.hot.get(bench.part(replica))[0] for replica in ("r1", "r2")}
    for path in parts:
        bench.hot.delete(path)
    probe.after = {0: lambda: [bench.hot.create(path, data) for path, data in parts.items()]}

    assert bench.move(DAY).moved.keys() == {DAY}


def test_a_part_that_is_dropped_meanwhile_is_not_lost() -> None:
    bench = cold_bench()
    lose(bench)
    probe = ask(bench)
    probe.after = {0: lambda: bench.servers.drop(DAY)}

    assert {each: refusal.gate for each, refusal in bench.reheat().deferred.items()} == {
        DAY: GateName.PARTITION_EXISTS
    }


def test_a_partition_that_changes_on_disk_is_read_anew() -> None:
    bench = cold_bench()
    lose(bench)
    probe = ask(bench)
    merged = f"{DAY}_0_0_1"
    probe.after = {0: lambda: bench.servers.disk.update(r1={merged}, r2=set())}

    assert bench.reheat().failed == {DAY: refuse_unregistered({"r1": [merged]})}
    assert probe.asked == 4


def test_what_one_server_has_is_lost_too() -> None:
    bench = cold_bench()
    lose(bench)
    ask(bench)
    bench.servers.disk["r2"].discard(PART)

    assert bench.reheat().failed == {DAY: refuse_unregistered({"r1": [PART]})}


def test_registrations_that_go_while_they_are_copied() -> None:
    """Something deletes them in hot; the copies that were made are removed with them."""
    bench = Bench()
    bench.move(OTHER)
    ask(bench)
    unregister = both(*(delete(f"replicas/{each}/parts/{PART}") for each in ("r1", "r2")))
    bench.before_copy(lambda: unregister(bench))

    assert bench.move(DAY).failed == {DAY: LOST}
