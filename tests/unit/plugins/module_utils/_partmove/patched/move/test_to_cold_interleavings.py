# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A move with another action between every two of its operations, one place after the other.

``support.memory.interleaving`` checks the invariants of the protocol after every step. These tests check the
end of the run: its report is true, and running again reaches the desired state.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from itertools import combinations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import NoSuchTable
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.move.report import PatchedReport
from support.memory.acts import ON_THE_PARTITION, ON_THE_TABLE, Act, perform
from support.memory.interleaving import Died, Lost, Script
from support.memory.scene import (
    BEHIND,
    MODERN,
    OLD,
    OLD_BEHIND,
    OTHER,
    PATH,
    TARGET,
    TWO_PARTS_BEHIND,
    WANTED,
    Kind,
    Scene,
    copy_of,
    trace_of,
)
from support.memory.simulated import SimulatedServers
from support.whole_only import every_other

pytestmark = pytest.mark.long(minutes=1)

every_kind = pytest.mark.parametrize("kind", [MODERN, OLD, BEHIND], ids=["modern", "old", "behind"])


def judge(scene: Scene, report: PatchedReport) -> None:
    """What a report says is so."""
    for each in WANTED:
        told = [
            word for word in ("moved", "unchanged", "deferred", "failed") if each in getattr(report, word)
        ]
        assert len(told) == 1
        where = scene.where(each)
        if told[0] == "moved":
            assert where.is_cold
        elif told[0] == "unchanged":
            assert where.state == b"COLD"
            assert not any(where.hot.values())
            assert where.covered_by(where.cold)
        elif told[0] == "deferred" and report.deferred[each].gate == "partition_exists":
            assert not any(where.disk.values())
            assert not where.stale
        elif told[0] == "deferred" and report.deferred[each].gate == "not_drifted":
            assert not where.is_cold
        elif told[0] == "deferred":
            assert where.state != b"COLD"
            assert where.covered_by(where.hot)
            assert not where.stale
        else:
            assert report.failed[each].gate in ("late_insert", "copies_kept", "active_on_disk")


@every_kind
def test_a_process_that_dies(kind: Kind) -> None:
    """Another run comes to the same end as if it had not."""
    clean = copy_of(Scene, kind)
    clean.run()
    for number, operation in enumerate(trace_of(kind)):
        scene, script = copy_of(Scene, kind), Script()
        script.actions[number] = script.die
        with pytest.raises(Died):
            scene.run(script)
        scene.expire()
        report = scene.run()
        judge(scene, report)
        assert not report.deferred, operation
        assert not report.failed, operation
        assert scene.tables() == clean.tables(), operation


@every_kind
@pytest.mark.parametrize("lost", Lost)
def test_an_answer_that_is_lost(kind: Kind, lost: Lost) -> None:
    clean = copy_of(Scene, kind)
    clean.run()
    for number, operation in enumerate(trace_of(kind)):
        if " commit " in operation:
            scene = copy_of(Scene, kind)
            report = scene.run(Script(lost={number: lost}))
            judge(scene, report)
            assert report.moved.keys() == {TARGET, OTHER}, operation
            assert scene.tables() == clean.tables(), operation


@every_kind
def test_a_session_that_expires(kind: Kind) -> None:
    clean = copy_of(Scene, kind)
    clean.run()
    for number, operation in enumerate(trace_of(kind)):
        scene, script = copy_of(Scene, kind), Script()
        script.actions[number] = scene.expire
        report = scene.run(script)
        judge(scene, report)
        assert report.moved.keys() == {TARGET, OTHER}, operation
        assert scene.tables() == clean.tables(), operation


@every_kind
def test_a_run_that_is_paused_while_another_one_runs(kind: Kind) -> None:
    clean = copy_of(Scene, kind)
    clean.run()
    for number, operation in enumerate(trace_of(kind)):
        scene, script = copy_of(Scene, kind), Script()

        def take_over(scene: Scene = scene) -> None:
            scene.expire()
            judge(scene, scene.run())

        script.actions[number] = take_over
        report = scene.run(script)
        judge(scene, report)
        assert not report.deferred, operation
        assert not report.failed, operation
        assert scene.tables() == clean.tables(), operation


@every_kind
def test_a_run_that_is_paused_while_another_one_begins(kind: Kind) -> None:
    """The other run dies right after it took the lease, so all work is left to do."""
    clean = copy_of(Scene, kind)
    clean.run()
    for number, operation in enumerate(trace_of(kind)):
        scene, script = copy_of(Scene, kind), Script()
        script.actions[number] = scene.take_lease
        report = scene.run(script)
        judge(scene, report)
        assert report.moved.keys() == {TARGET, OTHER}, operation
        assert scene.tables() == clean.tables(), operation


ACTS = [
    *((MODERN, act, name) for name, act in (ON_THE_PARTITION | ON_THE_TABLE).items()),
    *((BEHIND, act, f"behind, {name}") for name, act in (ON_THE_PARTITION | ON_THE_TABLE).items()),
    *((OLD_BEHIND, act, f"old, behind, {name}") for name, act in ON_THE_PARTITION.items()),
    *(
        (TWO_PARTS_BEHIND, ON_THE_PARTITION[name], f"two parts, behind, {name}")
        for name in ("assign a merge", "merge", "drop")
    ),
]

