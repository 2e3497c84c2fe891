# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The rights in docs/operate/clickhouse-rights.md are enough for each module, and all are needed."""

from __future__ import annotations

import itertools
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
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.versions import (
    Release,
    release_of,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import PartMoveError
from support import whole_only
from support.ansible.calls import Call, run_modules
from support.ansible.twin_runs import DAY, ModernTables
from support.servers.clickhouse_config import ZooKeeperSource
from support.servers.kazoo_client import connected
from support.servers.ladder.guarded import GuardedShard, guarded_shard
from support.servers.replicated import wait_for
from support.servers.zookeeper import Ensemble

pytestmark = [pytest.mark.ladder, pytest.mark.long(minutes=1.5)]

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

    def columns(self, table: str) -> list[list[str]]:
        named = f"database = '{self.database}' AND table = '{table}'"
        names = f"SELECT name FROM system.columns WHERE {named} ORDER BY position"
        return [[name for (name,) in each.query(names)] for each in self.shard.servers]


@pytest.fixture
def asked(guarded: GuardedShard, hot: Ensemble, cold: Ensemble, base: str) -> Asked:
    return Asked(guarded, hot, cold, base)


def require_each(
    asked: Asked, section: str, works: Callable[[], bool], prepare: Callable[[], object] | None = None
) -> None:
    """Require that something works with all rights of a section; in whole runs, that none is needless.

    Trying without each right shows besides that an error in the middle does no harm.

    prepare: is called before each try.
    """
    rights = RIGHTS[section]
    needless = []
    for missing in rights if whole_only.is_whole() else ():
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


def test_twin_table_of_a_table_with_a_secret(asked: Asked) -> None:
    """CREATE TABLE … AS needs no other right."""
    secret = "encrypt('aes-128-ecb', 'x', '1234567890123456')"
    asked.first.execute(
        f"ALTER TABLE {asked.database}.hits ADD COLUMN secret String DEFAULT {secret}", alter_sync=2
    )
    asked.as_user_with(RIGHTS["twin_table"])
    done = asked.give_twins(asked.path)
    assert f"_cold AS {asked.database}.hits ENGINE" in done["twins"][0]["statement"]


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


def test_row_policies_of_twin_move(asked: Asked) -> None:
    asked.create_twin()
    create_reading_table(asked)

    def move(readers: str) -> dict[str, Any]:
        state = "cold" if asked.numbers("hits")[0] else "hot"
        return asked.move(shard_paths=[asked.path], state=state, readers=readers)

    usual = RIGHTS["twin_move"]
    rights = RIGHTS["Row policies of twin_move"]
    for missing in rights:
        asked.as_user_with([*usual, *(each for each in rights if each != missing)])
        refused = move("policy")
        assert [each["gate"] for each in refused["deferred"]] == ["readers_ready"], missing
        assert missing.split(" ON ")[0] in refused["deferred"][0]["reason"], refused
    asked.as_user_with(usual)
    answer = move("auto")
    assert answer["counts"]["moved"] == 1, answer
    assert answer["readers"][0]["tables"] == []
    assert "right SHOW on" in answer["readers"][0]["reason"]
    asked.as_user_with([*usual, *rights])
    answer = move("policy")
    assert answer["counts"]["moved"] == 1, answer
    assert answer["readers"][0]["tables"] == [f"{asked.database}.hits_all"]


def test_table_move(guarded: GuardedShard, asked: Asked) -> None:
    def renew() -> None:
        for table in ("hits", "hits_cold"):
            asked.shard.execute(f"DROP TABLE IF EXISTS {asked.database}.{table} SYNC")
        asked.create_tables()
        asked.create_twin()

    def works() -> bool:
        answer = asked.answer("table_move", shard_paths=[asked.path], journal="", min_age="0")
        if answer["failed"]:
            # Whatever right is missing, it was noticed before the first step.
            assert (asked.numbers("hits"), asked.numbers("hits_cold")) == ([[1, 2]] * 2, [[], []]), answer
            assert not answer.get("exchanged"), answer
        return not answer["failed"] and bool(answer["finished"])

    require_each(asked, "table_move", works, renew)
    assert asked.numbers("hits") == [[1, 2]] * 2


def test_table_move_of_a_root(asked: Asked) -> None:
    """The same rights are enough; a user who does not see a table does not take that for a success."""
    options: dict[str, Any] = {"root": asked.base, "journal": "", "min_age": "0"}
    asked.as_user_with([each for each in RIGHTS["table_move"] if "db." not in each])
    hidden = asked.answer("table_move", **options)
    assert hidden["failed"], hidden
    assert "No table at or below" in hidden["msg"]
    assert "GRANT SHOW TABLES" in hidden["msg"]
    asked.as_user_with(RIGHTS["table_move"])
    refused = asked.answer("table_move", **options)
    # Only the creation of the twin needs more.
    assert {(each["state"], "refused to create" in each["reason"]) for each in refused["outcomes"]} == {
        ("refused", True)
    }
    asked.create_twin()
    answer = asked.answer("table_move", **options)
    assert (answer["failed"], answer["finished"]) == (False, True), answer["msg"]
    assert asked.numbers("hits") == [[1, 2]] * 2


def test_table_move_that_may_not_stop_merges(asked: Asked) -> None:
    asked.create_twin()
    asked.as_user_with(RIGHTS["table_move"])
    answer = asked.answer("table_move", shard_paths=[asked.path], journal="", min_age="0", stop_merges=True)
    assert answer["failed"], answer
    assert "SYSTEM" in answer["msg"]
    assert "MERGES" in answer["msg"]
    # Versions that do not tell before refuse at the first partition.
    assert (asked.numbers("hits"), asked.numbers("hits_cold")) == ([[1, 2]] * 2, [[], []])


def test_twin_audit_info(asked: Asked) -> None:
    asked.create_twin()

    def works() -> bool:
        answer = asked.answer("twin_audit_info", shard_paths=[asked.path])
        return not answer["failed"] and bool(answer["complete"])

    require_each(asked, "twin_audit_info", works)


def test_twin_audit_info_with_a_loss(asked: Asked) -> None:
    asked.create_twin()
    assert asked.go("cold")
    assert asked.answer("twin_ledger", shard_paths=[asked.path], journal="")["counts"]["refused"] == 0
    asked.first.execute(f"TRUNCATE TABLE {asked.database}.hits_cold", alter_sync=2)
    for more, complete in (RIGHTS["twin_audit_info with a loss"], True), ([], False):
        asked.as_user_with([*RIGHTS["twin_audit_info"], *more])
        answer = asked.answer("twin_audit_info", shard_paths=[asked.path])
        assert (answer["failed"], answer["complete"]) == (False, complete)
        assert answer["kinds"]["lost"] == int(complete)


def test_twin_ledger(asked: Asked) -> None:
    asked.create_twin()
    assert asked.go("cold")

    def works() -> bool:
        answer = asked.answer("twin_ledger", shard_paths=[asked.path], journal="")
        counts = answer.get("counts", {})
        return not answer["failed"] and counts["entered"] + counts["unchanged"] == 1

    require_each(asked, "twin_ledger", works)


def test_twin_repair(asked: Asked) -> None:
    def renew() -> None:
        for server in asked.shard.servers:
            for table in ("hits", "hits_cold", f"hits_partmove_{DAY}"):
                server.execute(f"DROP TABLE IF EXISTS {asked.database}.{table} SYNC")
        asked.create_tables()
        asked.create_twin()
        asked.insert_into(f"{asked.database}.hits_cold", 2, 3)

    def works() -> bool:
        done = asked.answer("twin_repair", shard_paths=[asked.path], kind="as_many_rows", journal="")
        # Whatever right is missing, no row is missing.
        numbers = [*asked.numbers("hits")[0], *asked.numbers("hits_cold")[0]]
        assert {*numbers} == {1, 2, 3}
        return not done["failed"] and done["counts"]["repaired"] == 1

    require_each(asked, "twin_repair", works, renew)
    asked.as_user_with([*RIGHTS["twin_repair"], "SELECT ON system.detached_parts"])
    kept: dict[str, Any] = {
        "shard_paths": [asked.path],
        "kind": "kept_parts",
        "kept_parts_are_unneeded": True,
    }
    assert asked.answer("twin_repair", **kept, journal="")["counts"] == {"repaired": 1, "left": 0}


def test_twin_repair_of_what_was_set_aside_and_of_lost_znodes(asked: Asked) -> None:
    asked.create_twin()
    assert asked.go("cold")
    of_twin = f"active AND database = '{asked.database}' AND table = 'hits_cold'"
    part = asked.first.value(f"SELECT min(name) FROM system.parts WHERE {of_twin}")
    asked.first.execute(f"ALTER TABLE {asked.database}.hits_cold DETACH PART '{part}'", alter_sync=2)
    more = ("SELECT ON system.detached_parts", "SYSTEM SYNC REPLICA ON db.hits_cold")
    rights = [*RIGHTS["twin_repair"], *more]
    asked.as_user_with(rights[:-1])
    repair: dict[str, Any] = {"shard_paths": [asked.path], "journal": ""}
    refused = asked.answer("twin_repair", kind="set_aside", **repair)
    assert refused["failed"]
    assert "SYNC REPLICA" in refused["msg"]
    asked.as_user_with(rights)
    assert asked.answer("twin_repair", kind="set_aside", **repair)["counts"] == {"repaired": 1, "left": 0}
    assert asked.numbers("hits_cold") == [[1, 2]] * 2
    with connected(asked.cold.connect_string) as client:
        client.delete(f"{asked.path}_cold", recursive=True)
    assert asked.answer("twin_repair", kind="not_ready", **repair)["failed"]
    verbs = ("RESTART", "RESTORE")
    asked.as_user_with([*rights, *(f"SYSTEM {verb} REPLICA ON db.hits_cold" for verb in verbs)])
    done = asked.answer("twin_repair", kind="not_ready", **repair)
    assert done["counts"] == {"repaired": 1, "left": 0}, done
    assert asked.numbers("hits_cold") == [[1, 2]] * 2


def test_twin_view(asked: Asked) -> None:
    asked.create_twin()
    require_each(
        asked, "twin_view", lambda: bool(asked.answer("twin_view", shard_paths=[asked.path])["changed"])
    )


def let_mutations_be_assigned(asked: Asked) -> None:
    for name in ("hits", "hits_cold"):
        asked.shard.execute(
            f"ALTER TABLE {asked.database}.{name} MODIFY SETTING max_replicated_merges_in_queue = 16"
        )


def test_twin_alter(asked: Asked) -> None:
    asked.create_twin()
    let_mutations_be_assigned(asked)

    def finish() -> None:
        asked.user = "default"
        assert not asked.answer("twin_alter", shard_paths=[asked.path])["failed"]

    def works() -> bool:
        answer = asked.answer("twin_alter", shard_paths=[asked.path], alter="DELETE WHERE id = 9")
        return not answer["failed"] and len(answer["altered"][0]["statements"]) == 2

    require_each(asked, "twin_alter", works, prepare=finish)


def create_reading_table(asked: Asked) -> None:
    asked.shard.execute(
        f"CREATE TABLE {asked.database}.hits_all AS {asked.database}.hits"
        f" ENGINE = Merge('{asked.database}', '^(hits|hits_cold)$')"
    )


def test_twin_alter_of_columns_and_names(asked: Asked) -> None:
    asked.create_twin()
    let_mutations_be_assigned(asked)
    create_reading_table(asked)
    numbers = itertools.count()

    def finish() -> None:
        asked.user = "default"
        assert not asked.answer("twin_alter", shard_paths=[asked.path])["failed"]

    def works() -> bool:
        column, found = f"c{next(numbers)}", True
        for text in (f"ADD COLUMN {column} UInt8", f"DROP COLUMN {column}"):
            answer = asked.answer("twin_alter", shard_paths=[asked.path], alter=text)
            shown = asked.columns("hits_all")
            # Whatever right is missing, no success is reported while readers see other columns.
            assert answer["failed"] or shown == asked.columns("hits") == asked.columns("hits_cold"), answer
            found = found and not answer["failed"]
        return found

    require_each(asked, "twin_alter of columns and names", works, prepare=finish)


@pytest.mark.parametrize("statement", [{"alter": "ADD COLUMN x UInt8"}, {"rename": "other"}])
def test_twin_alter_of_a_user_who_may_not_see_the_reading_table(
    asked: Asked, statement: dict[str, Any]
) -> None:
    asked.create_twin()
    create_reading_table(asked)
    rights = RIGHTS["twin_alter of columns and names"]
    narrow = [each for each in rights if "hits_all" not in each and not each.endswith(" db.*")]
    # Those of a rename.
    narrow += [
        f"{right} ON db.{name}" for name in ("hits", "hits_cold") for right in ("SELECT", "DROP TABLE")
    ]
    new = ("other", "other_cold")
    narrow += [f"{right} ON db.{name}" for name in new for right in ("INSERT", "CREATE TABLE")]
    asked.as_user_with(narrow)
    answer = asked.answer("twin_alter", shard_paths=[asked.path], **statement)
    assert answer["failed"], answer
    assert f"lacks the right SHOW TABLES ON {asked.database}.*" in answer["msg"]
    (failed,) = answer["failed_shard_paths"]
    assert failed["remedy"] == f"GRANT SHOW TABLES ON {asked.database}.* to the user"
    asked.user = "default"
    again = asked.answer("twin_alter", shard_paths=[asked.path])
    # Nothing was recorded.
    assert (again["failed"], again["altered"][0]["finished"]) == (False, "")
    # Patterns in the names of tables came with 24.10.
    if release_of(asked.first.options.version, "the server") >= Release(24, 10):
        replaced = [
            f"{right} ON db.{name}"
            for name in ("hits_all", "_tmp_replace_*")
            for right in ("SELECT", "INSERT", "CREATE TABLE", "DROP TABLE")
        ]
        rights = ["SHOW TABLES ON db.*", "ALTER COLUMN ON db.hits_all", *replaced]
    asked.as_user_with([*narrow, *rights])
    done = asked.answer("twin_alter", shard_paths=[asked.path], **statement)
    assert not done["failed"], done
    assert asked.numbers("hits_all") == [[1, 2]] * 2


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
    finished = "SELECT count() FROM system.query_log WHERE type = 'QueryFinish' AND"
    wait_for(lambda: asked.first.query("SELECT 1 FROM system.tables WHERE name = 'query_log'") != [])
    # The INSERTs of the table are logged before its SELECT, and are no reads.
    wait_for(lambda: asked.first.value(f"{finished} has(tables, '{table}')") > 0)
    asked.first.execute(f"SELECT * FROM {table}", log_queries=1)
    wait_for(lambda: asked.first.value(f"{finished} has(partitions, '{table}.{DAY}')") > 0)

    def works() -> bool:
        client = ClickHouseClient("127.0.0.1", asked.first.http_port, ClickHouseOptions(user=asked.user))
        try:
            found = [each for each in read_usage(client) if each.shard_path == asked.path]
        except PartMoveError:
            return False
        return any(each.active_parts == 2 for each in found) and any(each.reads for each in found)

    require_each(asked, "Classification that counts reads", works)
