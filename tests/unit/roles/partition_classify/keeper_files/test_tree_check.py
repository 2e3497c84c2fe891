# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Znodes that are no tree are refused."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from partition_classify.keeper_files import tree_check
from partition_classify.keeper_files.folder_run import FolderPart, FolderRun
from partition_classify.keeper_files.tree_check import TreeCheck
from partition_classify.zookeeper_files.damage import DamagedFile

TREE = [("/", 2), ("/a", 2), ("/a/b", 0), ("/a/c", 1), ("/a/c/d", 0), ("/a-b", 0)]


def check(znodes: list[tuple[str, int]], runs: int = 1) -> None:
    """Check these paths with the numbers of children of their stats, read in so many runs in any order."""
    made = random.Random(len(znodes))
    several = [FolderRun() for _run in range(runs)]
    for path, children in made.sample(znodes, len(znodes)):
        made.choice(several).add(b"" if path == "/" else path.encode(), b"record", children)
    tree = TreeCheck(Path("snapshot_7.bin"))
    by_key: dict[bytes, list[FolderPart]] = {}
    for part in (part for run in several for part in run.parts()):
        by_key.setdefault(part.key, []).append(part)
    for _key, parts in sorted(by_key.items()):
        tree.take(parts)
    tree.end()


@pytest.mark.parametrize("runs", [1, 2, 5])
def test_tree_is_accepted(runs: int) -> None:
    check(TREE, runs)


@pytest.mark.parametrize("most", [1, 200_000])
@pytest.mark.parametrize("runs", [1, 3, 6])
@pytest.mark.parametrize(
    ("position", "replaced", "message"),
    [
        (0, [], "the root is missing"),
        (1, [], "the parent of the znode /a/[bc] is missing, or has no children by its stat"),
        (3, [], "the znode /a should have 2 children, but has 1"),
        (2, [], "the znode /a should have 2 children, but has 1"),
        (4, [], "the znode /a/c should have 1 children, but has 0"),
        (3, [("/a/c", 0)], "the parent of the znode /a/c/d is missing, or has no children by its stat"),
        (1, [("/a", 3), ("/a/b", 0)], "the znode /a/b is present twice"),
        (1, [("/a", 2), ("/a-b", 0)], "the znode /a-b is present twice"),
        (2, [("/a/b", 1)], "the znode /a/b should have 1 children, but has 0"),
        (5, [("/a-b", 3)], "the znode /a-b should have 3 children, but has 0"),
        (4, [("/a/c", 0), ("/a/c/d", 0)], "the znode /a/c is present twice"),
    ],
)
def test_contradiction_is_refused(
    position: int,
    replaced: list[tuple[str, int]],
    message: str,
    runs: int,
    most: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tree_check, "_MOST_NAMES", most)
    with pytest.raises(DamagedFile) as error:
        check([*TREE[:position], *replaced, *TREE[position + 1 :]], runs)
    assert re.fullmatch(f"snapshot_7.bin: {message}", error.value.message)
    assert not error.value.is_cut_off


def test_parent_that_is_present_in_two_runs_is_refused() -> None:
    tree = TreeCheck(Path("snapshot_7.bin"))
    with pytest.raises(DamagedFile, match="the znode /a is present twice"):
        tree.take(
            [FolderPart(b"\0a", b"record", 1, [b"x"], [b"record"]), FolderPart(b"\0a", b"r", 1, [], [])]
        )


def test_empty_snapshot_is_refused() -> None:
    with pytest.raises(DamagedFile, match="the root is missing"):
        check([])


def test_children_of_the_root_and_of_keeper_are_not_counted() -> None:
    check([("/", 7), ("/keeper", 3)])
    check([("/", 0), ("/keeper", 0), ("/keeper/x", 0)])
    with pytest.raises(DamagedFile, match="the znode /keeper/x should have 1 children"):
        check([("/", 7), ("/keeper", 3), ("/keeper/x", 1)])