# The operations with which a move looks for what the acts did, for the last time.
LAST_LOOKS = {
    "add a replica": "hot children .*/replicas$",
    "drop the table": f"hot read {PATH}$",
}
LAST_LOOK_AT_PARTS = "hot children .*/parts$"


STRIDE = 9
"""Two things at once are tried at every so manieth operation: all of them would take minutes."""


def run_and_judge(scene: Scene, script: Script, last_look: str, acted_at: int) -> None:
    """Run twice; a change after the last read is not the fault of the first report."""
    try:
        report = scene.run(script)
        if acted_at <= script.last_look(last_look, behind=scene.behind) and not scene.servers.times_made:
            judge(scene, report)
        scene.servers.catch_up()
        scene.watch.check()
        judge(scene, scene.run())
    except NoSuchTable:
        assert not scene.servers.disk
    except AssertionError as error:
        raise AssertionError(f"acted before {acted_at}, {script.trace[acted_at]}") from error


@pytest.mark.parametrize(("kind", "act", "name"), ACTS, ids=[name for _kind, _act, name in ACTS])
def test_a_server_that_acts(kind: Kind, act: Act, name: str) -> None:
    last_look = LAST_LOOKS.get(
        name.removeprefix("behind, ").removesuffix(" that fetches"), LAST_LOOK_AT_PARTS
    )
    # Where MODERN has the even operations of an act, the other kinds have the odd ones.
    first = [*ON_THE_PARTITION, *ON_THE_TABLE].index(name.rpartition(", ")[2]) + (kind is MODERN)
    for number in every_other(len(trace_of(kind)), first):
        scene, script = copy_of(Scene, kind), Script()
        script.actions[number] = perform(scene, act)
        run_and_judge(scene, script, last_look, number)


BEGINNINGS: dict[str, Callable[[SimulatedServers], Callable[[], None]]] = {
    "insert": lambda servers: servers.begin_insert(TARGET),
    "merge": lambda servers: servers.begin_merge(TARGET),
}


@pytest.mark.parametrize("name", BEGINNINGS)
def test_a_server_that_begins_and_ends(name: str) -> None:
    """An insert that holds a block number, and a merge that was decided but not assigned yet."""
    operations = range(len(trace_of(BEHIND)))
    for begun, ended in combinations(operations[::STRIDE], 2):
        scene, script = copy_of(Scene, BEHIND), Script()

        def begin(scene: Scene = scene, script: Script = script, ended: int = ended) -> None:
            end = BEGINNINGS[name](scene.servers)
            script.actions[ended] = perform(scene, lambda _servers: end())

        script.actions[begun] = begin
        run_and_judge(scene, script, LAST_LOOK_AT_PARTS, ended)


@pytest.mark.parametrize("name", ["insert", "insert and fetch", "merge", "assign a drop", "drop"])
def test_a_server_that_acts_before_the_process_dies(name: str) -> None:
    operations = range(len(trace_of(BEHIND)))
    for acted, died in combinations(operations[::STRIDE], 2):
        scene, script = copy_of(Scene, BEHIND), Script()
        script.actions[acted] = perform(scene, ON_THE_PARTITION[name])
        script.actions[died] = script.die
        with suppress(Died):
            scene.run(script)
        scene.expire()
        scene.servers.catch_up()
        scene.watch.check()
        judge(scene, scene.run())


@pytest.mark.parametrize("lost", Lost)
@pytest.mark.parametrize("name", ["insert", "merge", "drop", "restart a server"])
def test_a_server_that_acts_while_an_answer_is_lost(name: str, lost: Lost) -> None:
    act = (ON_THE_PARTITION | ON_THE_TABLE)[name]
    operations = trace_of(BEHIND)
    commits = [number for number, operation in enumerate(operations) if " commit " in operation]
    for number in commits:
        for acted in range(max(0, number - 6), min(number + 12, len(operations))):
            scene, script = copy_of(Scene, BEHIND), Script(lost={number: lost})
            script.actions[acted] = perform(scene, act)
            run_and_judge(scene, script, LAST_LOOK_AT_PARTS, acted)


@pytest.mark.parametrize("name", ["insert", "add a replica", "remove a replica"])
def test_a_server_that_acts_before_the_session_expires(name: str) -> None:
    act = (ON_THE_PARTITION | ON_THE_TABLE)[name]
    operations = range(len(trace_of(BEHIND)))
    for acted, expired in combinations(operations[len(operations) // 2 :: STRIDE // 2], 2):
        scene, script = copy_of(Scene, BEHIND), Script()
        script.actions[acted] = perform(scene, act)
        script.actions[expired] = scene.expire
        run_and_judge(scene, script, LAST_LOOKS.get(name, LAST_LOOK_AT_PARTS), acted)
