# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A running server reads what was written about an auxiliary ensemble, and its own file tells so.

That it opens a session with the ensemble is more than this version can.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.ansible.calls import Call, run_modules, run_playbook, write_playbook
from support.servers.clickhouse import ClickHouseServer, ServerOptions, ZooKeeperSource

NODES: list[dict[str, Any]] = [{"host": "c1"}, {"host": "c2", "port": 2281}]
OTHERS: list[dict[str, Any]] = [{"host": "c3"}]


@pytest.fixture
def server(clickhouse: str, tmp_path: Path) -> Iterator[ClickHouseServer]:
    """A server that runs; it has no ensemble to talk to and needs none."""
    options = ServerOptions(program=clickhouse)
    with ClickHouseServer("reloaded", tmp_path / "server", ZooKeeperSource("127.0.0.1:1"), options) as server:
        yield server


def write(server: ClickHouseServer, nodes: list[dict[str, Any]]) -> Call:
    options = {"path": str(server.config_path), "element": "auxiliary_zookeepers", "name": "cold"}
    return Call("clickhouse_config", {**options, "nodes": nodes})


def reload(server: ClickHouseServer, nodes: list[dict[str, Any]], **options: Any) -> Call:
    preprocessed = [str(server.folder / "nowhere.xml"), str(preprocessed_of(server))]
    asked = {"clickhouse": {"host": "127.0.0.1", "port": server.http_port}, "preprocessed": preprocessed}
    return Call("config_reload", {**asked, "name": "cold", "nodes": nodes, **options})


def preprocessed_of(server: ClickHouseServer) -> Path:
    return server.data_dir / "preprocessed_configs" / "config.xml"


def test_new_and_changed_members_are_read_without_a_restart(server: ClickHouseServer) -> None:
    """It also reads them by itself after a moment, so nothing is said here of who was first."""
    pid = server.pid
    checked, asked, in_vain = run_modules(
        reload(server, NODES)._replace(check_mode=True),
        reload(server, NODES, reload=False),
        reload(server, NODES),
    )
    assert (checked["changed"], checked["restart_needed"], checked["read"]) == (True, False, False)
    for each in (asked, in_vain):
        assert (each["changed"], each["restart_needed"]) == (False, True)
        assert each["reason"] == "its preprocessed configuration does not have the desired element"
    for nodes in (NODES, OTHERS):
        written, known, again = run_modules(
            write(server, nodes), reload(server, nodes), reload(server, nodes)
        )
        assert written["changed"]
        assert (known["read"], known["restart_needed"], known["reason"]) == (True, False, "")
        # This version has no other way to tell.
        assert (known["answers"], known["connected"], known["version"]) == (None, [], "18.16.1")
        assert not again["changed"]
    assert server.pid == pid


def test_what_the_server_cannot_read_is_told_and_no_reason_for_a_restart(server: ClickHouseServer) -> None:
    run_modules(write(server, NODES))
    folder = server.config_path.with_suffix(".d")
    (folder / "broken.xml").write_text("<yandex><path>")
    (refused,) = run_modules(reload(server, OTHERS))
    assert refused["failed"]
    assert "refused a query with code" in refused["msg"]
    assert "broken.xml" in refused["msg"]
    assert refused["msg"].endswith("the server would not start with the file either.")


def test_a_server_that_does_not_tell_is_refused(server: ClickHouseServer) -> None:
    (refused,) = run_modules(reload(server, NODES, preprocessed=[]))
    assert refused["failed"]
    assert refused["msg"].startswith(
        f"ClickHouse at 127.0.0.1:{server.http_port} does not report whether it knows the auxiliary ensemble"
        " cold. Run the module on the host of the server, and give as preprocessed the file in which"
    )


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
