# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Gates keep a partition where it is, each with its reason."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.names import GateName
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import (
    ActivityInProgress,
    Side,
    TwinTables,
)
from support.memory.twins import DAY, TwinBench, Twins

ROWS = ("a", "b")
A = "(a) E() SETTINGS"
"""How a definition begins whose settings follow."""
Change = Callable[[TwinTables], TwinTables]


@pytest.fixture
def bench() -> TwinBench:
    return TwinBench(Twins(ROWS, ("c",)))


def gate_of(bench: TwinBench, destination: Side = Side.COLD, **options: float) -> tuple[GateName, str]:
    """Return the gate and the reason of the deferred partition; the run must not have changed anything."""
    report = bench.run(destination, **options)  # type: ignore[arg-type]
    assert not bench.servers.statements
    assert not bench.records
    assert not report.is_changed
    refusal = report.deferred[DAY]
    assert refusal.remedy
    return refusal.gate, refusal.reason


def cold(**fields: object) -> Change:
    return lambda tables: tables._replace(cold=tables.cold._replace(**fields))  # type: ignore[arg-type]


def hot(**fields: object) -> Change:
    return lambda tables: tables._replace(hot=tables.hot._replace(**fields))  # type: ignore[arg-type]


def only(replica: str, change: Change) -> Change:
    return lambda tables: change(tables) if tables.replica.name == replica else tables


@pytest.mark.parametrize(
    ("change", "gate", "reason"),
    [
        (hot(name=".inner_id.1"), GateName.NOT_INNER, "server of r1: db..inner_id.1 is the inner table"),
        (cold(name=".inner.daily"), GateName.NOT_INNER, "db..inner.daily is the inner table of a view"),
        (cold(problem="has no session"), GateName.TWIN_READY, "db.hits_cold has no session"),
        (hot(problem="has no session"), GateName.TWIN_READY, "db.hits has no session"),
        (only("r2", cold(active_replicas=1)), GateName.TWIN_READY, "server of r2: db.hits_cold has 1 of 2"),
        (cold(total_replicas=3, active_replicas=3), GateName.TWIN_READY, "the hot ensemble registers 2"),
        (hot(total_replicas=3, active_replicas=3), GateName.TWIN_READY, "the hot ensemble registers 2"),
        (cold(replica="other"), GateName.TWIN_READY, "is replica other"),
        (
            lambda tables: cold(replicas=("r1", "r2", "r3"), total_replicas=3)(
                hot(replicas=("r1", "r2"))(tables)
            ),
            GateName.TWIN_READY,
            "which db.hits lacks: if it is gone for good, run SYSTEM DROP REPLICA 'r3' FROM TABLE db.hits_",
        ),
        (
            only(
                "r2",
                lambda tables: cold(definition=f"{A} x = 2, storage_policy = 'b'")(
                    hot(definition=f"{A} x = 2, storage_policy = 'b'")(tables)
                ),
            ),
            GateName.TWIN_ALIKE,
            "db.hits differs from server of r1",
        ),
        (cold(definition="(a UInt16)"), GateName.TWIN_ALIKE, "db.hits and db.hits_cold differ"),
        (
            only("r2", lambda tables: cold(definition="(b)")(hot(definition="(b)")(tables))),
            GateName.TWIN_ALIKE,
            "db.hits differs from server of r1",
        ),
        (
            only(
                "r2",
                lambda tables: cold(definition=f"{A} x = 1")(hot(definition=f"{A} x = 'b, y = 2'")(tables)),
            ),
            GateName.TWIN_ALIKE,
            "server of r2: db.hits and db.hits_cold differ: x = 'b, y = 2' and x = 1",
        ),
        (
            lambda tables: cold(definition=f"{A} x = 1")(
                hot(definition=f"{A} x = 1, storage_policy = 'b'")(tables)
            ),
            GateName.TWIN_ALIKE,
            "differ: storage_policy = 'b' and without storage_policy",
        ),
        (
            lambda tables: cold(definition="(a) E()")(hot(definition=f"{A} x = 1")(tables)),
            GateName.TWIN_ALIKE,
            "differ: x = 1 and without x",
        ),
        (
            lambda tables: cold(definition="(b) E() SETTINGS x = 1")(hot(definition=f"{A} x = 2")(tables)),
            GateName.TWIN_ALIKE,
            "differ: '(a) E() SETTINGS x = 2' and '(b) E() SETTINGS x = 1'",
        ),
        (
            lambda tables: cold(definition=f"{A} x = 1, y = 2")(hot(definition=f"{A} y = 2, x = 1")(tables)),
            GateName.TWIN_ALIKE,
            "differ: '(a) E() SETTINGS y = 2, x = 1' and '(a) E() SETTINGS x = 1, y = 2'",
        ),
        (cold(ensemble="default"), GateName.TWIN_ALIKE, "is in the default ensemble"),
        (hot(ensemble="other"), GateName.TWIN_ALIKE, "and not at /tables/01/hits of the default"),
        (hot(path="/other"), GateName.TWIN_ALIKE, "is at default:/other"),
        (only("r2", cold(path="/other")), GateName.TWIN_ALIKE, "is at cold:/other, and at cold:/tables"),
    ],
)
def test_unfit_tables_defer(bench: TwinBench, change: Change, gate: GateName, reason: str) -> None:
    bench.servers.change = change
    found, said = gate_of(bench)
    assert found is gate
    assert reason in said


def test_replicas_may_have_their_own_storage_policies(bench: TwinBench) -> None:
    def change(tables: TwinTables) -> TwinTables:
        policy = f"(a) E() SETTINGS storage_policy = '{tables.replica.name}'"
        return cold(definition=policy)(hot(definition=policy)(tables))

    bench.servers.change = change
    assert DAY in bench.run(Side.COLD).moved


