# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Invalid options of replica_info are refused before the first query, and no table is no health."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import PartMoveError
from ansible_collections.olap.partmove.plugins.module_utils._partmove.health.facts import ServerFacts
from ansible_collections.olap.partmove.plugins.module_utils._tasks import argspec
from ansible_collections.olap.partmove.plugins.module_utils._tasks.replica_info import ReplicaInfo
from support.memory.bench import Bench
from support.memory.resources import MemoryResources
from support.servers.health import DEFAULTS

SERVER = {name: option.get("default") for name, option in argspec.clickhouse_server()["options"].items()}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"clickhouse": {**SERVER, "host": " "}}, "The host of clickhouse is empty"),
        ({"clickhouse": {**SERVER, "port": 0}}, "The HTTP port of ClickHouse is 0"),
        ({"max_delay": "soon"}, "max_delay is 'soon', which is no duration"),
        ({"max_queue_age": "-1"}, "max_queue_age is '-1', which is no duration"),
        ({"sample_interval": ""}, "sample_interval is '', which is no duration"),
        ({"ddl_grace": "1y"}, "ddl_grace is '1y', which is no duration"),
        ({"replicas": [{"shard_path": "/p//t", "replica": "r1"}]}, "has two slashes in a row"),
        ({"replicas": [{"shard_path": "/p/t", "replica": "a/b"}]}, "'a/b' is not the name of a replica"),
        ({"before": {"healthy": True}}, "before is no earlier result of replica_info"),
        ({"coordination_root": "/"}, "coordination_root is '/'"),
    ],
)
def test_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(PartMoveError) as caught:
        ReplicaInfo({**DEFAULTS, "clickhouse": SERVER, **options})
    assert message in str(caught.value)
    assert caught.value.remedy


def test_without_an_answer_there_is_no_diagnosis() -> None:
    assert ReplicaInfo({**DEFAULTS, "clickhouse": SERVER}).result() == {"changed": False}


class BlindProbe:
    """A probe of a user who sees no table."""

    def server(self, _sign: str | None) -> ServerFacts:
        """Return a server with ZooKeeper."""
        return ServerFacts("ClickHouse at ch1:8123", "25.8.1", 100, 1000, None, None, 0, 0)

    def replicas(self, *, with_log: bool) -> list[Any]:
        """Return no replica."""
        return []

    def hidden(self) -> str:
        """Return why tables may be hidden."""
        return "ClickHouse at ch1:8123 shows the user only tables of certain databases"


def test_a_server_of_which_no_table_can_be_seen_is_not_healthy() -> None:
    params = {**DEFAULTS, "clickhouse": SERVER}
    task = ReplicaInfo(params)
    task._probe = BlindProbe()  # type: ignore[assignment]
    with pytest.raises(
        PartMoveError, match="No replicated table could be checked: ClickHouse at ch1:8123 shows"
    ):
        task.run(MemoryResources(Bench(), params))
    assert task.result() == {"changed": False}
