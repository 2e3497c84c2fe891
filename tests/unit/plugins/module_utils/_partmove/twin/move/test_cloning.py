# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""ATTACH is executed only where no clone is, and clones are adopted or dropped before another ATTACH."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import NotPermitted
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.names import GateName
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import (
    KnownClones,
    Side,
)
from support.memory.interleaving import Died, Script
from support.memory.twins import DAY, TwinBench, Twins

BOTH_WAYS = pytest.mark.parametrize("destination", list(Side), ids=lambda side: f"to {side.value}")


def killed_after_attach(destination: Side) -> TwinBench:
    """A run that was killed right after the ATTACH, and servers that have forgotten what they cloned."""
    trace = Script()
    TwinBench(Twins(("a",), ("b", "c"), at=destination.other)).run(destination, trace)
    bench = TwinBench(Twins(("a",), ("b", "c"), at=destination.other))
    script = Script()
    script.actions[trace.trace.index("servers attach") + 1] = script.die
    with suppress(Died):
        bench.run(destination, script)
    assert bench.records
    assert len(bench.twins.tables[destination].parts) == 2
    bench.twins.forget_clones()
    bench.servers.statements.clear()
    return bench


@BOTH_WAYS
def test_clones_of_a_killed_run_are_adopted(destination: Side) -> None:
    bench = killed_after_attach(destination)
    assert bench.run(destination).moved.keys() == {DAY}
    assert not any(each.startswith("attach") for each in bench.servers.statements)
    assert bench.twins.rows == bench.twins.inserted


@pytest.mark.parametrize("is_merged", [False, True])
def test_clones_of_a_killed_run_are_undone_if_the_twin_has_something_newer(is_merged: bool) -> None:
    """Each run would clone the parts again otherwise: 6 rows became 24."""
    bench = killed_after_attach(Side.COLD)
    bench.twins.insert(Side.HOT, ("late",))
    if is_merged:
        bench.twins.merge(Side.HOT)
    for _run in range(3):
        bench.run(Side.COLD)
        assert bench.twins.rows == bench.twins.inserted
    assert bench.twins.tables[Side.COLD].rows == bench.twins.inserted


def test_an_insert_that_equals_a_clone_stays_beside_the_clones_of_a_killed_run() -> None:
    bench = killed_after_attach(Side.HOT)
    bench.twins.insert(Side.HOT, ("a",))
    bench.run(Side.HOT)
    assert bench.twins.rows == {"a": 2, "b": 1, "c": 1}
    assert not bench.twins.tables[Side.COLD].parts
    assert not bench.records


def test_an_insert_that_may_be_a_clone_needs_manual_action() -> None:
    """The log is gone, and nobody can tell."""
    bench = killed_after_attach(Side.HOT)
    bench.twins.trim_logs()
    report = bench.run(Side.HOT)
    assert report.failed[DAY].gate is GateName.TWIN_KNOWN
    assert "is a clone or was inserted" in report.failed[DAY].reason
    assert not bench.servers.statements
    assert bench.records


def test_a_structure_that_changed_since_the_run_began_is_refused() -> None:
    bench = TwinBench(Twins(("a",)))
    bench.twins.structure[Side.HOT] = "(a UInt16)"
    assert bench.run(Side.COLD).deferred[DAY].gate is GateName.TWIN_ALIKE
    assert not bench.servers.statements


def ended(destination: Side, effect: str, *partitions: str, log: bool = True) -> TwinBench:
    """Partitions of which servers end the ATTACH of DAY with an error, with this effect.

    log: whether the log of the destination has an entry, so that it shows what is newer.
    """
    twins = Twins(("a",), ("b", "c"), at=destination.other)
    for each in partitions:
        twins.insert(destination.other, (each,), each)
    if log:
        for _entry in range(2):
            twins.log[destination].append(("", []))
    bench = TwinBench(twins)
    bench.servers.ended = {DAY: effect}
    return bench


