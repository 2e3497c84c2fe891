# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The module repairs one kind on each shard path, and reports what was repaired, left and kept."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import FormatError, NoSuchTable
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import Side
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.repair.kept_removal import KIND
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.repair.run import REPAIRED
from ansible_collections.olap.partmove.plugins.module_utils._tasks.twin_repair import TwinRepair
from ansible_collections.olap.partmove.plugins.modules.twin_repair import KINDS
from support.memory.bench import Bench
from support.memory.resources import MemoryResources
from support.memory.twin_repairs import RepairBench
from support.memory.twins import DAY, PATH, Twins


@pytest.fixture
def bench() -> RepairBench:
    bench = RepairBench(Twins(("a",), ("b",)))
    bench.note(bench.attached()._replace(clones={}))
    bench.twins.merge(Side.COLD)
    bench.twins.tables[Side.COLD].past.clear()
    return bench


def params(**given: Any) -> dict[str, Any]:
    return {
        "hot": {},
        "coordination_root": "/partmove",
        "clickhouse": {"port": None},
        "twin": "{table}_cold",
        "shard_paths": [PATH],
        "kind": "unknown",
        "partitions": None,
        "kept_parts_are_unneeded": False,
        "lock_wait": "0s",
        "journal": "",
        "latency_target": 0.0,
        "max_latency": 0.0,
        "give_up_after": "10m",
        "max_parts_per_second": 0,
        **given,
    }


def call(bench: RepairBench, *, check: bool = False, **given: Any) -> dict[str, Any]:
    """Return the result of the task, with its failure."""
    options = params(**given)
    resources = MemoryResources(Bench(), options, check_mode=check)
    resources.stores = {"hot": bench.hot.open()}
    resources.clock = bench.clock  # type: ignore[assignment]
    task = TwinRepair(options, bench.repairers)
    try:
        task.run(resources)
    finally:
        resources.close()
    return {**task.result(), "failure": task.failure}


def test_choices_are_the_kinds_that_are_repaired() -> None:
    assert sorted([KIND, *(kind.value for kind in REPAIRED)]) == KINDS


def test_repaired_partition_is_reported_with_rows_and_kept_parts(bench: RepairBench) -> None:
    planned = call(bench, check=True)
    done = call(bench)
    assert (planned["msg"], done["msg"]) == ("1 would be repaired, 0 left", "1 repaired, 0 left")
    assert done["repaired"] == planned["repaired"]
    assert done["repaired"] == [
        {
            "shard_path": PATH,
            "partition": DAY,
            "kind": "unknown",
            "what": "the twin has each row of these parts of the table, which were detached",
            "rows_before": {"hot": 2, "cold": 2},
            "rows_after": {"hot": 0, "cold": 2},
            "kept": {"hot": ["20191201_1_1_0", "20191201_2_2_0"], "cold": []},
        }
    ]
    assert done["statements"] == planned["statements"] == done["diff"]["after"].splitlines()
    assert (done["changed"], done["failure"]) == (True, "")
    assert done["records_removed"] == [f"/partmove/twins/%2Ftables%2F01%2Fhits/{DAY}"]
    again = call(bench)
    assert (again["changed"], again["counts"]) == (False, {"repaired": 0, "left": 0})


def test_partition_that_is_left_has_its_reason(bench: RepairBench) -> None:
    bench.servers.hidden = {("r1", Side.COLD)}
    done = call(bench)
    assert done["left"] == [
        {
            "shard_path": PATH,
            "partition": DAY,
            "kind": "unknown",
            "reason": "the user does not see all rows",
            "remedy": "Remove the row policy",
        }
    ]
    assert not done["changed"]
    assert done["failure"].startswith("1 of 1 shard paths could not be repaired: ")
    assert done["failed_shard_paths"][0]["remedy"] == "Remove the row policy"


def test_kept_parts_are_deleted_with_consent(bench: RepairBench) -> None:
    call(bench)
    assert call(bench, kind="kept_parts")["counts"] == {"repaired": 0, "left": 1}
    done = call(bench, kind="kept_parts", kept_parts_are_unneeded=True)
    assert done["counts"] == {"repaired": 1, "left": 0}
    assert done["repaired"][0]["kept"] == {"hot": ["20191201_1_1_0", "20191201_2_2_0"], "cold": []}
    assert len(done["statements"]) == 4


def test_shard_path_without_a_table_does_not_keep_the_others(bench: RepairBench) -> None:
    done = call(bench, shard_paths=["/tables/00/none", PATH])
    assert done["counts"] == {"repaired": 1, "left": 0}
    assert [each["shard_path"] for each in done["failed_shard_paths"]] == ["/tables/00/none"]
    assert done["failure"].startswith("1 of 2 shard paths could not be repaired: /tables/00/none: ")


def test_single_shard_path_without_a_table_is_an_error(bench: RepairBench) -> None:
    with pytest.raises(NoSuchTable):
        call(bench, shard_paths=["/tables/00/none"])


def test_other_partitions_are_left_out(bench: RepairBench) -> None:
    assert call(bench, partitions=["20200101"])["counts"] == {"repaired": 0, "left": 0}
    with pytest.raises(FormatError):
        call(bench, partitions=["a/b"])
