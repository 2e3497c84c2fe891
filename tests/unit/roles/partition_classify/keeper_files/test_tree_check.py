# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Znodes that are no tree are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from partition_classify.keeper_files.tree_check import TreeCheck
from partition_classify.keeper_files.znodes import ZnodeEntry
from partition_classify.zookeeper_files.damage import DamagedFile

TREE = [("/", 2), ("/a", 2), ("/a/b", 0), ("/a/c", 1), ("/a/c/d", 0), ("/a-b", 0)]


def check(znodes: list[tuple[str, int]]) -> None:
    """Check these paths with the numbers of children of their stats."""
    tree = TreeCheck(Path("snapshot_7.bin"))
    keys = ["" if path == "/" else path.replace("/", "\0") for path, _children in znodes]
    for key, (_path, children) in zip(keys, znodes, strict=True):
        tree.take(ZnodeEntry(key.encode(), children, b"", b""))
    tree.end()


def test_tree_is_accepted() -> None:
    check(TREE)


@pytest.mark.parametrize(
    ("position", "replaced", "message"),
    [
        (0, [], "the root is missing"),
        (1, [], "the parent of the znode /a/b is missing"),
        (3, [], "the parent of the znode /a/c/d is missing"),
        (2, [], "the znode /a should have 2 children, but has 1"),
        (4, [], "the znode /a/c should have 1 children, but has 0"),
        (2, [("/a/b", 0), ("/a/b", 0)], "the znode /a/b is present twice"),
        (2, [("/a/b", 1)], "the znode /a/b should have 1 children, but has 0"),
        (5, [("/a-b", 3)], "the znode /a-b should have 3 children, but has 0"),
    ],
)
def test_contradiction_is_refused(position: int, replaced: list[tuple[str, int]], message: str) -> None:
    with pytest.raises(DamagedFile) as error:
        check([*TREE[:position], *replaced, *TREE[position + 1 :]])
    assert error.value.message == f"snapshot_7.bin: {message}"
    assert not error.value.is_cut_off


def test_children_of_the_root_and_of_keeper_are_not_counted() -> None:
    check([("/", 7), ("/keeper", 3)])
    with pytest.raises(DamagedFile, match="the znode /keeper/x should have 1 children"):
        check([("/", 7), ("/keeper", 3), ("/keeper/x", 1)])