@BOTH_WAYS
def test_an_attach_that_ended_without_an_effect_leaves_no_record(destination: Side) -> None:
    """Otherwise a partition that servers always refuse would keep every other statement from the tables."""
    bench = ended(destination, "nothing")
    for _run in range(2):
        report = bench.run(destination)
        assert report.deferred[DAY].gate is GateName.TWIN_READY
        assert report.deferred[DAY].reason == f"partition {DAY} ended in an error"
        assert report.deferred[DAY].remedy == "See the log"
        assert not bench.records
    assert bench.twins.rows == bench.twins.inserted
    bench.servers.ended = {}
    assert bench.run(destination).moved.keys() == {DAY}
    assert bench.twins.tables[destination].rows == bench.twins.inserted


@BOTH_WAYS
@pytest.mark.parametrize("effect", ["registered", "cloned"])
def test_an_attach_that_ended_and_may_have_an_effect_keeps_its_record(destination: Side, effect: str) -> None:
    """Clones may be registered that no replica shows yet."""
    bench = ended(destination, effect)
    report = bench.run(destination)
    assert report.deferred[DAY].reason == f"partition {DAY} ended in an error"
    assert len(bench.records) == 1
    if effect == "cloned":
        bench.servers.ended = {}
        assert bench.run(destination).moved.keys() == {DAY}
        assert bench.twins.tables[destination].rows == bench.twins.inserted


@BOTH_WAYS
def test_an_attach_that_ended_keeps_its_record_if_no_log_shows_its_effect(destination: Side) -> None:
    bench = ended(destination, "nothing", log=False)
    bench.twins.log[destination].clear()
    assert DAY in bench.run(destination).deferred
    assert len(bench.records) == 1


@BOTH_WAYS
def test_an_attach_that_ended_keeps_its_record_if_a_server_does_not_show_the_log(destination: Side) -> None:
    bench = ended(destination, "nothing")

    def silent(*_asked: object) -> Mapping[str, KnownClones]:
        raise NotPermitted("no right to system.zookeeper")

    bench.servers.known_clones = silent  # type: ignore[method-assign, assignment]
    assert bench.run(destination).deferred[DAY].reason == f"partition {DAY} ended in an error"
    assert len(bench.records) == 1


@BOTH_WAYS
@pytest.mark.parametrize("effect", ["nothing", "cloned"])
def test_a_partition_whose_attach_ends_in_an_error_keeps_no_other_from_moving(
    destination: Side, effect: str
) -> None:
    bench = ended(destination, effect, "20191130", "20191202")
    before, after = "20191130", "20191202"
    days = (before, DAY, after)
    report = bench.run(destination, partitions=days)
    assert report.moved.keys() == {after}
    # What was cloned before the error is finished by the next run.
    assert report.deferred.keys() == {before, DAY}
    assert len(bench.records) == (1 if effect == "nothing" else 2)
    second = bench.run(destination, partitions=days)
    assert second.moved.keys() == ({before} if effect == "nothing" else {before, DAY})
    bench.servers.ended = {}
    bench.run(destination, partitions=days)
    assert not bench.records
    assert bench.twins.rows == bench.twins.inserted
    assert all(not bench.twins.of(each)[destination.other].parts for each in days)


@BOTH_WAYS
def test_a_run_that_is_killed_after_an_attach_that_ended_is_continued(destination: Side) -> None:
    trace = Script()
    ended(destination, "nothing").run(destination, trace)
    attached = trace.trace.index("servers attach")
    for number in range(attached, len(trace.trace)):
        bench = ended(destination, "nothing")
        script = Script()
        script.actions[number] = script.die
        with suppress(Died):
            bench.run(destination, script)
        bench.servers.ended = {}
        bench.run(destination)
        assert not bench.records, trace.trace[number]
        assert bench.twins.tables[destination].rows == bench.twins.inserted
