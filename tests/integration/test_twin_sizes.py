# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Servers that drop only small parts and tables, as all do of parts above 50 GB.

Only real servers have such a limit: those made of clickhouse-local drop parts of any size.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.client import ClickHouseClient
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.drop_limits import DropLimits
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.options import ClickHouseOptions
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.sent_settings import (
    PART_SIZE,
    TABLE_SIZE,
    KnownSettings,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import NotPermitted
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.partition import TwinOptions
from support.ansible.dying_servers import DyingServers, run_until_killed
from support.ansible.twin_runs import DAY, NEXT, ModernTables
from support.servers.clickhouse_config import ZooKeeperSource
from support.servers.modern.drop_in import write_drop_in
from support.servers.modern.server import ModernServer, ModernShard, modern_shard
from support.servers.sql_server import QueryError
from support.servers.zookeeper import Ensemble

pytestmark = pytest.mark.ladder

LIMIT = 100_000
"""More bytes than parts of a row have, and less than those of MANY."""
MANY = 20_000
CONSTRAINED = "max_partition_size_to_drop CONST"
"""Of a user for whom the limit of the configuration counts."""


def limit(server: ModernServer, size: int) -> None:
    """Let the server drop parts and tables up to this size."""
    names = ("max_partition_size_to_drop", "max_table_size_to_drop")
    write_drop_in(server, "sizes", "".join(f"<{name}>{size}</{name}>" for name in names))


@pytest.fixture(scope="module")
def limited(
    real_version: str,
    hot_ensemble: Ensemble,
    cold_ensemble: Ensemble,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[ModernShard]:
    hot, cold = ZooKeeperSource(hot_ensemble.connect_string), ZooKeeperSource(cold_ensemble.connect_string)
    shard = modern_shard(tmp_path_factory.mktemp("sizes"), hot, {"cold": cold}, version=real_version)
    for server in shard.servers:
        limit(server, LIMIT)
    with shard:
        yield shard


class Place(ModernTables):
    """A table with a twin: a partition with a part above the limit between two others, and a small one."""

    def __init__(self, shard: ModernShard, hot: Ensemble, base: str) -> None:
        super().__init__(shard, hot, base)
        self.database = f"d_{uuid.uuid4().hex[:8]}"
        self.name, self.cold = f"{self.database}.t", f"{self.database}.t_cold"
        self.path = self.shard_path(self.database)
        self.user = "default"
        shard.execute(f"CREATE DATABASE {self.database}")
        columns = "(day Date, id UInt64, text String DEFAULT toString(cityHash64(id)))"
        shard.execute(self.definition(self.name, self.path, columns))
        shard.execute(self.definition(self.cold, f"cold:{self.path}_cold", columns))
        self.insert_into(self.name, 1)
        self.insert_many(self.name)
        self.insert_into(self.name, 2)
        self.insert_into(self.name, 3, day=NEXT)
        self.rows = self.rows_of(self.name)

    @property
    def given(self) -> dict[str, Any]:
        return {**super().given, "clickhouse": {"endpoints": self.shard.endpoints, "user": self.user}}

    def insert_many(self, table: str) -> None:
        self.first.execute(
            f"INSERT INTO {table} (day, id) SELECT '2024-01-01', number + 10 FROM numbers({MANY})"
        )
        self.shard.execute(f"SYSTEM SYNC REPLICA {table}")

    def be_user(self, settings: str) -> None:
        """Be a new user from now on, who may do everything, with these settings and constraints."""
        self.user = f"u_{uuid.uuid4().hex[:8]}"
        for server in self.shard.servers:
            server.execute(f"CREATE USER {self.user} SETTINGS {settings}")
            server.execute(f"GRANT CURRENT GRANTS(ALL ON *.*) TO {self.user}")

    def rows_of(self, *tables: str, day: str = "") -> list[tuple[int, int]]:
        """Number and sum of the ids of the tables on each replica, of a partition or of all."""
        union = " UNION ALL ".join(
            f"SELECT id FROM {table}" + (f" WHERE _partition_id = '{day}'" if day else "") for table in tables
        )
        return [server.query(f"SELECT count(), sum(id) FROM ({union})")[0] for server in self.shard.servers]

    def parts_of(self, table: str, day: str) -> int:
        return int(
            self.first.value(
                f"SELECT count() FROM system.parts WHERE active AND partition_id = '{day}'"
                f" AND database = '{self.database}' AND table = '{table.partition('.')[2]}'"
            )
        )

    def go(self, state: str, *, check: bool = False) -> dict[str, Any]:
        return self.move(shard_paths=[self.path], state=state, check=check)

    def refused_drop(self) -> bool:
        """Whether the server refuses to drop the large part, as it is."""
        try:
            self.first.execute(f"ALTER TABLE {self.name} DROP PART '{DAY}_1_1_0'")
        except QueryError as error:
            return "TABLE_SIZE_EXCEEDS_MAX_DROP_SIZE_LIMIT" in str(error)
        return False


@pytest.fixture
def place(limited: ModernShard, hot: Ensemble, base: str) -> Place:
    return Place(limited, hot, base)


def gates_of(answer: dict[str, Any]) -> dict[str, str]:
    return {each["partition"]: each["gate"] for each in answer["deferred"]}


def test_parts_of_any_size_move_there_and_back(place: Place) -> None:
    """The limit is lifted for statements that drop what the other table has."""
    assert place.refused_drop()
    for state, table in (("cold", place.cold), ("hot", place.name)):
        moved = place.go(state)
        assert (moved["counts"]["moved"], moved["deferred"]) == (2, []), moved
        assert place.rows_of(place.name, place.cold) == place.rows_of(table) == place.rows


@pytest.mark.parametrize("state", ["cold", "hot"])
def test_a_part_above_a_limit_that_counts_is_refused_before_the_attach(place: Place, state: str) -> None:
    source, to = (place.name, place.cold) if state == "cold" else (place.cold, place.name)
    if state == "hot":
        assert place.go("cold")["counts"]["moved"] == 2
    place.be_user(CONSTRAINED)
    checked = place.go(state, check=True)
    assert gates_of(checked) == {DAY: "parts_droppable"}, checked
    assert NEXT in checked["diff"]["after"]
    assert DAY not in checked["diff"]["after"]
    moved = place.go(state)
    assert (moved["counts"]["moved"], gates_of(moved)) == (1, {DAY: "parts_droppable"}), moved
    (deferred,) = moved["deferred"]
    assert "drops parts of at most 100,000 bytes for this user (max_partition_size_to_drop)" in str(deferred)
    assert (place.parts_of(source, DAY), place.parts_of(to, DAY)) == (3, 0)
    assert (place.parts_of(source, NEXT), place.parts_of(to, NEXT)) == (0, 1)
    # As its remedy says.
    place.be_user("readonly = 0")
    assert place.go(state)["counts"]["moved"] == 1
    assert place.rows_of(place.name, place.cold) == place.rows_of(to) == place.rows


@pytest.mark.parametrize("state", ["cold", "hot"])
def test_a_refused_drop_keeps_only_the_partition_of_its_part(place: Place, state: str) -> None:
    """A run was killed after the ATTACH, so that no gate keeps the next one from dropping."""
    source, to = (place.name, place.cold) if state == "cold" else (place.cold, place.name)
    if state == "hot":
        assert place.go("cold")["counts"]["moved"] == 2
    kill_after_attach(place, state)
    place.be_user(CONSTRAINED)
    for moved in (1, 0):
        answer = place.go(state)
        assert (answer["counts"]["moved"], gates_of(answer)) == (moved, {DAY: "parts_droppable"}), answer
        (deferred,) = answer["deferred"]
        assert f"refuses to drop part {DAY}_" in deferred["reason"], deferred
        assert "CONST" not in deferred["remedy"]
        # The server dropped what came before the large part.
        assert (place.parts_of(source, DAY), place.parts_of(to, DAY)) == (2, 3)
        assert place.rows_of(source, day=NEXT) == [(0, 0)] * 2
    with raised_limit(place):
        answer = place.go(state)
    assert (answer["counts"]["moved"], answer["deferred"]) == (1, []), answer
    assert place.rows_of(place.name, place.cold) == place.rows_of(to) == place.rows


def test_an_undo_drops_clones_of_any_size_or_is_continued(place: Place) -> None:
    kill_after_attach(place, "cold")
    # The source has more than the record, so the clones are dropped.
    place.insert_into(place.name, 4)
    rows = place.rows_of(place.name)
    place.be_user(CONSTRAINED)
    for _again in range(2):
        answer = place.go("cold")
        assert gates_of(answer) == {DAY: "parts_droppable"}, answer
        assert f"of {place.cold}" in answer["deferred"][0]["reason"], answer
        assert (place.parts_of(place.name, DAY), place.parts_of(place.cold, DAY)) == (4, 2)
    place.user = "default"
    answer = place.go("cold")
    assert (answer["counts"]["moved"], answer["deferred"]) == (1, []), answer
    assert place.rows_of(place.name, place.cold) == place.rows_of(place.cold) == rows


def kill_after_attach(place: Place, state: str) -> None:
    """Run in a process that dies right after the ATTACH of both partitions."""
    servers = DyingServers(place.asked(), 0, given=True)
    run_until_killed(lambda: place.move_here(servers, state, place.path, DAY, TwinOptions(), more=[NEXT]))


@contextmanager
def raised_limit(place: Place) -> Iterator[None]:
    """As the remedy says, without a restart."""
    try:
        for server in place.shard.servers:
            limit(server, 0)
            server.execute("SYSTEM RELOAD CONFIG")
        yield
    finally:
        for server in place.shard.servers:
            limit(server, LIMIT)
            server.execute("SYSTEM RELOAD CONFIG")


def test_a_detached_part_of_any_size_can_be_deleted(place: Place) -> None:
    """As twin_repair does with parts that nobody needs: the server compares no size."""
    part = f"{DAY}_1_1_0"
    alter = f"ALTER TABLE {place.name}"
    place.first.execute(f"{alter} DETACH PART '{part}'", alter_sync=2, max_partition_size_to_drop=0)
    assert place.parts_of(place.name, DAY) == 2
    kept = f"SELECT count() FROM system.detached_parts WHERE database = '{place.database}'"
    assert place.first.value(kept) == 1
    place.first.execute(f"{alter} DROP DETACHED PART '{part}'", allow_drop_detached=1)
    assert place.first.value(kept) == 0


def test_a_whole_table_goes_there_and_back(place: Place) -> None:
    for state in ("cold", "hot"):
        done = place.answer(
            "table_move", shard_paths=[place.path], state=state, min_age="0", journal="", ensemble="cold"
        )
        assert not done["failed"], done
        assert done["finished"], done
        # The table has its name, wherever its parts are.
        assert place.rows_of(place.name) == place.rows


@pytest.mark.parametrize("user", ["readonly = 0", CONSTRAINED])
def test_a_repair_detaches_parts_of_any_size_or_none(place: Place, user: str) -> None:
    place.first.execute(
        f"ALTER TABLE {place.cold} ATTACH PARTITION ID '{DAY}' FROM {place.name}", alter_sync=2
    )
    place.be_user(user)
    answer = place.answer("twin_repair", shard_paths=[place.path], kind="equal", journal="")
    if user == CONSTRAINED:
        assert answer["counts"] == {"repaired": 0, "left": 1}, answer
        assert "drops parts of at most 100,000 bytes" in str(answer["left"])
        assert (place.parts_of(place.name, DAY), place.parts_of(place.cold, DAY)) == (3, 3)
        with raised_limit(place):
            answer = place.answer("twin_repair", shard_paths=[place.path], kind="equal", journal="")
    assert answer["counts"] == {"repaired": 1, "left": 0}, answer
    assert place.rows_of(place.name, place.cold) == place.rows


@pytest.mark.parametrize(
    ("settings", "lifted", "most"),
    [
        ("readonly = 0", True, None),
        ("readonly = 2", True, None),
        ("max_partition_size_to_drop = 70000", True, None),
        ("max_partition_size_to_drop MAX 70000", True, None),
        ("readonly = 1", False, LIMIT),
        ("max_partition_size_to_drop CONST", False, LIMIT),
        ("max_partition_size_to_drop MIN 10", False, LIMIT),
        ("max_partition_size_to_drop = 70000 CONST", False, 70_000),
        ("max_partition_size_to_drop = 0 CONST", True, None),
    ],
)
def test_a_limit_counts_where_the_user_may_not_lift_it(
    place: Place, settings: str, lifted: bool, most: int | None
) -> None:
    place.be_user(settings)
    client = client_of(place)
    limits = DropLimits(KnownSettings())
    assert limits.lifted(client, PART_SIZE) == ({"max_partition_size_to_drop": 0} if lifted else {})
    assert limits.most_bytes(client) == most
    may_lift = {} if settings == "readonly = 1" else {"max_table_size_to_drop": 0}
    assert limits.lifted(client, TABLE_SIZE) == may_lift


def test_a_limit_that_the_user_may_not_read_is_an_error(place: Place) -> None:
    place.be_user(CONSTRAINED)
    place.shard.execute(f"REVOKE ALL ON *.* FROM {place.user}")
    with pytest.raises(NotPermitted, match=r"GRANT|grant"):
        DropLimits(KnownSettings()).most_bytes(client_of(place))


def test_a_server_without_a_limit_drops_parts_of_any_size(place: Place) -> None:
    place.be_user(CONSTRAINED)
    with raised_limit(place):
        assert DropLimits(KnownSettings()).most_bytes(client_of(place)) is None
        assert place.go("cold")["counts"]["moved"] == 2


def client_of(place: Place) -> ClickHouseClient:
    return ClickHouseClient("127.0.0.1", place.first.http_port, ClickHouseOptions(user=place.user))
