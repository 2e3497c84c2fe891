# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Resources of tasks that need no ensemble."""

from __future__ import annotations

import os
import re
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import (
    EnsembleError,
    FormatError,
    PartMoveError,
    SameEnsemble,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.journal.events import Event
from ansible_collections.olap.partmove.plugins.module_utils._tasks.journal_file import (
    FileJournal,
    NullJournal,
)
from ansible_collections.olap.partmove.plugins.module_utils._tasks.resources import (
    LockOptions,
    Resources,
    SystemClock,
    client_of,
    coordination_root,
    probe_of,
)
from support.memory.bench import Bench
from support.memory.resources import MemoryResources


def test_the_clock_is_that_of_the_system() -> None:
    before = time.time()
    SystemClock().sleep(0.01)
    assert before + 0.01 <= SystemClock().now() <= time.time()


def test_check_mode_keeps_no_journal(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    params = {"journal": str(path)}
    with ExitStack() as stack:
        assert isinstance(Resources(params, stack, check_mode=True).open_journal(), NullJournal)
        assert not path.exists()
        assert isinstance(Resources(params, stack, check_mode=False).open_journal(), FileJournal)
        assert isinstance(Resources({"journal": ""}, stack, check_mode=False).open_journal(), NullJournal)


def test_a_journal_on_a_full_disk_is_reported_and_closed() -> None:
    def run() -> None:
        with ExitStack() as stack:
            journal = Resources({"journal": "/dev/full"}, stack, check_mode=False).open_journal()
            journal.record(Event.COPIES_REMOVED, [{"shard_path": "/t", "partition": "a"}])

    with pytest.raises(PartMoveError) as refusal:
        run()
    assert refusal.value.message == "The journal /dev/full cannot be written: No space left on device"


@pytest.mark.parametrize(
    ("cold", "opened"), [({"hosts": ["cold"]}, ["hot", "cold"]), (None, ["hot"])], ids=["given", "not given"]
)
def test_cold_is_opened_where_it_is_given(cold: dict[str, Any] | None, opened: list[str]) -> None:
    bench = Bench()
    resources = MemoryResources(bench, {"cold": cold})
    assert resources.open_hot_or_pair() == (bench.hot_store, None if cold is None else bench.cold_store)
    assert resources.opened == opened
    assert resources.open_pair() == (bench.hot_store, bench.cold_store)


def test_hot_and_cold_may_share_no_address() -> None:
    bench = Bench()
    bench.cold_store = bench.hot_store
    for cold in ({}, {"hosts": ["hot"]}):
        with pytest.raises(SameEnsemble, match="both were given the address hot.example:2181"):
            MemoryResources(bench, {"cold": cold}).open_hot_or_pair()


def test_invalid_options_of_an_ensemble_are_reported_with_its_name() -> None:
    with ExitStack() as stack, pytest.raises(EnsembleError, match="^Ensemble cold has no hosts"):
        Resources({"cold": {"hosts": []}}, stack, check_mode=False).open_ensemble("cold")


def test_none_means_the_default() -> None:
    assert client_of({"host": " ch1 ", "port": None, "ca": None}).label == "ClickHouse at ch1:8123"
    assert client_of({"host": "ch1", "port": 8124}).label == "ClickHouse at ch1:8124"
    probe_of({"port": None, "endpoints": {"r1": "ch1"}})
    with pytest.raises(PartMoveError, match="^The endpoint 'ch1:x' of replica r1 is not host:port"):
        probe_of({"port": None, "endpoints": {"r1": "ch1:x"}})


@pytest.mark.parametrize("host", ["", " "])
def test_a_server_without_a_name_is_refused(host: str) -> None:
    with pytest.raises(PartMoveError, match="^The host of clickhouse is empty"):
        client_of({"host": host})


def test_locks_are_kept_and_waited_for_as_the_options_say() -> None:
    options = LockOptions.of({"coordination_root": "/a/b", "lock_wait": "2m"})
    assert options == LockOptions("/a/b", 120)
    bench = Bench()
    keeper = options.keeper("part_move", bench.hot_store, bench.cold_store, bench.clock)
    lease = keeper.acquire("/t")
    owner = bench.hot.get("/a/b/locks/%2Ft")[0]
    assert owner.startswith(b"part_move on ")
    assert re.search(f", process {os.getpid()}, run [0-9a-f]{{32}}$".encode(), owner)
    keeper.release(lease)
    assert bench.hot.get_children("/a/b/locks") == []


@pytest.mark.parametrize("lock_wait", ["", "soon", "-1"])
def test_an_invalid_lock_wait_is_refused(lock_wait: str) -> None:
    with pytest.raises(FormatError, match=f"^lock_wait is '{lock_wait}', which is no duration"):
        LockOptions.of({"coordination_root": "/a", "lock_wait": lock_wait})


@pytest.mark.parametrize("root", ["", "/", "a", "/a/", "/a//b", "/a/../b"])
def test_an_invalid_coordination_root_is_refused(root: str) -> None:
    with pytest.raises(FormatError) as refusal:
        coordination_root({"coordination_root": root})
    assert refusal.value.message == (
        f"coordination_root is {root!r}, which is not the path of a znode below the root"
    )
