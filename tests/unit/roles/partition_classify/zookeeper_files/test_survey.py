# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which folders are read together, and which are refused."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from olap_partmove._partmove.errors import EnsembleError, SameEnsemble
from partition_classify.zookeeper_files.folders import DataFolder
from partition_classify.zookeeper_files.table_slices import table_slices
from support.classify.members import TOP, TREE, generated, surveyed
from support.files.snapshot_files import write_generated


def test_members_of_one_ensemble_are_refused(tmp_path: Path) -> None:
    hot = (generated(tmp_path / "one"), generated(tmp_path / "two"))
    with pytest.raises(EnsembleError, match="belong to members of one ensemble"):
        surveyed(hot, (), TOP)


def test_same_shard_path_in_two_clusters_is_refused(tmp_path: Path) -> None:
    write_generated(tmp_path / "two", TREE, first_zxid=2)
    hot = (generated(tmp_path / "one"), DataFolder("hot", str(tmp_path / "two")))
    with pytest.raises(EnsembleError, match=f"The shard path {TREE.paths[0]} is in two ensembles"):
        surveyed(hot, (), TOP)


def test_hot_given_as_cold_is_refused(tmp_path: Path) -> None:
    hot, cold = generated(tmp_path / "hot"), generated(tmp_path / "cold")
    with pytest.raises(SameEnsemble, match="was created by the same transaction in both"):
        surveyed([hot], [cold], TOP)


def test_two_members_of_cold_are_refused(tmp_path: Path) -> None:
    folders = [tmp_path / "cold1", tmp_path / "cold2"]
    for folder in folders:
        write_generated(folder, TREE, first_zxid=2)
    cold = tuple(DataFolder("cold", str(folder)) for folder in folders)
    with pytest.raises(EnsembleError, match=f"{TREE.paths[0]} is in two folders of cold"):
        surveyed([generated(tmp_path / "hot")], cold, TOP)


@pytest.mark.parametrize(
    ("root", "message"),
    [
        ("/nowhere", "There is no znode /nowhere in the hot ensemble"),
        ("/zookeeper", "There is no replicated table at or below /zookeeper in the hot ensemble"),
        ("/click", "There is no znode /click in the hot ensemble"),
    ],
)
def test_root_without_tables_is_refused(tmp_path: Path, root: str, message: str) -> None:
    with pytest.raises(EnsembleError, match=re.escape(message)):
        surveyed([generated(tmp_path)], (), root)


def test_shard_paths_come_with_their_members(tmp_path: Path) -> None:
    cold_tree = replace(TREE, shard_paths=1, parts=20)
    write_generated(tmp_path / "cold", cold_tree, zxid=7, first_zxid=5)
    cold = DataFolder("cold", str(tmp_path / "cold"))
    hot = generated(tmp_path / "hot")
    tables = surveyed([hot], [cold], TOP)
    assert [table.shard_path for table in tables] == TREE.paths
    assert {table.hot.member.folder for table in tables} == {hot}
    assert [table.cold and table.cold.member.folder for table in tables] == [cold, None, None]
    (share,), (without_cold,) = (
        table_slices(each, 1 << 30) for each in (tables[0], tables[0]._replace(cold=None))
    )
    assert share.size > without_cold.size > 0
