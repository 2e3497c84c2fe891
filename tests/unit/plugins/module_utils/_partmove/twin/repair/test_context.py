# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A context opens what the repairs of a shard path share."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import PartMoveError
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.readers import NoReaders
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.repair.report import (
    LeftAsIs,
    TwinRepairReport,
)
from support.memory.ledgers import tables_of_replicas
from support.memory.twin_repairs import RepairBench
from support.memory.twins import PATH, Twins


@pytest.mark.parametrize("check_mode", [True, False])
def test_readers_know_of_records_and_only_check_mode_lists_their_statements(*, check_mode: bool) -> None:
    bench = RepairBench(Twins(("a",)))
    bench.note(bench.record())
    asked: list[dict[str, Any]] = []

    def readers(shard: object, **options: Any) -> NoReaders:
        del shard
        asked.append(options)
        return NoReaders()

    bench.readers = readers
    context = bench.context(check_mode=check_mode)
    report = TwinRepairReport(PATH)
    shard = context.open(context.leases.acquire(PATH), tables_of_replicas(), report)
    assert asked == [{"has_records": True, "executed": report.statements if check_mode else None}]
    assert (shard.check_mode, shard.report) == (check_mode, report)
    shard.announce(["SELECT 1"])
    assert report.statements == ["SELECT 1"]


def test_server_that_fails_leaves_the_shard_path() -> None:
    bench = RepairBench(Twins(("a",)))

    def fail(*_given: object) -> Any:
        raise PartMoveError("no answer")

    bench.repairers.identities = fail  # type: ignore[assignment, method-assign]
    context = bench.context()
    with pytest.raises(LeftAsIs, match="no answer"):
        context.open(context.leases.acquire(PATH), tables_of_replicas(), TwinRepairReport(PATH))
