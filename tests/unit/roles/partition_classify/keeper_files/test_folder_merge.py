# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Znodes that do not fit into memory are put together by folder."""

from __future__ import annotations

import random
import tempfile
import tracemalloc
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

import pytest

from partition_classify.keeper_files.folder_merge import FolderFile
from partition_classify.keeper_files.folder_run import ROOT, FolderPart, FolderRun
from support.classify.keeper_runs import ReadZnode, znodes_in, znodes_of
from support.files.snapshot_files import stored

PATHS = [b"", b"/a", b"/a/b", b"/a/b/c", b"/a/bb", b"/a-b", b"/a.b", b"/a0", b"/a0/x", b"/b", b"/keeper"]


def added(run: FolderRun, path: bytes, data: bytes = b"", children: int = 0) -> ReadZnode:
    """Add a znode to the run."""
    stat = stored(1, 1)
    record = len(path).to_bytes(4, "big") + path + len(data).to_bytes(4, "big") + data + stat
    assert run.add(path, record, children)
    return ReadZnode(path, data, stat, children)


def merged(runs: Sequence[FolderRun], folder: Path) -> list[list[FolderPart]]:
    """The folders of runs, of which only the last one stays in memory."""
    *before, last = runs
    with tempfile.TemporaryFile(dir=folder) as file:
        folders = FolderFile(file)
        for run in before:
            folders.write(run.parts())
        found = []
        for parts in folders.merged(last.parts()):
            # As they are used: all parts of a folder, before the next folder.
            found.append([FolderPart(p.key, p.own, p.children, p.names, [p.joined_records()]) for p in parts])
            assert [each.number for each in parts] == [len(each.names) for each in parts]
        return found


@pytest.mark.parametrize("number", [1, 2, 7])
@pytest.mark.parametrize("size", [0, 30, 100_000])
def test_folders_are_put_together_in_the_order_of_a_tree_walk(number: int, size: int, tmp_path: Path) -> None:
    made = random.Random(number)
    runs = [FolderRun() for _run in range(number)]
    folders = [path for path in PATHS if any(each.startswith(path + b"/") for each in PATHS)]
    znodes = [
        added(made.choice(runs), path, made.randbytes(size), 5 if path in folders else 0) for path in PATHS
    ]
    groups = merged(runs, tmp_path)
    keys = [{each.key for each in parts} for parts in groups]
    assert all(len(each) == 1 for each in keys)
    assert [min(each) for each in keys] == [b"", b"\0a", b"\0a\0b", b"\0a0", b"\0keeper"]
    assert sorted(each for parts in groups for each in znodes_in(parts)) == sorted(znodes)
    assert all(sum(bool(each.own) for each in parts) == 1 for parts in groups)
    assert not list(tmp_path.iterdir())


def test_no_znodes(tmp_path: Path) -> None:
    assert merged([FolderRun()], tmp_path) == []
    assert merged([FolderRun(), FolderRun()], tmp_path) == []


def test_a_run_is_cleared() -> None:
    run = FolderRun()
    for path in PATHS:
        added(run, path)
    run.count(3, 100)
    assert len(znodes_of(run)) == len(PATHS)
    assert run.size > 700
    run.clear()
    assert run.size == 0
    assert znodes_of(run) == []


def test_a_parent_is_added_once() -> None:
    run = FolderRun()
    for path in (ROOT, b"/keeper", b"/a"):
        assert run.add(path, b"record", 1)
        assert not run.add(path, b"record", 1)


def test_memory_is_bounded(tmp_path: Path) -> None:
    """Many parents with few children each, as parts with legacy headers are, and a large folder."""
    tracemalloc.start()
    try:
        with tempfile.TemporaryFile(dir=tmp_path) as file:
            folders, run = FolderFile(file), FolderRun()
            for number in range(30_000):
                parent = b"/parts/%d" % number
                added(run, parent, b"x" * 100, 1)
                added(run, parent + b"/columns", b"x" * 300)
                run.count(2, 600)
                if run.size > 1 << 20:
                    folders.write(run.parts())
                    run.clear()
            groups = (each[0].key for each in folders.merged(run.parts()))
            assert sum(1 for _key in groupby(groups)) == 30_001
        _now, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # 18 MB of records in 50 runs: a run of 1 MiB while it is written, and a block of 64 KiB for each run.
    assert peak < 9 << 20
