# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""part_info over ensembles in memory: results and skipped tables."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import (
    FormatError,
    NoSuchTable,
    PartMoveError,
    SameEnsemble,
)
from ansible_collections.olap.partmove.plugins.module_utils._tasks.part_info import PartInfo
from support.memory.bench import DAY, OTHER, PART, PATH, Bench
from support.memory.resources import MemoryResources
from support.memory.tables import TableOptions, build_table

DEFAULTS: dict[str, Any] = {
    "hot": {},
    "cold": {},
    "coordination_root": "/partmove",
    "shard_paths": [PATH],
    "root": None,
    "partitions": None,
    "details": "partitions",
}


def inspect(bench: Bench, **options: Any) -> dict[str, Any]:
    params = DEFAULTS | options
    task = PartInfo(params)
    task.run(MemoryResources(bench, params))
    return task.result()


def test_locations_and_sizes_of_partitions() -> None:
    bench = Bench()
    bench.move()
    result = inspect(bench)
    cold, hot = result["partitions"]
    assert (cold["partition"], cold["location"], cold["state"]) == (DAY, "cold", "COLD")
    assert (hot["partition"], hot["location"], hot["state"]) == (OTHER, "hot", "")
    assert (cold["hot"]["parts"], cold["cold"]["parts"]) == (0, 2)
    assert (hot["hot"]["parts"], hot["cold"]["parts"]) == (2, 0)
    assert cold["replicas"] == ["r1", "r2"]
    for name in ("hot", "cold"):
        total = result["totals"][name]
        assert total == {"partitions": 1} | {
            key: cold[name][key] + hot[name][key] for key in ("parts", "znodes", "bytes")
        }
    assert not result["changed"]


def test_members_that_lag_behind_are_waited_for() -> None:
    bench = Bench()
    for each in (bench.hot_ensemble, bench.cold_ensemble):
        each.settle()
    part = f"{PATH}/replicas/r1/parts/{PART}"
    data = bench.hot.get(part)[0]
    # So that the two have given the table other transactions.
    bench.cold.create("/else", b"")
    bench.cold.create(part, data, makepath=True)
    bench.hot.delete(part)
    resources = MemoryResources(bench, DEFAULTS)
    resources.stores = {
        name: each.open(each.members[-1])
        for name, each in (("hot", bench.hot_ensemble), ("cold", bench.cold_ensemble))
    }
    task = PartInfo(DEFAULTS)
    task.run(resources)
    day = task.result()["partitions"][0]
    assert (day["hot"]["parts"], day["cold"]["parts"]) == (1, 1)


def test_only_the_requested_partitions() -> None:
    result = inspect(Bench(), partitions=[OTHER, "none"])
    assert [(each["partition"], each["location"]) for each in result["partitions"]] == [
        (OTHER, "hot"),
        ("none", "absent"),
    ]
    assert result["partitions"][1]["last_modified"] is None


def test_parts_are_listed_on_request() -> None:
    (entry,) = inspect(Bench(), partitions=[DAY], details="parts")["partitions"]
    assert [(part["ensemble"], part["replica"], part["part"]) for part in entry["parts"]] == [
        ("hot", "r1", PART),
        ("hot", "r2", PART),
    ]
    assert {part["last_modified"] for part in entry["parts"]} == {entry["last_modified"]}
    assert sum(part["bytes"] for part in entry["parts"]) == entry["hot"]["bytes"]


def test_without_cold_the_location_is_unknown() -> None:
    result = inspect(Bench(), cold=None)
    assert [each["location"] for each in result["partitions"]] == [None, None]
    assert result["totals"].keys() == {"hot"}
    assert "cold" not in result["partitions"][0]


def test_tables_below_a_root_are_found_and_unreadable_ones_listed() -> None:
    bench = Bench()
    build_table(bench.hot, "/clickhouse/odd", TableOptions(partitions=(DAY,)))
    bench.hot.create("/clickhouse/odd/replicas/r1/parts/tmp_insert", b"")
    build_table(bench.hot, "/partmove/t", TableOptions(partitions=(DAY,)))
    result = inspect(bench, shard_paths=None, root="/")
    assert {each["shard_path"] for each in result["partitions"]} == {PATH}
    (odd,) = result["unreadable"]
    assert odd["shard_path"] == "/clickhouse/odd"
    assert "tmp_insert" in odd["reason"]
    assert odd["remedy"]


def test_a_root_without_tables_and_an_empty_list_are_refused() -> None:
    bench = Bench()
    bench.hot.create("/elsewhere", b"")
    with pytest.raises(NoSuchTable, match="There is no replicated table at or below /elsewhere"):
        inspect(bench, shard_paths=None, root="/elsewhere")
    with pytest.raises(PartMoveError, match="shard_paths is empty"):
        inspect(bench, shard_paths=[])


def test_a_root_that_may_not_be_read_is_listed() -> None:
    bench = Bench()
    bench.hot_store.denied = {"/"}
    result = inspect(bench, shard_paths=None, root="/")
    assert [each["shard_path"] for each in result["unreadable"]] == ["/"]


def test_a_table_given_by_name_must_exist() -> None:
    with pytest.raises(NoSuchTable):
        inspect(Bench(), shard_paths=["/none"])


def test_a_table_dropped_during_the_search_is_skipped() -> None:
    bench = Bench()
    bench.hot_store.listing = lambda paths: (
        bench.servers.drop_table() if f"{PATH}/replicas" in paths else None
    )
    assert inspect(bench, shard_paths=None, root="/clickhouse")["partitions"] == []


def test_one_ensemble_is_not_taken_for_two() -> None:
    bench = Bench()
    bench.cold_store = bench.hot_store
    with pytest.raises(SameEnsemble):
        inspect(bench)


@pytest.mark.parametrize("options", [{"partitions": ["a_b"]}, {"coordination_root": "/"}])
def test_invalid_options_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(FormatError):
        PartInfo(DEFAULTS | options)


def test_denied_znodes_are_named_and_all_others_are_returned() -> None:
    bench = Bench()
    bench.move()
    bench.hot.create("/other/x", b"", makepath=True)
    build_table(bench.hot, "/clickhouse/hers", TableOptions(partitions=(DAY,)))
    bench.hot_store.denied = {"/other", "/clickhouse/hers/replicas/r1/parts"}
    result = inspect(bench, shard_paths=None, root="/")
    assert [(row["shard_path"], row["partition"]) for row in result["partitions"]] == [
        (PATH, DAY),
        (PATH, OTHER),
    ]
    assert result["unreadable"] == [
        {
            "shard_path": "/clickhouse/hers",
            "reason": "The identity given to hot may not read /clickhouse/hers/replicas/r1/parts",
            "remedy": "Correct it",
        },
        {
            "shard_path": "/other",
            "reason": "The identity given to hot may not read /other, so tables below it are unknown",
            "remedy": "Correct it",
        },
    ]
