# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Profiles, constraints, quotas and row policies of the user, and ports of HTTPS, on real servers."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.client import (
    ClickHouseClient,
    QueryRefused,
)
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.options import ClickHouseOptions
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.plain_settings import PLAIN, SQL
from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import PartMoveError
from support.ansible.twin_runs import DAY, ModernTables
from support.servers.clickhouse_config import ZooKeeperSource
from support.servers.ladder.guarded import GuardedShard, guarded_shard
from support.servers.tls import TlsFiles
from support.servers.zookeeper import Ensemble

pytestmark = pytest.mark.ladder

MANY = "SELECT number FROM system.numbers LIMIT 100000"
"""Of more than one block, so that a limit can cut it."""


@pytest.fixture(scope="module")
def guarded(
    real_version: str,
    hot_ensemble: Ensemble,
    cold_ensemble: Ensemble,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[GuardedShard]:
    hot, cold = ZooKeeperSource(hot_ensemble.connect_string), ZooKeeperSource(cold_ensemble.connect_string)
    with guarded_shard(tmp_path_factory.mktemp("guarded"), hot, {"cold": cold}, real_version) as shard:
        yield shard


def client(guarded: GuardedShard, user: str) -> ClickHouseClient:
    return ClickHouseClient("127.0.0.1", guarded.first.http_port, ClickHouseOptions(user=user))


def refusal(guarded: GuardedShard, user: str, sql: str = "SELECT 1") -> str:
    with pytest.raises(PartMoveError) as caught:
        client(guarded, user).rows(sql)
    return str(caught.value)


def test_a_plain_profile_needs_no_setting(guarded: GuardedShard) -> None:
    user = guarded.user(settings="readonly = 1", grants="")
    assert client(guarded, user).rows("SELECT 1") == [[1]]
    ((known,),) = guarded.first.query(SQL)
    assert len(known) > len(PLAIN) - 4, known
    assert {each.partition("=")[0] for each in known} <= PLAIN.keys()


@pytest.mark.parametrize(
    "settings",
    [
        "limit = 7",
        "offset = 7",
        "offset = 1, limit = 1",
        "max_result_rows = 10, result_overflow_mode = 'break', max_block_size = 8",
        "additional_result_filter = 'number > 5'",
        r"additional_table_filters = '{\'system.numbers\': \'number != 5\'}'",
        "use_query_cache = 1",
        "extremes = 1",
        "use_query_cache = 1, offset = 1",
        # One header for each of 1,000 blocks; http.client reads at most 100 headers.
        "send_progress_in_http_headers = 1, http_headers_progress_interval_ms = 0, max_block_size = 100",
        "dialect = 'kusto'",
    ],
)
def test_what_a_profile_shortens_or_changes_is_overridden(guarded: GuardedShard, settings: str) -> None:
    if "= 'kusto'" in settings:
        settings = f"allow_experimental_kusto_dialect = 1, {settings}"
        if not guarded.first.knows("allow_experimental_kusto_dialect"):
            settings = "dialect = 'kusto'"
    asked = client(guarded, guarded.user(settings=settings))
    if "max_result_rows" in settings:
        # The limit stays, but is an error now and no short answer.
        for ask in (asked.rows, lambda sql: list(asked.stream(sql))):
            with pytest.raises(QueryRefused, match="Raise the limit in the profile of the user"):
                ask(MANY)
        return
    assert len(asked.rows(MANY)) == 100_000
    assert sum(1 for _row in asked.stream(MANY)) == 100_000


@pytest.mark.parametrize(
    ("settings", "sql"),
    [
        ("max_rows_to_read = 10, read_overflow_mode = 'break', max_block_size = 8", MANY),
        (
            "max_rows_in_set = 10, set_overflow_mode = 'break', max_block_size = 8",
            f"SELECT count() FROM numbers(1000) WHERE number IN ({MANY})",
        ),
        (
            "max_rows_to_group_by = 10, group_by_overflow_mode = 'any'",
            f"SELECT count() FROM ({MANY}) GROUP BY number",
        ),
        ("max_rows_in_distinct = 10, distinct_overflow_mode = 'break'", f"SELECT DISTINCT * FROM ({MANY})"),
        (
            "max_execution_time = 1, timeout_overflow_mode = 'break'",
            "SELECT sleepEachRow(1) FROM numbers(3) SETTINGS max_block_size = 1",
        ),
    ],
)
def test_a_limit_is_an_error_and_never_a_short_answer(guarded: GuardedShard, settings: str, sql: str) -> None:
    assert "Raise the limit in the profile of the user" in refusal(
        guarded, guarded.user(settings=settings), sql
    )


@pytest.mark.parametrize("more", ["readonly = 1", "limit CONST", "limit MIN 1 MAX 9"])
def test_a_setting_that_may_not_be_overridden_is_named(guarded: GuardedShard, more: str) -> None:
    constrained = more.startswith("limit")
    settings = more.replace("limit", "limit = 7") if constrained else f"limit = 7, {more}"
    said = refusal(guarded, guarded.user(settings=settings))
    assert "has a limit with which answers are short, have other values or cannot be read" in said
    assert "Set limit to '0' in the profile, or let the user change it: readonly = 2 instead of 1" in said


def test_a_user_with_readonly_2_is_asked_with_the_settings_that_queries_need(guarded: GuardedShard) -> None:
    user = guarded.user(settings="readonly = 2, limit = 7, join_use_nulls = 1")
    asked = client(guarded, user)
    assert len(asked.rows(MANY)) == 100_000
    with pytest.raises(PartMoveError, match="Use a user without readonly for what changes tables"):
        asked.execute("CREATE TABLE t (id UInt8) ENGINE = Memory")


def test_a_quota_is_named(guarded: GuardedShard) -> None:
    user = guarded.user()
    guarded.first.execute(f"CREATE QUOTA {user} FOR INTERVAL 1 year MAX queries = 1 TO {user}")
    said = refusal(guarded, user, "SELECT name FROM system.settings")
    assert "refused a query with code 201: Quota for user" in said
    assert "Raise the quota of the user, or run again after the interval of the quota" in said


def test_a_missing_right_is_named(guarded: GuardedShard) -> None:
    columns = ", ".join(f"zookeeper_path AS a{number}, log_pointer AS b{number}" for number in range(20))
    said = refusal(guarded, guarded.user(grants=""), f"SELECT *, {columns} FROM system.replicas")
    assert "it's necessary to have the grant SELECT ON system.replicas" in said
    assert "GRANT the named right to the user; docs/operate/clickhouse-rights.md" in said


class Https:
    """The port of HTTPS of the first server."""

    def __init__(self, guarded: GuardedShard) -> None:
        self.port = guarded.https["r1"]
        self.options = ClickHouseOptions(secure=True, ca=str(guarded.tls.authority))

    def rows(self, host: str = "127.0.0.1", **changed: Any) -> list[list[Any]]:
        return ClickHouseClient(host, self.port, replace(self.options, **changed)).rows("SELECT 1")


def test_https_with_the_authority_of_the_server(guarded: GuardedShard) -> None:
    https = Https(guarded)
    assert https.rows() == https.rows(ca="", verify=False) == [[1]]


def test_https_with_another_authority_or_host(guarded: GuardedShard, tmp_path: Path) -> None:
    https = Https(guarded)
    other = TlsFiles.create(tmp_path, "127.0.0.1")
    # The last one is a name of this machine too, but none of the certificate.
    for host, ca in (("127.0.0.1", ""), ("127.0.0.1", str(other.authority)), ("localhost", https.options.ca)):
        with pytest.raises(PartMoveError, match="certificate verify failed: .*Give the file of the author"):
            https.rows(host, ca=ca)


def test_ports_of_http_and_https_mixed_up(guarded: GuardedShard) -> None:
    https = Https(guarded)
    with pytest.raises(PartMoveError, match="If this port speaks TLS, set secure to true"):
        https.rows(secure=False, ca="")
    https.port = guarded.first.http_port
    # The server waits for the end of a line if the random bytes of the greeting look like a request.
    named = "the port does not speak TLS. Give the port of HTTPS|no answer .* whether that port speaks TLS"
    with pytest.raises(PartMoveError, match=named):
        https.rows()


class Pair(ModernTables):
    """A table with its twin, and a user who moves its partitions."""

    def __init__(self, guarded: GuardedShard, hot: Ensemble, base: str, user: str) -> None:
        super().__init__(guarded.shard, hot, base)
        self.name = f"t_{uuid.uuid4().hex[:8]}"
        self.user = user
        for name, path in ((self.name, ""), (f"{self.name}_cold", "cold:")):
            place = f"{path}{self.shard_path(self.name)}{'_cold' if path else ''}"
            self.shard.execute(self.definition(name, place))
        self.insert_into(self.name, 1, 2, 3)

    @property
    def given(self) -> dict[str, Any]:
        clickhouse = {"endpoints": self.shard.endpoints, "user": self.user}
        return {**super().given, "clickhouse": clickhouse}

    def go(self, state: str, **options: Any) -> dict[str, Any]:
        rows = [{"shard_path": self.shard_path(self.name), "partition": DAY}]
        return self.move(state=state, partitions=rows, **options)


@pytest.mark.parametrize("side", ["", "_cold"])
def test_a_row_policy_makes_no_checksum_of_some_rows(
    guarded: GuardedShard, hot: Ensemble, base: str, side: str
) -> None:
    user = guarded.user()
    pair = Pair(guarded, hot, base, user)
    policy = f"{user} ON {pair.name}{side}"
    pair.shard.execute(f"CREATE ROW POLICY {policy} USING id < 3 TO {user}")
    answer = pair.go("cold", checksums=True)
    (deferred,) = answer["deferred"]
    assert (
        f"has 3 rows in parts of default.{pair.name}{side}, and the user sees 2 of them" in deferred["reason"]
    )
    assert "Remove row policies on both tables from the user" in deferred["remedy"]
    pair.shard.execute(f"DROP ROW POLICY {policy}")
    assert (pair.ids(pair.name), pair.ids(f"{pair.name}_cold")) == ([[1, 2, 3]] * 2, [[], []])
    pair.shard.execute(f"CREATE ROW POLICY {policy} USING id < 3 TO {user}")
    # A partition is cloned with all its rows, whatever the user sees of them.
    moved = pair.go("cold")
    assert moved["counts"]["moved"] == 1, moved
    assert moved["moved"][0]["rows"] == 3
    pair.shard.execute(f"DROP ROW POLICY {policy}")
    assert (pair.ids(pair.name), pair.ids(f"{pair.name}_cold")) == ([[], []], [[1, 2, 3]] * 2)


def test_deleted_rows_are_in_the_checksums(guarded: GuardedShard, hot: Ensemble, base: str) -> None:
    pair = Pair(guarded, hot, base, guarded.user())
    for table in (pair.name, f"{pair.name}_cold"):
        # Otherwise no mutation is carried out.
        pair.shard.execute(f"ALTER TABLE {table} MODIFY SETTING max_replicated_merges_in_queue = 16")
    pair.first.execute(f"DELETE FROM {pair.name} WHERE id = 2", mutations_sync=2)
    for state in ("cold", "hot"):
        answer = pair.go(state, checksums=True)
        assert answer["counts"]["moved"] == 1, json.dumps(answer)
    assert pair.ids(pair.name) == [[1, 3]] * 2


def test_statistics_are_altered_by_a_user_who_may(guarded: GuardedShard, hot: Ensemble, base: str) -> None:
    if not guarded.first.knows("allow_experimental_statistics"):
        pytest.skip(f"{guarded.first.options.version} does not know allow_experimental_statistics")
    pair = Pair(guarded, hot, base, guarded.user(settings="allow_experimental_statistics = 1"))
    for table in (pair.name, f"{pair.name}_cold"):
        pair.shard.execute(f"ALTER TABLE {table} MODIFY SETTING max_replicated_merges_in_queue = 16")
    for text, count in [
        ("ADD STATISTICS id TYPE tdigest", 1),
        ("MODIFY STATISTICS id TYPE tdigest, uniq", 1),
        ("DROP STATISTICS id", 0),
    ]:
        answer = pair.answer("twin_alter", shard_paths=[pair.shard_path(pair.name)], alter=text, journal="")
        assert not answer["failed"], answer
        shown = "SELECT countIf(create_table_query LIKE '%STATISTICS(%') FROM system.tables"
        for each in pair.shard.servers:
            assert each.query(f"{shown} WHERE name LIKE '{pair.name}%'") == [(2 * count,)], text
    assert pair.go("cold")["counts"]["moved"] == 1


@pytest.mark.parametrize(
    "settings",
    [
        "limit = 1",
        "offset = 1, max_threads = 1",
        "max_result_rows = 1000, result_overflow_mode = 'break', max_block_size = 1",
        "join_use_nulls = 1, aggregate_functions_null_for_empty = 1, transform_null_in = 1",
        "empty_result_for_aggregation_by_empty_set = 1, apply_deleted_mask = 0, extremes = 1",
        "output_format_json_array_of_rows = 1, output_format_json_quote_64bit_integers = 1",
        "date_time_output_format = 'unix_timestamp', session_timezone = 'Asia/Tokyo'",
        "use_query_cache = 1, query_cache_system_table_handling = 'save', query_cache_min_query_runs = 0",
    ],
)
def test_a_partition_is_moved_by_a_user_with_any_profile(
    guarded: GuardedShard, hot: Ensemble, base: str, settings: str
) -> None:
    pair = Pair(guarded, hot, base, guarded.user(settings=settings))
    pair.insert_into(pair.name, 4)
    for state in ("cold", "hot"):
        answer = pair.go(state, checksums=True)
        assert answer["counts"]["moved"] == 1, json.dumps(answer)
        assert answer["moved"][0]["rows"] == 4
    assert (pair.ids(pair.name), pair.ids(f"{pair.name}_cold")) == ([[1, 2, 3, 4]] * 2, [[], []])


def test_a_setting_of_a_statement_that_may_not_be_changed_leaves_nothing(
    guarded: GuardedShard, hot: Ensemble, base: str
) -> None:
    pair = Pair(guarded, hot, base, guarded.user(settings="alter_sync = 1 CONST"))
    (deferred,) = pair.go("cold")["deferred"]
    assert "Setting alter_sync should not be changed" in deferred["reason"]
    assert deferred["remedy"].startswith("Let the user change alter_sync: readonly = 2 instead of 1, and no")
    assert (pair.ids(pair.name), pair.ids(f"{pair.name}_cold")) == ([[1, 2, 3]] * 2, [[], []])


def test_readers_without_a_policy_that_would_see_nothing_keep_policies_away(
    real_version: str, hot: Ensemble, cold: Ensemble, base: str, tmp_path: Path
) -> None:
    auxiliary = {"cold": ZooKeeperSource(cold.connect_string)}
    source = ZooKeeperSource(hot.connect_string)
    with guarded_shard(tmp_path, source, auxiliary, real_version, rows_without_policies=False) as strict:
        pair = Pair(strict, hot, base, "default")
        pair.shard.execute(
            f"CREATE TABLE {pair.name}_all AS {pair.name}"
            f" ENGINE = Merge('default', '^({pair.name}|{pair.name}_cold)$')"
        )
        refused = pair.go("cold", readers="policy")
        (deferred,) = refused["deferred"]
        assert deferred["gate"] == "readers_ready"
        assert "(users_without_row_policies_can_read_rows is false)" in deferred["reason"]
        assert strict.first.query("SELECT name FROM system.row_policies") == []
        moved = pair.go("cold")
        assert moved["counts"]["moved"] == 1, moved
        assert "users_without_row_policies_can_read_rows" in moved["readers"][0]["reason"]
        assert pair.ids(f"{pair.name}_all") == [[1, 2, 3]] * 2
        # With another policy, users who read rows have a permissive one.
        pair.shard.execute(f"CREATE ROW POLICY everybody ON {pair.name}_all USING 1 TO ALL")
        assert pair.go("hot", readers="policy")["counts"]["moved"] == 1
        assert pair.ids(f"{pair.name}_all") == [[1, 2, 3]] * 2