DIFFERENT = {
    "settings of replicas": ({"r1": "(a) E() SETTINGS x = 1", "r2": "(a) E() SETTINGS x = 2"}, {}),
    "columns of replicas": ({"r1": "(a) E() SETTINGS x = 1", "r2": "(b) E() SETTINGS x = 1"}, {}),
    "policies of a replica": (
        {"r1": "(a) E() SETTINGS storage_policy = 'x'", "r2": "(a) E() SETTINGS storage_policy = 'x'"},
        {"r2": "(a) E() SETTINGS storage_policy = 'y'"},
    ),
}


@pytest.mark.parametrize("kind", DIFFERENT)
def test_tables_that_differ_move_nothing(bench: TwinBench, kind: str) -> None:
    hot_by_replica, cold_by_replica = DIFFERENT[kind]

    def change(tables: TwinTables) -> TwinTables:
        definition = hot_by_replica[tables.replica.name]
        twin = cold_by_replica.get(tables.replica.name, definition)
        return cold(definition=twin)(hot(definition=definition)(tables))

    bench.servers.change = change
    assert gate_of(bench)[0] is GateName.TWIN_ALIKE


def test_a_replica_that_the_twin_lacks_is_no_dropped_one(bench: TwinBench) -> None:
    bench.servers.change = lambda tables: cold(replicas=("r1",), total_replicas=1)(
        hot(replicas=("r1", "r2"))(tables)
    )
    assert "has 2 of 1 replicas active" in gate_of(bench)[1]


@pytest.mark.parametrize("replica", ["r1", "r2"])
@pytest.mark.parametrize(
    ("activity", "gate", "reason"),
    [
        (
            ActivityInProgress(["a mutation is not done"], {}, {"default": 100}, 9e9),
            GateName.TWIN_AT_REST,
            "a mutation",
        ),
        (ActivityInProgress((), {DAY: ["a merge"]}, {"default": 100}, 9e9), GateName.TWIN_AT_REST, "a merge"),
        (ActivityInProgress((), {}, {"default": 99}, 9e9), GateName.ROOM_FOR_CLONES, "99 bytes is free"),
        (ActivityInProgress((), {}, {}, 9e9), GateName.ROOM_FOR_CLONES, "an unknown amount"),
        (
            ActivityInProgress((), {}, {"default": 100}, 9e9, {"default": "it is broken"}),
            GateName.LINKS_MADE,
            "is broken",
        ),
        (
            ActivityInProgress((), {}, {"default": 100}, 9e9, {"": "a setting is on"}),
            GateName.LINKS_MADE,
            "a setting",
        ),
        (
            ActivityInProgress((), {}, {"default": 100}, 9e9, shared={"default": "zero-copy is on"}),
            GateName.NO_SHARED_STORAGE,
            "zero-copy is on, so that an ATTACH would fail or copy all data",
        ),
    ],
)
def test_activity_defers_with_its_reason(
    bench: TwinBench, replica: str, activity: ActivityInProgress, gate: GateName, reason: str
) -> None:
    bench.servers.unrests = {replica: activity}
    found, said = gate_of(bench)
    assert found is gate
    assert f"server of {replica}" in said
    assert reason in said


def test_a_young_partition_is_refused_for_what_does_not_end_with_its_age(bench: TwinBench) -> None:
    """An exchange of names ends its age alone."""
    shared = ActivityInProgress((), {}, {"default": 100}, 9e9, shared={"default": "zero-copy is on"})
    bench.servers.unrests = {"r1": shared._replace(now=bench.servers.now)}
    bench.servers.modified = bench.servers.now - 59
    assert gate_of(bench, min_age=60)[0] is GateName.NO_SHARED_STORAGE


def test_activity_of_another_partition_does_not_defer(bench: TwinBench) -> None:
    no_links = {"another": "it is broken"}
    bench.servers.unrests = {
        "r1": ActivityInProgress((), {"other": ["a merge"]}, {"default": 100}, 9e9, no_links, no_links)
    }
    assert bench.run(Side.COLD).moved.keys() == {DAY}


@pytest.mark.parametrize("side", list(Side))
def test_a_lagging_replica_defers(bench: TwinBench, side: Side) -> None:
    table = bench.twins.tables[side]
    bench.twins.insert(side, ("late",))
    table.late_on_r2 = {max(table.parts)}
    assert gate_of(bench)[0] is GateName.TWIN_EVEN


def test_young_parts_stay_in_hot(bench: TwinBench) -> None:
    bench.servers.modified = bench.servers.now - 59
    assert gate_of(bench, min_age=60) == (
        GateName.OLD_ENOUGH,
        "its newest part is 59 s old on server of r1, min_age is 60 s",
    )
    assert bench.run(Side.COLD, min_age=59).moved.keys() == {DAY}
    assert bench.run(Side.HOT, min_age=60).moved.keys() == {DAY}


def test_equal_parts_in_the_source_defer(bench: TwinBench) -> None:
    bench.twins.insert(Side.HOT, ROWS)
    assert gate_of(bench)[0] is GateName.PARTS_DISTINCT


@pytest.mark.parametrize("destination", list(Side))
def test_equal_parts_in_both_tables_without_a_record_defer(destination: Side) -> None:
    bench = TwinBench(Twins(ROWS, at=Side.HOT))
    bench.twins.insert(Side.COLD, ROWS)
    assert gate_of(bench, destination)[0] is GateName.TWIN_APART


def test_an_absent_partition_defers() -> None:
    bench = TwinBench(Twins())
    assert gate_of(bench)[0] is GateName.PARTITION_EXISTS
