# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A plan fits its own ensemble only."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import PlanError
from ansible_collections.olap.partmove.plugins.module_utils._partmove.plan.origin import (
    OriginZnode,
    check_origin,
    read_origin,
    topmost,
)
from support.memory.bench import PATH, Bench


@pytest.fixture
def bench() -> Bench:
    return Bench()


@pytest.mark.parametrize("path", ["/clickhouse/tables/01/hits", "/clickhouse/hits", "/clickhouse"])
def test_topmost(path: str) -> None:
    assert topmost(path) == "/clickhouse"


def test_a_plan_fits_its_ensemble(bench: Bench) -> None:
    origin = read_origin(bench.hot_store, ["/clickhouse"])
    assert [each.path for each in origin] == ["/clickhouse"]
    check_origin(bench.hot_store, origin, "plan")


def test_a_plan_without_rows_fits_every_cluster(bench: Bench) -> None:
    check_origin(bench.hot_store, (), "plan")


@pytest.mark.parametrize(
    "change",
    [{"czxid": 4711}, {"ctime": 1}],
    ids=["by another transaction at the same moment", "by the same transaction at another moment"],
)
def test_a_znode_with_another_creation_is_of_another_cluster(bench: Bench, change: dict[str, Any]) -> None:
    (here,) = read_origin(bench.hot_store, ["/clickhouse"])
    with pytest.raises(PlanError) as refusal:
        check_origin(bench.hot_store, [here._replace(**change)], "/plans/plan.jsonl")
    assert refusal.value.message.startswith(
        "/plans/plan.jsonl: the plan was made of another cluster, in which /clickhouse was created by"
    )
    assert f", where it was created by transaction 0x{here.czxid:x} at " in refusal.value.message
    assert "classify again" in refusal.value.remedy


def test_a_missing_znode_means_another_cluster(bench: Bench) -> None:
    origin = [*read_origin(bench.hot_store, ["/clickhouse"]), OriginZnode("/data", 1, 0)]
    with pytest.raises(PlanError, match=r"in which /data was .* ensemble given, which has no such znode\."):
        check_origin(bench.hot_store, origin, "plan")


def test_every_znode_of_the_origin_is_checked(bench: Bench) -> None:
    """A plan from the files of two clusters names znodes of both, and fits neither."""
    (here,) = read_origin(bench.hot_store, ["/clickhouse"])
    with pytest.raises(PlanError, match="of another cluster"):
        check_origin(bench.hot_store, [here, here._replace(czxid=here.czxid + 1)], "plan")


def test_a_missing_znode_is_reported_when_the_plan_is_made(bench: Bench) -> None:
    with pytest.raises(PlanError, match="There is no znode /data any more in the hot ensemble"):
        read_origin(bench.hot_store, [PATH, "/data"])
