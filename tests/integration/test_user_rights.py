# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The rights in docs/operate/clickhouse-rights.md are enough for each module, and all are needed."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.client import ClickHouseClient
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.options import ClickHouseOptions
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.usage import read_usage
from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import PartMoveError
from support.ansible.calls import Call, run_modules
from support.ansible.twin_runs import DAY, ModernTables
from support.servers.clickhouse_config import ZooKeeperSource
from support.servers.ladder.guarded import GuardedShard, guarded_shard
from support.servers.replicated import wait_for
from support.servers.zookeeper import Ensemble

pytestmark = [pytest.mark.ladder(real_only=True), pytest.mark.long(minutes=1.5)]

PAGE = Path(__file__).resolve().parents[2] / "docs" / "operate" / "clickhouse-rights.md"
_SECTION = re.compile(r"^## (.+)\n(?:(?!^## ).*\n)*?```sql\n((?:.*\n)*?)```$", re.MULTILINE)
_GRANT = re.compile(r"GRANT (?P<rights>.+) ON (?P<on>\S+) TO partmove;")
RIGHTS = {
    title: [
        f"{right} ON {grant['on']}"
        for grant in _GRANT.finditer(statements)
        for right in grant["rights"].split(", ")
    ]
    for title, statements in _SECTION.findall(PAGE.read_text(encoding="utf-8"))
}
"""Section of the page → its rights, one by one."""


