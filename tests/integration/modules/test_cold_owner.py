# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""cold_owner on synthetic tables of two hot ensembles, at the same path, with one cold ensemble."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from kazoo.client import KazooClient

from support.ansible.modules import ASSUMED, Pair, partitions_of
from support.memory.tables import Table, build_table, days
from support.servers.zookeeper import Ensemble

FIRST, SECOND, _THIRD = days(3)


@pytest.fixture
def other(pair: Pair, table: Table, connect: Callable[[str], KazooClient], tmp_path: Path) -> Iterator[Pair]:
    """Another hot ensemble, with the same table, and the cold ensemble of the pair."""
    with Ensemble(tmp_path / "other") as ensemble:
        client = connect(ensemble.connect_string)
        build_table(client, table.path)
        hosts = {"hosts": [member.address for member in ensemble.members]}
        yield replace(pair, hot=client, options=pair.options | {"hot": hosts})


def test_a_table_is_taken_over_with_the_consent_of_its_cluster(pair: Pair, table: Table, other: Pair) -> None:
    moved = pair.call("part_move", partitions=partitions_of(table, FIRST), **ASSUMED)
    assert len(moved["moved"]) == 1
    root = pair.options["coordination_root"]

    # With the wrong hosts, nothing is written to the parts and the marker.
    before = pair.trees_below(table.path)
    refused = other.call("part_move", partitions=partitions_of(table, SECOND), **ASSUMED)
    (deferred,) = refused["deferred"]
    assert deferred["gate"] == "bound_here"
    assert "another cluster" in deferred["reason"]
    assert pair.trees_below(table.path) == before

    # The second hot ensemble is bound by name.
    checked = other.call("cold_owner", name="other", check=True)
    bound = other.call("cold_owner", name="other")
    again = other.call("cold_owner", name="other")
    assert (checked["changed"], bound["changed"], again["changed"]) == (True, True, False)
    assert sorted(pair.cold.get_children(f"{root}/hots")) == bound["hot_ids"] == again["hot_ids"]
    assert len(bound["hot_ids"]) == 2
    assert pair.trees_below(table.path) == before

    # Nobody is asked for a proof by the disks where the other cluster consents.
    servers = {"endpoints": {"r1": "127.0.0.1:1", "r2": "127.0.0.1:1"}}
    take: dict[str, Any] = {"state": "taken", "shard_paths": [table.path], "clickhouse": servers}
    unproven = other.call("cold_owner", **take)
    assert unproven["failed"]
    assert f"Nothing proves that {table.path} in cold is of this cluster" in unproven["msg"]
    assert pair.trees_below(table.path) == before
    give: dict[str, Any] = {"state": "given", "shard_paths": [table.path], "to": bound["hot_id"]}
    assert pair.call("cold_owner", check=True, **give)["changed"]
    assert [pair.call("cold_owner", **give)["changed"] for _run in range(2)] == [True, False]
    assert other.call("cold_owner", check=True, **take)["changed"]
    taken = other.call("cold_owner", **take)
    assert taken["tables"] == [{"shard_path": table.path, "owner": f"{bound['hot_id']}, proven by consent"}]
    assert not other.call("cold_owner", **take)["changed"]

    # Now the table is the other cluster's.
    assert other.call("part_move", partitions=partitions_of(table, SECOND), **ASSUMED)["moved"]
    (deferred,) = pair.call("part_move", partitions=partitions_of(table, SECOND), **ASSUMED)["deferred"]
    assert deferred["gate"] == "bound_here"


def test_options_are_checked(pair: Pair, table: Table) -> None:
    results = pair.call_all(
        pair.task("cold_owner", state="given", shard_paths=[table.path], to="somebody"),
        pair.task("cold_owner", state="given", shard_paths=[table.path]),
        pair.task("cold_owner", state="taken", shard_paths=[table.path]),
        pair.task("cold_owner", state="given", shard_paths=[table.path], to="f" * 32),
    )
    empty = pair.call("cold_owner", state="taken", shard_paths=[], clickhouse={})
    assert empty["failed"]
    assert "No shard path is given" in empty["msg"]
    assert [result["failed"] for result in results] == [True] * 4
    assert "to is 'somebody', which is not the id of a hot ensemble" in results[0]["msg"]
    assert "to" in results[1]["msg"]
    assert "clickhouse" in results[2]["msg"]
    assert "are not marked as those of this hot ensemble" in results[3]["msg"]
