# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A server that is too old for auxiliary ensembles; tests/integration/test_reload.py has later ones."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.ansible.calls import Call, run_modules, run_playbook, write_playbook
from support.servers.clickhouse import ClickHouseServer, ServerOptions, ZooKeeperSource


@pytest.fixture
def server(clickhouse: str, tmp_path: Path) -> Iterator[ClickHouseServer]:
    """A server that runs; it has no ensemble to talk to and needs none."""
    options = ServerOptions(program=clickhouse)
    with ClickHouseServer("reloaded", tmp_path / "server", ZooKeeperSource("127.0.0.1:1"), options) as server:
        yield server


def test_a_server_whose_tables_cannot_be_in_an_auxiliary_ensemble_is_refused(
    server: ClickHouseServer,
) -> None:
    asked = {"clickhouse": {"host": "127.0.0.1", "port": server.http_port}, "name": "cold"}
    (refused,) = run_modules(Call("config_reload", {**asked, "nodes": [{"host": "c1"}]}))
    assert refused["failed"]
    assert f"127.0.0.1:{server.http_port} runs ClickHouse 18.16.1, and tables can be in" in refused["msg"]


def test_the_role_refuses_an_old_version_and_to_restart_what_is_not_well(
    server: ClickHouseServer, tmp_path: Path
) -> None:
    """This one is both: its tables could not be there, and it has no ensemble to talk to."""
    variables = {
        "auxiliary_ensemble_clickhouse": {"host": "127.0.0.1", "port": server.http_port},
        "auxiliary_ensemble__known": {"reason": "it has not read it"},
    }
    tasks: list[dict[str, Any]] = [
        {
            "block": [
                {
                    "ansible.builtin.include_role": {
                        "name": "olap.partmove.auxiliary_ensemble",
                        "tasks_from": tasks_from,
                        "rolespec_validate": False,
                    },
                    "vars": variables,
                }
            ],
            "rescue": [{"ansible.builtin.debug": {"msg": "refused: {{ ansible_failed_result.msg }}"}}],
        }
        for tasks_from in ("server_state.yml", "restart.yml")
    ]
    pid = server.pid
    run = run_playbook(write_playbook(tmp_path, tasks))
    old, unwell = (line for line in run.output.splitlines() if '"msg": "refused: ' in line)
    assert "localhost runs ClickHouse 18.16.1, whose tables cannot be in an auxiliary ensemble." in old
    assert "localhost has to be restarted to know the ensemble cold (it has not read it)" in unwell
    assert server.pid == pid