@pytest.fixture(scope="module")
def guarded(
    real_version: str,
    hot_ensemble: Ensemble,
    cold_ensemble: Ensemble,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[GuardedShard]:
    hot, cold = ZooKeeperSource(hot_ensemble.connect_string), ZooKeeperSource(cold_ensemble.connect_string)
    with guarded_shard(tmp_path_factory.mktemp("rights"), hot, {"cold": cold}, real_version) as shard:
        yield shard


class Asked(ModernTables):
    """A table in a database of its own, and modules that a user with some rights calls."""

    def __init__(self, guarded: GuardedShard, hot: Ensemble, cold: Ensemble, base: str) -> None:
        super().__init__(guarded.shard, hot, base)
        self.guarded = guarded
        self.cold = cold
        self.database = f"d_{uuid.uuid4().hex[:8]}"
        self.user = "default"
        self.shard.execute(f"CREATE DATABASE {self.database}")
        self.create_tables()

    def create_tables(self) -> None:
        """Create the table, at a path of its own, with a partition of two parts."""
        self.path = self.shard_path(f"hits_{uuid.uuid4().hex[:8]}")
        self.shard.execute(self.definition(f"{self.database}.hits", self.path))
        self.insert_into(f"{self.database}.hits", 1)
        self.insert_into(f"{self.database}.hits", 2)

    @property
    def given(self) -> dict[str, Any]:
        return {**super().given, "clickhouse": {"endpoints": self.shard.endpoints, "user": self.user}}

    @property
    def one_server(self) -> dict[str, Any]:
        return {"host": "127.0.0.1", "port": self.first.http_port, "user": self.user}

    def create_twin(self) -> None:
        self.shard.execute(self.definition(f"{self.database}.hits_cold", f"cold:{self.path}_cold"))

    def as_user_with(self, rights: Sequence[str]) -> None:
        """Be a new user with these rights from now on."""
        self.user = self.guarded.user(grants="")
        for right in rights:
            self.shard.execute(f"GRANT {right.replace('db.', f'{self.database}.')} TO {self.user}")

    def go(self, state: str) -> bool:
        answer = self.move(shard_paths=[self.path], state=state, checksums=True, stop_merges=True)
        return not answer["failed"] and answer["counts"]["moved"] == 1

    def numbers(self, table: str) -> list[list[int]]:
        return self.ids(f"{self.database}.{table}")


@pytest.fixture
def asked(guarded: GuardedShard, hot: Ensemble, cold: Ensemble, base: str) -> Asked:
    return Asked(guarded, hot, cold, base)


def require_each(
    asked: Asked, section: str, works: Callable[[], bool], prepare: Callable[[], object] | None = None
) -> None:
    """Require that something works with all rights of a section, and without none of them.

    prepare: is called before each try.
    """
    rights = RIGHTS[section]
    needless = []
    for missing in rights:
        if prepare is not None:
            prepare()
        asked.as_user_with([each for each in rights if each != missing])
        if works():
            needless.append(missing)
    assert not needless
    if prepare is not None:
        prepare()
    asked.as_user_with(rights)
    assert works()


def test_every_section_has_its_rights() -> None:
    assert all(RIGHTS.values())
    assert len(RIGHTS) == PAGE.read_text(encoding="utf-8").count("```sql\n")


def test_twin_table(asked: Asked) -> None:
    require_each(asked, "twin_table", lambda: bool(asked.give_twins(asked.path)["changed"]))


def test_twin_move(asked: Asked) -> None:
    asked.create_twin()
    rows = [[1, 2]] * 2

    def works() -> bool:
        done = asked.go("cold")
        # Whatever right is missing, no row is in both tables.
        assert (asked.numbers("hits"), asked.numbers("hits_cold")) == (
            ([[], []], rows) if done else (rows, [[], []])
        )
        done = done and asked.go("hot")
        if asked.numbers("hits_cold") != [[], []]:
            asked.user = "default"
            assert asked.go("hot")
        return done

    require_each(asked, "twin_move", works)


def test_table_move(guarded: GuardedShard, asked: Asked) -> None:
    def renew() -> None:
        for table in ("hits", "hits_cold"):
            asked.shard.execute(f"DROP TABLE IF EXISTS {asked.database}.{table} SYNC")
        asked.create_tables()
        asked.create_twin()

    def works() -> bool:
        answer = asked.answer("table_move", shard_paths=[asked.path], journal="", min_age="0")
        # Whatever right is missing, each row is in one of the tables.
        assert sorted([*asked.numbers("hits"), *asked.numbers("hits_cold")]) == [[], [], [1, 2], [1, 2]]
        return not answer["failed"] and bool(answer["changed"]) and not answer["deferred"]

    require_each(asked, "table_move", works, renew)
    assert asked.numbers("hits") == [[1, 2]] * 2


def test_twin_audit_info(asked: Asked) -> None:
    asked.create_twin()

    def works() -> bool:
        answer = asked.answer("twin_audit_info", shard_paths=[asked.path])
        return not answer["failed"] and bool(answer["complete"])

    require_each(asked, "twin_audit_info", works)


def test_twin_view(asked: Asked) -> None:
    asked.create_twin()
    require_each(
        asked, "twin_view", lambda: bool(asked.answer("twin_view", shard_paths=[asked.path])["changed"])
    )


def test_partition_merge(asked: Asked) -> None:
    asked.shard.execute(
        f"ALTER TABLE {asked.database}.hits MODIFY SETTING max_replicated_merges_in_queue = 16"
    )

    def works() -> bool:
        answer = asked.answer(
            "partition_merge",
            cold={"hosts": asked.cold.connect_string.split(",")},
            partitions=[{"shard_path": asked.path, "partition": DAY}],
            poll="1s",
        )
        return not answer["failed"] and bool(answer["merged"])

    require_each(asked, "partition_merge", works)


def test_replica_info(asked: Asked) -> None:
    def works() -> bool:
        (answer,) = run_modules(Call("replica_info", {"clickhouse": asked.one_server}))
        return not answer["failed"] and "ON system.zookeeper" not in json.dumps(answer)

    require_each(asked, "replica_info", works)


def test_config_reload(asked: Asked) -> None:
    if not asked.first.knows("config_reload_interval_ms"):
        pytest.skip("servers of this version read a changed file by themselves, within two seconds")
    file = asked.first.folder / "config.d" / "cold.xml"
    # The port of another member each time, so that there always is something to reload.
    ports = [member.files.ports.client for member in asked.cold.members]

    def works() -> bool:
        ports.append(ports.pop(0))
        source = ZooKeeperSource(f"127.0.0.1:{ports[0]}").xml("cold")
        file.write_text(
            '<clickhouse><auxiliary_zookeepers replace="replace">'
            f"{source}</auxiliary_zookeepers></clickhouse>"
        )
        options = {
            "clickhouse": asked.one_server,
            "name": "cold",
            "nodes": [{"host": "127.0.0.1", "port": ports[0]}],
            "preprocessed": [str(asked.first.data_dir / "preprocessed_configs" / "config.xml")],
        }
        (answer,) = run_modules(Call("config_reload", options))
        return not answer["failed"] and bool(answer["changed"])

    require_each(asked, "config_reload", works)


def test_reads_of_a_classification(asked: Asked) -> None:
    table = f"{asked.database}.hits"
    asked.first.execute(f"SELECT * FROM {table}", log_queries=1)
    logged = f"SELECT count() FROM system.query_log WHERE has(tables, '{table}') AND type = 'QueryFinish'"
    wait_for(lambda: asked.first.query("SELECT 1 FROM system.tables WHERE name = 'query_log'") != [])
    wait_for(lambda: asked.first.value(logged) > 0)

    def works() -> bool:
        client = ClickHouseClient("127.0.0.1", asked.first.http_port, ClickHouseOptions(user=asked.user))
        try:
            found = [each for each in read_usage(client) if each.shard_path == asked.path]
        except PartMoveError:
            return False
        return any(each.active_parts == 2 for each in found) and any(each.reads for each in found)

    require_each(asked, "Classification that counts reads", works)
