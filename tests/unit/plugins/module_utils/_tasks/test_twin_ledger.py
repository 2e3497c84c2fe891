# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The module enters twins and takes partitions out; refusals fail it, after all others were written."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import (
    AccessDenied,
    FormatError,
    PartMoveError,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.layout import MARKS_OF_A_SHARD
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.delegating import DelegatingStore
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.ports import ZnodeStore
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import Side
from ansible_collections.olap.partmove.plugins.module_utils._tasks.twin_ledger import TwinLedger
from support.memory.bench import Bench
from support.memory.ledgers import entries_of
from support.memory.resources import MemoryResources
from support.memory.twin_audits import MemoryWitnesses
from support.memory.twins import DAY, PATH, TwinBench, Twins


@pytest.fixture
def bench() -> TwinBench:
    return TwinBench(Twins(("a", "b"), ("c",), at=Side.COLD))


def params(**given: Any) -> dict[str, Any]:
    return {
        "coordination_root": "/partmove",
        "clickhouse": {"port": None},
        "twin": "{table}_cold",
        "state": "entered",
        "shard_paths": None,
        "root": None,
        "partitions": None,
        "lock_wait": "0s",
        "journal": "",
        **given,
    }


def call(
    bench: TwinBench,
    witnesses: MemoryWitnesses | None = None,
    *,
    check: bool = False,
    store: ZnodeStore | None = None,
    **given: Any,
) -> dict[str, Any]:
    """Return the result of the task, with its failure."""
    options = params(**given)
    resources = MemoryResources(Bench(), options, check_mode=check)
    resources.stores = {"hot": store or bench.hot.open()}
    resources.clock = bench.clock  # type: ignore[assignment]
    task = TwinLedger(options, witnesses or MemoryWitnesses(bench.servers))
    try:
        task.run(resources)
    finally:
        resources.close()
    return {**task.result(), "failure": task.failure}


def test_a_twin_is_entered_and_the_second_run_changes_nothing(bench: TwinBench) -> None:
    result = call(bench, shard_paths=[PATH])
    row = {"shard_path": PATH, "partition": DAY, "rows": 3, "blocks": "1-2"}
    assert (result["entered"], result["removed"], result["refused"], result["failure"]) == ([row], [], [], "")
    assert result["changed"]
    assert result["msg"] == "1 partition entered, 0 removed, 0 unchanged, 0 refused"
    assert result["diff"] == {"before": "", "after": f"{PATH} {DAY}: 3 rows\n"}
    again = call(bench, shard_paths=[PATH])
    assert (again["changed"], again["counts"]["unchanged"]) == (False, 1)


def test_check_mode_writes_nothing(bench: TwinBench) -> None:
    foretold = call(bench, shard_paths=[PATH], check=True)
    assert foretold["msg"] == "1 partition would be entered, 0 removed, 0 unchanged, 0 refused"
    assert entries_of(bench) == {}
    result = call(bench, shard_paths=[PATH])
    assert (foretold["entered"], foretold["diff"]) == (result["entered"], result["diff"])


def test_a_root_leaves_tables_without_a_twin_out(bench: TwinBench) -> None:
    for child in MARKS_OF_A_SHARD - {"replicas"}:
        bench._create(bench.hot.open(), f"{PATH}/{child}", b"")
    witnesses = MemoryWitnesses(bench.servers)
    assert call(bench, witnesses, root="/")["counts"]["entered"] == 1
    witnesses.lacking = ["r1", "r2"]
    other = TwinBench(Twins())
    for child in MARKS_OF_A_SHARD - {"replicas"}:
        other._create(other.hot.open(), f"{PATH}/{child}", b"")
    result = call(other, witnesses, root="/tables")
    assert (result["failure"], result["changed"]) == ("", False)


def test_a_dropped_partition_leaves_the_ledger(bench: TwinBench) -> None:
    call(bench, shard_paths=[PATH])
    rows = [{"shard_path": PATH, "partition": DAY}]
    result = call(bench, state="dropped", partitions=rows)
    assert result["failure"] == (
        f"Partition {DAY} of {PATH} was refused: the twin has all that the ledger lists. Do nothing:"
        " the partition is whole, and only one that was dropped from the twin leaves the ledger."
    )
    bench.twins.tables[Side.COLD].parts = {}
    result = call(bench, state="dropped", partitions=rows)
    assert [each["partition"] for each in result["removed"]] == [DAY]
    assert result["diff"] == {"before": f"{PATH} {DAY}: 3 rows\n", "after": ""}
    assert entries_of(bench) == {}


def test_a_silent_server_refuses_its_table_only(bench: TwinBench) -> None:
    witnesses = MemoryWitnesses(bench.servers)
    witnesses.silent = ["r2"]
    result = call(bench, witnesses, shard_paths=["/a/table", PATH])
    assert [(each["shard_path"], each["partition"]) for each in result["refused"]] == [
        ("/a/table", ""),
        (PATH, ""),
    ]
    assert result["failure"].startswith("/a/table was refused: ")
    assert result["failure"].endswith("1 more refused, see refused.")


def test_an_ensemble_that_fails_ends_the_module(bench: TwinBench) -> None:
    class Denied(DelegatingStore):
        def children(self, paths):  # type: ignore[no-untyped-def]
            raise AccessDenied("denied")

    with pytest.raises(AccessDenied):
        call(bench, store=Denied(bench.hot.open()), shard_paths=[PATH])


def test_invalid_options_are_refused() -> None:
    with pytest.raises(PartMoveError, match="shard_paths is empty"):
        TwinLedger(params(shard_paths=[]))
    with pytest.raises(PartMoveError, match="partitions is empty"):
        TwinLedger(params(state="dropped", partitions=[]))
    with pytest.raises(FormatError, match="not a partition id"):
        TwinLedger(params(state="dropped", partitions=[{"shard_path": PATH, "partition": "a b"}]))
    with pytest.raises(FormatError):
        TwinLedger(params(state="dropped", partitions=[{"shard_path": "t", "partition": DAY}]))
