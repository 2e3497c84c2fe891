# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What servers with and without the patch make of moved partitions when they are started."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.ledger.entry import (
    ColdEnsemble,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.ledger.ledger import (
    Ledger,
    LedgerReadiness,
    ReplicaKey,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.ledger.withdraw import (
    DowngradeGuard,
    StillCold,
    Withdrawal,
    withdraw_replicas,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.move.to_cold import move_shard
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.paths import DEFAULT_ROOT
from support.memory.ledger import enter
from support.memory.moves import ANY
from support.servers.clickhouse import ClickHouseCluster, ClickHouseServer, ZooKeeperSource
from support.servers.moving import Mover
from support.servers.process import ServerError
from support.servers.registered import Registry
from support.servers.replicated import (
    OLD_STYLE,
    UNPARTITIONED,
    WITHOUT_MERGES,
    ReplicatedTable,
    TableMaker,
    wait_for,
)

DAY, OTHER = "20191201", "20191202"
PART = f"{DAY}_0_0_0"

pytestmark = [pytest.mark.clickhouse, pytest.mark.patched, pytest.mark.usefixtures("healthy")]


@pytest.fixture
def table(make_table: TableMaker) -> ReplicatedTable:
    """A table with three rows in one partition and thirty in another."""
    made = make_table(WITHOUT_MERGES)
    made.fill(["2019-12-01"])
    made.fill(["2019-12-02"], rows=30)
    made.settle()
    return made


def log_of(server: ClickHouseServer) -> str:
    return (server.folder / "clickhouse-server.log").read_text()


def has_table(server: ClickHouseServer, table: ReplicatedTable) -> bool:
    return server.query(f"SELECT name FROM system.tables WHERE name = '{table.name}'") == [(table.name,)]


def test_after_a_restart_every_part_is_active(
    replicas: ClickHouseCluster,
    table: ReplicatedTable,
    make_table: TableMaker,
    mover: Mover,
    registry: Registry,
) -> None:
    by_month, whole = make_table(OLD_STYLE), make_table(UNPARTITIONED)
    for other in (by_month, whole):
        other.fill(["2019-11-01"])
        other.settle()
    moves = ((table, DAY), (by_month, "201911"), (whole, "all"))
    before = [each.seen() for each, _partition in moves]
    for each, partition in moves:
        assert mover.move(each, [partition]).moved.keys() == {partition}

    for server in replicas.servers:
        server.restart()

    for (each, _partition), expected in zip(moves, before, strict=True):
        each.settle()
        assert each.seen() == expected
        assert [registry.queue(each, replica) for replica in ("r1", "r2")] == [[], []]
    for server in replicas.servers:
        replica = server.options.macros["replica"]
        start = f"Cold ZooKeeper: start of {table.path}/replicas/{replica}:"
        assert f"{start} 1 parts are registered in hot and 1 in cold" in log_of(server)
    table.insert("('2019-12-02', 99)", server=1)
    table.settle()
    assert [len(table.rows(number)) for number in (0, 1)] == [34, 34]


@pytest.mark.parametrize("kind", ["stock", "cold without the table"])
def test_a_server_that_does_not_know_the_cold_ensemble_refuses_mostly_cold_tables(
    table: ReplicatedTable,
    mover: Mover,
    cold_source: ZooKeeperSource,
    registry: Registry,
    base: str,
    kind: str,
) -> None:
    """That is why every replica is patched before the first move, and none is let go of after it."""
    before = table.seen()
    keys = [ReplicaKey(table.path, name) for name in ("r1", "r2")]
    enter(mover.hot, mover.cold, *keys)
    assert mover.move(table, [DAY, OTHER]).moved.keys() == {DAY, OTHER}
    server = table.servers[0]

    with pytest.raises(StillCold, match="2 partitions are registered in cold only"):
        withdraw_replicas(
            DowngradeGuard(mover.hot, mover.cold, DEFAULT_ROOT), Ledger(mover.hot), keys[:1], Withdrawal()
        )
    if kind == "stock":
        server.become(patched=False, cold=cold_source)
    else:
        registry.cold.create(f"{base}-empty")
        server.become(patched=True, cold=ZooKeeperSource(cold_source.connect, f"{base}-empty"))
    assert refuses(server, table)

    server.restart_patched(cold_source)
    table.settle()
    assert table.seen() == before


def refuses(server: ClickHouseServer, table: ReplicatedTable) -> bool:
    """Whether it ends because of its tables; the stock one at times runs without the table, or aborts."""
    before = len(log_of(server))
    try:
        server.start()
    except ServerError as error:
        # The stock server may lose what was wrong with the table: it fails as it waits for its own threads.
        loading = "Caught exception while loading metadata" in log_of(server)[before:]
        return loading or "exit status -6" in str(error)
    return not has_table(server, table)


def test_a_stock_server_silently_sets_the_smaller_half_aside(
    table: ReplicatedTable, mover: Mover, cold_source: ZooKeeperSource
) -> None:
    before, rows = table.seen(), table.rows()
    assert mover.move(table, [DAY]).moved.keys() == {DAY}
    server = table.servers[0]

    server.restart_stock(cold_source)
    wait_for(lambda: table.detached(0) == [f"ignored_{PART}"])
    assert table.active_parts(0).keys() == {OTHER}
    assert (len(table.rows(0)), table.rows(1)) == (30, rows)

    # The way back: its old name, and a start as patched server.
    server.stop()
    (table.folder() / "detached" / f"ignored_{PART}").rename(table.folder() / PART)
    server.restart_patched(cold_source)
    table.settle()
    assert table.seen() == before


def test_a_stock_server_is_not_ready(
    table: ReplicatedTable, mover: Mover, cold_source: ZooKeeperSource
) -> None:
    """The order of the rollout is kept by the ledger: what was ready as patched is not after a restart."""
    for name in ("r1", "r2"):
        enter(mover.hot, mover.cold, ReplicaKey(table.path, name))

    table.servers[0].restart_stock(cold_source)
    table.settle()

    readiness = LedgerReadiness(Ledger(mover.hot), ColdEnsemble.of(mover.cold))
    context = mover.context(table)._replace(readiness=readiness)
    refusal = move_shard(context, table.path, [DAY], ANY).deferred[DAY]
    assert refusal.gate == "patched_replicas"
    assert refusal.reason == "replica r1 restarted, or had a new session, since it was verified"


def test_a_lost_part_that_is_registered_in_cold_is_fetched_only_when_a_replica_has_it_in_hot(
    table: ReplicatedTable, mover: Mover, registry: Registry
) -> None:
    rows = table.rows()
    assert mover.move(table, [DAY]).moved.keys() == {DAY}
    _first, second = table.servers
    second.stop()
    (table.folder(1) / PART).rename(second.folder / PART)
    second.start()

    assert f"part {PART} is registered in cold and not on disk: its fetch is queued" in log_of(second)
    wait_for(lambda: f"No active replica has part {PART}" in log_of(second))
    assert len(table.rows(1)) == 30

    registry.register_in_hot(table, "r1", DAY)
    # The server has given up by now; it asks again when it loads the table.
    second.execute(f"DETACH TABLE {table.name}")
    second.execute(f"ATTACH TABLE {table.name}")
    wait_for(lambda: table.rows(1) == rows)
    assert registry.of(table, DAY).hot == {"r1": [PART], "r2": [PART]}
