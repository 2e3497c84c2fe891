# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The task of config_reload on a server that hides the identity; tests/integration has real servers."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.client import (
    ClickHouseClient,
    QueryRefused,
)
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.options import ClickHouseOptions
from ansible_collections.olap.partmove.plugins.module_utils._tasks import config_reload
from ansible_collections.olap.partmove.plugins.module_utils._tasks.config_reload import ConfigReload
from ansible_collections.olap.partmove.plugins.module_utils._tasks.resources import Resources

MEMBER = "<node><host>c1</host><port>2181</port></node>"
FILE = "<clickhouse><auxiliary_zookeepers><cold>{}</cold></auxiliary_zookeepers></clickhouse>"


class Connected(ClickHouseClient):
    """A server with a session with the ensemble, which answers."""

    def __init__(self, *, can_reload: bool) -> None:
        super().__init__("h", 8123, ClickHouseOptions())
        self._can_reload = can_reload
        self.reloads = 0

    def version(self) -> str:
        return "25.8.1.1"

    def rows(self, sql: str, **settings: int) -> list[list[Any]]:
        if "system.columns" in sql:
            return [["zookeeperName"], ["name"]]
        return [["c1", 2181]] if "zookeeper_connection" in sql else []

    def execute(self, sql: str, **settings: int) -> None:
        assert sql == "SYSTEM RELOAD CONFIG"
        self.reloads += 1
        if not self._can_reload:
            raise QueryRefused(self.label, 1, "SYSTEM RELOAD CONFIG query is not supported")


@pytest.mark.parametrize("can_reload", [True, False])
@pytest.mark.parametrize(("may_reload", "reloads"), [(True, 1), (False, 0)])
def test_a_hidden_identity_needs_no_restart(
    may_reload: bool, reloads: int, can_reload: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server may not have read the identity, which a reload applies."""
    preprocessed, config = tmp_path / "preprocessed.xml", tmp_path / "config.xml"
    preprocessed.write_text(FILE.format(MEMBER))
    config.write_text(FILE.format(MEMBER + '<identity hide_in_preprocessed="true">u:p</identity>'))
    server = Connected(can_reload=can_reload)
    monkeypatch.setattr(config_reload, "client_of", lambda _params: server)
    params: dict[str, Any] = {
        "name": "cold",
        "clickhouse": {},
        "nodes": [{"host": "c1", "port": 2181, "secure": False}],
        "session_timeout_ms": None,
        "operation_timeout_ms": None,
        "root": None,
        "identity": "u:p",
        "preprocessed": [str(preprocessed)],
        "path": str(config),
        "reload": may_reload,
    }
    task = ConfigReload(params)
    with ExitStack() as stack:
        task.run(Resources(params, stack, check_mode=False))
    result = task.result()
    assert server.reloads == reloads
    assert (result["changed"], result["restart_needed"], result["reason"]) == (False, False, "")
