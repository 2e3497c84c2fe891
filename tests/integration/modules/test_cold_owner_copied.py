# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A hot ensemble, another one that was started with a copy of its files, and one cold ensemble of both."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from kazoo.client import KazooClient

from support.ansible.modules import ASSUMED, Pair, partitions_of
from support.memory.tables import Table, build_table, days
from support.servers.zookeeper import Ensemble, Member

FIRST, SECOND, THIRD = days(3)


@dataclass(frozen=True)
class Copied:
    """Two hot ensembles, the second of which was started with a copy of the files of the first."""

    original: Pair
    copy: Pair
    table: Table

    def move(self, pair: Pair, day: str) -> str:
        """Move a partition; return the gate that refuses it, or an empty text."""
        result = pair.call("part_move", partitions=partitions_of(self.table, day), **ASSUMED)
        assert not result.get("failed"), result
        return str(result["deferred"][0]["gate"]) if result["deferred"] else ""


@pytest.fixture
def copied(pair: Pair, connect: Callable[[str], KazooClient], tmp_path: Path) -> Iterator[Copied]:
    """The original has moved one partition before its files were copied."""
    with Ensemble(tmp_path / "original") as original, Ensemble(tmp_path / "copy") as copy:
        of_original = _given(pair, original, connect)
        table = build_table(of_original.hot, f"{pair.base}/hits")
        copied = Copied(of_original, of_original, table)
        assert copied.move(of_original, FIRST) == ""
        for each in (original, copy):
            each.stop()
        for member, other in zip(original.members, copy.members, strict=True):
            shutil.rmtree(_files_of(other))
            shutil.copytree(_files_of(member), _files_of(other))
        for each in (original, copy):
            each.start()
        yield replace(copied, original=_given(pair, original, connect), copy=_given(pair, copy, connect))


def _files_of(member: Member) -> Path:
    return member.data_dir / "version-2"


def _given(pair: Pair, hot: Ensemble, connect: Callable[[str], KazooClient]) -> Pair:
    hosts = {"hosts": [member.address for member in hot.members]}
    return replace(pair, hot=connect(hot.connect_string), options=pair.options | {"hot": hosts})


def test_of_a_hot_ensemble_and_its_copy_one_goes_on(copied: Copied) -> None:
    path, original, copy = copied.table.path, copied.original, copied.copy
    identity = f"{original.options['coordination_root']}/identity"
    assert original.hot.get(identity) == copy.hot.get(identity)
    assert copied.move(original, SECOND) == ""

    # The copy has the same identity and table, and does not know the run.
    before = original.trees_below(path)
    assert copied.move(copy, THIRD) == "bound_here"
    assert original.trees_below(path) == before
    audit = copy.call("part_audit_info", shard_paths=[path], clickhouse={"endpoints": {}})
    # No server is asked here, so the rest cannot be judged.
    assert {row["kind"] for row in audit["findings"]} == {"other_cluster", "not_judged"}
    assert copied.move(original, THIRD) == ""

    # With an identity of its own it is another cluster, which has to take the table over.
    checked = copy.call("cold_owner", name="copy", check=True)
    assert checked["changed"]
    bound = copy.call("cold_owner", name="copy")
    again = copy.call("cold_owner", name="copy")
    assert (bound["changed"], again["changed"]) == (True, False)
    assert original.hot.get(identity) != copy.hot.get(identity)
    assert len(bound["hot_ids"]) == 2
    assert copied.move(copy, THIRD) == "bound_here"
    assert copied.move(original, FIRST) == ""


def test_a_hot_ensemble_that_was_set_back_goes_on_if_no_copy_runs(copied: Copied) -> None:
    """What is called the copy here has the files of the original from before its last run."""
    original, copy = copied.original, copied.copy
    assert copied.move(original, SECOND) == ""
    assert copied.move(copy, SECOND) == "bound_here"
    found = [copy.call("cold_owner", no_copy_runs=True, check=check) for check in (True, False, False)]
    assert [each["changed"] for each in found] == [True, True, False]
    assert len({each["hot_id"] for each in found}) == 1
    assert copied.move(copy, SECOND) == ""
    assert copied.move(original, THIRD) == "bound_here"
