# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What replica_info says of a server, without a playbook around it."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from ansible_collections.olap.partmove.plugins.module_utils._tasks.replica_info import ReplicaInfo
from ansible_collections.olap.partmove.plugins.module_utils._tasks.resources import Resources
from support.servers.clickhouse import ClickHouseServer

DEFAULTS: dict[str, Any] = {
    "hot": None,
    "cold": None,
    "coordination_root": "/partmove",
    "patched_sign": None,
    "replicas": None,
    "before": None,
    "config_changed_at": None,
    "max_delay": "60s",
    "max_queue_age": "60s",
    "sample_interval": "2s",
    "ddl_path": "/clickhouse/task_queue/ddl",
    "ddl_grace": "60s",
    "read_disk": True,
}
"""Options of the module; folders are read, as these servers cannot tell what is in them."""


def ask(server: ClickHouseServer, timeout: float = 30.0, **options: Any) -> dict[str, Any]:
    """Return the result of the module; raises PartMoveError where it fails.

    timeout: how long each query may take, in seconds.
    """
    clickhouse = {"host": "127.0.0.1", "port": server.http_port, "timeout": timeout}
    params = {**DEFAULTS, "clickhouse": clickhouse, **options}
    task = ReplicaInfo(params)
    with ExitStack() as stack:
        task.run(Resources(params, stack, check_mode=False))
    return task.result()


def symptoms(result: dict[str, Any], where: str | None = None) -> list[str]:
    """Names of the symptoms found, in order; with ``where`` those of one table, znode or server."""
    return [each["symptom"] for each in result["findings"] if where is None or each["where"] == where]


def finding(result: dict[str, Any], symptom: str, where: str | None = None) -> dict[str, str]:
    """The only finding of a symptom; with ``where`` the only one there."""
    found = [each for each in result["findings"] if each["symptom"] == symptom]
    (only,) = [each for each in found if where is None or each["where"] == where]
    return dict(only)
