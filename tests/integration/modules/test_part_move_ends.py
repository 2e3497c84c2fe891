# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A run that ends early, by a signal or because an ensemble is gone, tells what it did and tidies up."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from kazoo.client import KazooClient

from support.ansible.calls import Call, answer_of, start_module
from support.ansible.modules import ASSUMED, Pair, partitions_of
from support.memory.tables import Table, build_table, days
from support.servers.keeper.ensemble import KeeperStandIn
from support.servers.replicated import wait_for
from support.servers.zookeeper import Ensemble

FIRST = days(1)[0]


@pytest.fixture
def second(pair: Pair) -> Table:
    """A table whose shard path comes after that of `table`."""
    return build_table(pair.hot, f"{pair.base}/visits")


def lock_path(pair: Pair, table: Table) -> str:
    """Return where the lock of the table's shard path is while somebody has it."""
    return f"{pair.options['coordination_root']}/locks/{table.path.replace('/', '%2F')}"


def hold_lock(client: KazooClient, pair: Pair, table: Table) -> None:
    """Take the lock of the table's shard path, as another run does."""
    client.create(lock_path(pair, table), b"another run", ephemeral=True, makepath=True)


def is_done_with(pair: Pair, table: Table) -> bool:
    """Whether a run has moved the first partition and given the lock back."""
    return table.state(FIRST) == b"COLD" and pair.hot.exists(lock_path(pair, table)) is None


@contextmanager
def running(args: dict[str, Any]) -> Iterator[subprocess.Popen[str]]:
    """Run the module in the background; it is over in the end."""
    process = start_module(Call("part_move", args))
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP], ids=lambda each: each.name)
def test_signal_ends_the_run_with_what_it_did(
    pair: Pair, table: Table, second: Table, hot: Ensemble | KeeperStandIn, number: signal.Signals
) -> None:
    hold_lock(pair.hot, pair, second)
    wanted = [*partitions_of(table, FIRST), *partitions_of(second)]
    sessions = sessions_of(hot)
    with running({**pair.options, **ASSUMED, "partitions": wanted, "lock_wait": "10m"}) as process:
        wait_for(lambda: is_done_with(pair, table))
        process.send_signal(number)
        result = answer_of(process)
    assert result["failed"]
    assert result["msg"] == (
        f"The run was stopped by {number.name}. All steps so far remain valid; run again to continue."
    )
    assert result["changed"]
    assert [each["partition"] for each in result["moved"]] == [FIRST]
    assert result["counts"]["not_reached"] == 3
    # Those of earlier tests may have ended meanwhile. A Keeper without multiRead ends the connection that
    # asks for it, and its session later.
    if isinstance(hot, Ensemble) or hot.manners.multi_read:
        assert sessions_of(hot) <= sessions
    locks = pair.hot.get_children(f"{pair.options['coordination_root']}/locks")
    assert locks == [second.path.replace("/", "%2F")]

    again = pair.call("part_move", partitions=partitions_of(table, FIRST), **ASSUMED)
    assert (again["changed"], again["counts"]["unchanged"]) == (False, 1)


def test_a_shard_path_does_not_wait_for_the_one_before_it(pair: Pair, table: Table, second: Table) -> None:
    hold_lock(pair.hot, pair, table)
    wanted = [*partitions_of(table, FIRST), *partitions_of(second, FIRST)]
    with running({**pair.options, **ASSUMED, "partitions": wanted, "lock_wait": "10m"}) as process:
        wait_for(lambda: is_done_with(pair, second))
        process.send_signal(signal.SIGTERM)
        result = answer_of(process)
    assert [each["shard_path"] for each in result["moved"]] == [second.path]
    assert result["counts"]["not_reached"] == 1


def test_signal_ends_the_way_back_too(pair: Pair, table: Table, second: Table) -> None:
    """What it did not get to counts as far as it is known."""
    partitions = [*partitions_of(table), *partitions_of(second)]
    pair.call("part_move", partitions=partitions, **ASSUMED)
    hold_lock(pair.hot, pair, second)
    journal = pair.folder / "journal.jsonl"
    back = {"state": "hot", "assume_active": True, "lock_wait": "10m", "journal": str(journal)}
    with running({**pair.options, **back, "shard_paths": [second.path, table.path]}) as process:
        wait_for(lambda: table.state(FIRST) == b"HOT" and not pair.hot.exists(lock_path(pair, table)))
        process.send_signal(signal.SIGTERM)
        result = answer_of(process)
    assert result["msg"].startswith("The run was stopped by SIGTERM. ")
    assert {each["shard_path"] for each in result["moved"]} == {table.path}
    assert result["counts"]["moved"] == 3
    assert second.state(FIRST) == b"COLD"
    ended = json.loads(journal.read_text().splitlines()[-1])
    assert ended["event"] == "ended"
    assert ended["error"].startswith("The run was stopped by SIGTERM. ")


def sessions_of(hot: Ensemble | KeeperStandIn) -> set[str]:
    """Return the sessions that the hot ensemble knows of."""
    report = hot.members[0].four_letter("dump") or ""
    return {line.strip() for line in report.splitlines() if line.startswith("0x")}


def test_locked_shard_path_is_deferred_after_the_wait(pair: Pair, table: Table, second: Table) -> None:
    hold_lock(pair.hot, pair, table)
    result = pair.call(
        "part_move",
        partitions=[*partitions_of(table, FIRST), *partitions_of(second, FIRST)],
        lock_wait="1s",
        **ASSUMED,
    )
    assert [(each["shard_path"], each["gate"]) for each in result["deferred"]] == [(table.path, "lock_free")]
    assert result["deferred"][0]["reason"] == f"{table.path} is locked by another run: another run"
    assert [each["shard_path"] for each in result["moved"]] == [second.path]


def test_ensemble_that_goes_away_leaves_a_partial_result(
    pair: Pair, table: Table, second: Table, hot: Ensemble
) -> None:
    hold_lock(pair.hot, pair, second)
    options = json.loads(json.dumps(pair.options))
    options["hot"] |= {"operation_timeout": 10.0}
    wanted = [*partitions_of(table, FIRST), *partitions_of(second)]
    with running({**options, **ASSUMED, "partitions": wanted, "lock_wait": "10m"}) as process:
        wait_for(lambda: is_done_with(pair, table))
        hot.members[0].pause()
        result = answer_of(process)
    assert result["failed"]
    assert result["msg"].startswith(f"No answer from ensemble hot ({hot.connect_string}) within 10 s")
    assert [each["partition"] for each in result["moved"]] == [FIRST]
    assert result["counts"]["not_reached"] == 3
    # Before the clients of the test end their sessions.
    hot.heal()
