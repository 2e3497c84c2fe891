# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The original PartMove that still runs beside ours on real servers, as audits and metrics show it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.audit import ShardAudit
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.reader import (
    EvidenceReader,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.report import AuditReport
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.delegating import DelegatingStore
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.paths import DEFAULT_ROOT
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.ports import ZnodeStore
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import Znode
from support.servers.clickhouse import ClickHouseCluster
from support.servers.leftovers import original, ours
from support.servers.leftovers.ground import DAY, OTHER, Ground
from support.servers.moving import FastClock
from support.servers.replicated import WITHOUT_MERGES, Definition

pytestmark = [pytest.mark.clickhouse, pytest.mark.patched, pytest.mark.long(minutes=1)]

HOUR = 3600.0


class Aged(DelegatingStore):
    """Shows the epochs of an ensemble as if the last run had been so many seconds earlier.

    Nobody can turn back the clocks of the ensembles. All else is as the members answer it, also which
    transaction came after which.
    """

    def __init__(self, store: ZnodeStore, seconds: float) -> None:
        super().__init__(store)
        self._milliseconds = int(seconds * 1000)

    def read(self, paths: Sequence[str], *, absolute: bool = False) -> list[Znode | None]:
        """As a ZnodeReader does."""
        return [self._aged(each) for each in super().read(paths, absolute=absolute)]

    def _aged(self, znode: Znode | None) -> Znode | None:
        if znode is None or not znode.path.startswith(f"{DEFAULT_ROOT}/epochs/"):
            return znode
        return znode._replace(stat=znode.stat._replace(mtime=znode.stat.mtime - self._milliseconds))


@pytest.fixture
def ground(make_ground: Callable[[Definition], Ground], replicas: ClickHouseCluster) -> Iterator[Ground]:
    """A table of two partitions, all in hot."""
    yield make_ground(WITHOUT_MERGES)
    for server in replicas.servers:
        for (name,) in server.query("SELECT name FROM system.tables WHERE database = 'default'"):
            server.execute(f"DROP TABLE {name}")


def audit(ground: Ground, seconds_since_our_run: float = 0.0) -> ShardAudit:
    """Audit the table, as if our last run had been that much earlier."""
    mover = ground.mover
    hot, cold = (Aged(each, seconds_since_our_run) for each in (mover.hot, mover.cold))
    reader = EvidenceReader(hot, cold, ground.probe(), FastClock(mover.seconds_ahead), DEFAULT_ROOT)
    return ground.audit(reader)


def copy_only(ground: Ground) -> None:
    """Let the tool run as over a fourth shard: it sets no State and deletes nothing."""
    original.went_over_a_fourth_shard(ground)


def named(ground: Ground, seconds_since_our_run: float = 0.0) -> tuple[str, ...]:
    """Return the partitions that the audit, its summary and its metric name together."""
    found = audit(ground, seconds_since_our_run)
    assert not found.unjudged
    report = AuditReport([found])
    count = len(found.written_by_another)
    metric = f'partmove_audit_written_by_another{{shard_path="{ground.table.path}"}} {count}'
    assert (metric in report.metrics(0.0)) is bool(count)
    assert any("WRITTEN BY ANOTHER TOOL" in line for line in report.summary()) is bool(count)
    return found.written_by_another


def test_a_tool_that_copies_and_sets_no_state(ground: Ground) -> None:
    ground.move(DAY)
    ground.reheat(DAY)
    # What our run wrote is its own, also as if it had been long ago: its lock came and went after it.
    assert (named(ground), named(ground, 2 * HOUR)) == ((), ())

    # Its first copies, also of parts that were there before our last run. Those of DAY it leaves as they are.
    copy_only(ground)
    assert named(ground) == (OTHER,)

    # Our next run ends that, and nothing of its own is named.
    ground.move(DAY)
    ground.reheat(DAY)
    assert (named(ground), named(ground, 2 * HOUR)) == ((), ())

    # A run of the tool that finds nothing new writes nothing.
    copy_only(ground)
    assert (named(ground), named(ground, 2 * HOUR)) == ((), ())

    # It copies a part that came meanwhile.
    ground.table.insert("('2019-12-02', 9)")
    ground.table.settle()
    assert named(ground, 2 * HOUR) == ()
    copy_only(ground)
    assert named(ground) == ()
    assert named(ground, 2 * HOUR) == (OTHER,)


def test_a_tool_that_takes_a_partition_cold_again(ground: Ground) -> None:
    ground.move(DAY)
    ground.reheat(DAY)
    assert named(ground, 2 * HOUR) == ()
    ground.separate(DAY, is_first=False)
    # It wrote State of both partitions; within an hour only its first copies are certain.
    assert named(ground) == (OTHER,)
    assert named(ground, 2 * HOUR) == (DAY, OTHER)


@pytest.mark.parametrize("make", [ours.moved, ours.brought_back, original.ran_and_was_adopted])
def test_a_run_of_ours_is_no_other_tool(ground: Ground, make: Callable[[Ground], None]) -> None:
    """Neither do servers write the znodes by which another tool is known, also not as they start."""
    make(ground)
    ground.move(OTHER)
    for server in ground.table.servers:
        server.restart()
    ground.table.settle()
    assert (named(ground), named(ground, 2 * HOUR)) == ((), ())
