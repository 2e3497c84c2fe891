# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Options of table_move with a root that would be a run about nothing, or about something else."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import FormatError, PartMoveError
from ansible_collections.olap.partmove.plugins.module_utils._tasks import root_move
from ansible_collections.olap.partmove.plugins.module_utils._tasks.root_move import RootMove
from support.memory.roots import ModelRoot

if TYPE_CHECKING:
    from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.run import (
        TwinMoveContext,
    )

PARAMS: Mapping[str, Any] = {
    "coordination_root": "/partmove",
    "lock_wait": "45s",
    "clickhouse": {"port": None},
    "root": "/clickhouse/tables",
    "exclude": [],
    "stop_at_refusal": False,
    "partitions_per_second": 25.0,
    "report": None,
    "twin": "{table}_cold",
    "ensemble": "cold",
    "path": "{path}_cold",
    "state": "cold",
    "min_age": "1d",
    "stop_merges": False,
    "insert_wait": "1m",
    "max_listed": 1000,
    "latency_target": 0.0,
    "max_latency": 1.0,
    "give_up_after": "10m",
    "max_parts_per_second": 0,
}


@pytest.mark.parametrize("root", ["/", "/clickhouse/tables", "/clickhouse/tables/"])
def test_a_path_is_a_root(root: str) -> None:
    RootMove({**PARAMS, "root": root})


@pytest.mark.parametrize("root", ["", "clickhouse/tables", "/a//b", "/a/../b"])
def test_another_text_is_no_root(root: str) -> None:
    with pytest.raises(FormatError, match="is not the path of a znode"):
        RootMove({**PARAMS, "root": root})


@pytest.mark.parametrize("speed", [0.0, -1.0, float("nan")])
def test_a_speed_that_ends_nothing_is_refused(speed: float) -> None:
    with pytest.raises(PartMoveError, match="partitions_per_second is"):
        RootMove({**PARAMS, "partitions_per_second": speed})


def test_a_rollback_with_another_ensemble_than_in_the_move_is_not_finished(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The tables are in the ensemble keeper, and the options name the ensemble cold."""
    root = ModelRoot()
    for shard in ("01", "02"):
        path, replica = f"/clickhouse/tables/{shard}/hits", f"{shard}a"
        root.register(path, replica)
        root.show("default", path, replica, "hits_cold", 0)
        root.show("keeper", f"{path}_cold", replica, "hits", 7)
    root.add("/clickhouse/tables/01/home", ["01a"], "home")
    result, failure = surveyed(root, monkeypatch)
    assert {each["table"]: each["state"] for each in result["outcomes"]} == {
        "db.hits_cold": "refused",
        "db.home": "finished",
    }
    assert not result["finished"]
    assert "db.hits at keeper:/clickhouse/tables/01/hits_cold may be the other table of the pair" in failure
    assert "Give ensemble, path and twin as in the move" in failure


def surveyed(root: ModelRoot, monkeypatch: pytest.MonkeyPatch) -> tuple[dict[str, Any], str]:
    """Return the result and the failure of a rollback after its survey."""
    monkeypatch.setattr(root_move, "HttpRootServers", lambda *_options: root)
    monkeypatch.setattr(root_move, "shard_paths_below", lambda *_options: root.paths)
    task = RootMove({**PARAMS, "state": "hot"})
    task._survey(cast("TwinMoveContext", SimpleNamespace(hot=root.hot.open())))
    return task.result(), task.failure


def test_a_run_that_knows_no_table_is_not_finished() -> None:
    result = RootMove(PARAMS).result()
    assert (result["finished"], result["outcomes"], result["changed"]) == (False, [], False)
    assert result["next"] == "Run again with the same options"
