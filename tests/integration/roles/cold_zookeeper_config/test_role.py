# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The role cold_zookeeper_config: what it hands to the module, and the facts that it leaves behind."""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from support.ansible.calls import COLLECTIONS, PlaybookRun, run_playbook, write_playbook
from support.files.configs import written
from support.servers.zookeeper import Ensemble

SECRET = "Tr0ub4dor-and-3"


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """Debian's configuration, with a file of substitutions beside it that does not exist yet."""
    path = tmp_path / "etc" / "config.xml"
    path.parent.mkdir()
    substitutions = f"<yandex>\n    <include_from>{path.parent}/metrika.xml</include_from>"
    path.write_text(written("debian.xml").replace("<yandex>", substitutions))
    return path


@pytest.fixture
def nodes(cold: Ensemble) -> list[dict[str, Any]]:
    return [{"host": "127.0.0.1", "port": member.files.ports.client} for member in cold.members]


def run_role(config: Path, *options: str, **variables: Any) -> tuple[PlaybookRun, dict[str, Any]]:
    """Run the role for the configuration; return what it tells, and its facts if it got that far."""
    facts = config.parent.parent / "facts.json"
    facts.unlink(missing_ok=True)
    names = ("changed", "restart_needed", "result")
    shown = ", ".join(f"'{name}': cold_zookeeper_config_{name}" for name in names)
    tasks: list[dict[str, Any]] = [
        {"ansible.builtin.import_role": {"name": "olap.partmove.cold_zookeeper_config"}},
        {
            "ansible.builtin.copy": {"content": f"{{{{ {{{shown}}} | to_json }}}}", "dest": str(facts)},
            "check_mode": False,
            "changed_when": False,
        },
    ]
    given = {"path": str(config), "packages": [], "service": "", **variables}
    extra = {f"cold_zookeeper_config_{name}": value for name, value in given.items()}
    playbook = write_playbook(config.parent.parent, tasks)
    run = run_playbook(playbook, "-e", json.dumps(extra), *options)
    return run, json.loads(facts.read_text()) if facts.exists() else {}


def contents(config: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in config.parent.rglob("*") if path.is_file()}


def changed(run: PlaybookRun) -> int:
    assert run.status == 0, run.told
    found = re.search(r"changed=(\d+)", run.output)
    assert found, run.told
    return int(found[1])


def test_check_run_again_and_remove(config: Path, nodes: list[dict[str, Any]]) -> None:
    before = contents(config)
    hot = [{"host": "hot1"}, {"host": "hot2", "port": 2182}]
    wanted = {
        "nodes": nodes,
        "identity": f"clickhouse:{SECRET}",
        "session_timeout_ms": 30000,
        "hot_nodes": hot,
        "hot_root": "/clickhouse",
        # Hot cannot be asked here: there are no such hosts.
        "check_members": False,
    }
    checked, facts_of_check = run_role(config, "--check", "--diff", **wanted)
    assert (changed(checked), contents(config)) == (2, before)
    done, facts = run_role(config, "--diff", **wanted)
    assert changed(done) == 2
    again, facts_of_again = run_role(config, **wanted)
    assert changed(again) == 0
    substitutions = (config.parent / "metrika.xml").read_text()
    assert f"<identity>clickhouse:{SECRET}</identity>" in substitutions
    assert "<root>/clickhouse</root>" in substitutions
    for each in (facts_of_check, facts):
        assert (each["changed"], each["restart_needed"]) == (True, True)
        assert each["result"]["nodes"] == [f"127.0.0.1:{node['port']}" for node in nodes]
    assert (facts_of_again["changed"], facts_of_again["restart_needed"]) == (False, False)
    assert "+    <cold_zookeeper incl=" in done.output
    for run in (checked, done, again):
        assert SECRET not in run.output.replace(json.dumps(wanted), "")
    removed, _facts = run_role(config, state="absent")
    assert changed(removed) == 1
    assert contents(config)["config.xml"] == before["config.xml"]
    assert "hot2" in (config.parent / "metrika.xml").read_text()


SYSTEMCTL = """#!/bin/sh
case "$*" in *--timestamp*) echo "systemctl: unrecognized option '--timestamp=unix'" >&2; exit 1;; esac
echo ActiveState=active
date -d "@$STARTED" '+ExecMainStartTimestamp=%a %Y-%m-%d %H:%M:%S %Z'
"""
"""What systemctl of systemd 239 to 250 answers: a time in the time zone of the caller."""


def test_a_start_before_the_change_needs_a_restart_with_any_version_of_systemd(
    config: Path, nodes: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    done, _facts = run_role(config, nodes=nodes)
    assert changed(done) == 1
    programs = config.parent.parent / "programs"
    programs.mkdir()
    systemctl = programs / "systemctl"
    systemctl.write_text(SYSTEMCTL)
    systemctl.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    monkeypatch.setenv("TZ", "Asia/Kolkata")
    now = int(time.time())
    for started, needed in ((now - 3600, True), (now + 3600, False)):
        monkeypatch.setenv("STARTED", str(started))
        # The hosts of tests may run without systemd.
        runs: dict[str, Any] = {"service": "clickhouse-server", "_systemd": {"stat": {"exists": True}}}
        again, facts = run_role(config, nodes=nodes, **runs)
        assert changed(again) == 0
        assert (facts["changed"], facts["restart_needed"]) == (False, needed), started


def test_nothing_is_changed_unless_every_member_serves(
    config: Path, nodes: list[dict[str, Any]], cold: Ensemble
) -> None:
    before = contents(config)
    dead = cold.followers()[0]
    dead.kill()
    auxiliary = {"element": "auxiliary_zookeepers", "name": "second", "nodes": nodes, "member_timeout": 60}
    refused, facts = run_role(config, style="inline", **auxiliary)
    assert refused.status != 0
    assert f"1 of 3 members do not serve this host: {dead.address} cannot be reached" in refused.output
    assert (facts, contents(config)) == ({}, before)
    dead.start()
    done, facts = run_role(config, drop_in="90.xml", **auxiliary)
    assert changed(done) == 1
    assert facts["result"]["config_path"] == str(config.parent / "config.d" / "90.xml")
    assert "<second>" in (config.parent / "config.d" / "90.xml").read_text()


def test_cold_nodes_are_needed(config: Path) -> None:
    refused, _facts = run_role(config)
    assert refused.status != 0
    assert "Name every member of the cold ensemble in cold_zookeeper_config_nodes." in refused.output


def test_an_auxiliary_ensemble_has_a_name(config: Path, nodes: list[dict[str, Any]]) -> None:
    before = contents(config)
    refused, _facts = run_role(config, nodes=nodes, element="auxiliary_zookeepers")
    assert refused.status != 0
    assert "Give cold_zookeeper_config_name, by which tables refer to the ensemble" in refused.output
    assert contents(config) == before


PACKAGES = """
from ansible.module_utils.basic import AnsibleModule
module = AnsibleModule({"name": {"type": "list"}, "state": {}}, supports_check_mode=True)
if not module.check_mode:
    open(module.params["name"][0], "a").write("installed ")
module.exit_json(changed=True)
"""
"""A package manager that writes into the file with the name of the package that it installed it."""
MANAGER = f"marking_{hashlib.sha256(PACKAGES.encode()).hexdigest()[:8]}"
"""Its name. Tests keep a module that was packed as long as its name is the same."""


@pytest.mark.parametrize("options", [(), ("--check",)], ids=["run", "check"])
def test_a_plan_of_another_role_writes_nothing(
    config: Path, nodes: list[dict[str, Any]], options: tuple[str, ...]
) -> None:
    """The plan may install what it needs, but in check mode."""
    before = contents(config)
    folder = config.parent.parent
    mark = folder / "mark"
    modules = folder / "collections" / "ansible_collections" / "local" / "test" / "plugins" / "modules"
    modules.mkdir(parents=True)
    (modules / f"{MANAGER}.py").write_text(PACKAGES)
    role = {"name": "olap.partmove.cold_zookeeper_config", "apply": {"check_mode": True}}
    told = "told: {{ cold_zookeeper_config_changed }} {{ cold_zookeeper_config_result.nodes | default([]) }}"
    tasks: list[dict[str, Any]] = [
        {"ansible.builtin.include_role": role},
        {"ansible.builtin.debug": {"msg": told}},
    ]
    given = {"path": str(config), "packages": [str(mark)], "service": "", "nodes": nodes}
    extra: dict[str, Any] = {f"cold_zookeeper_config_{name}": value for name, value in given.items()}
    # The usual interpreter of tests knows the modules of this collection alone.
    extra |= {"ansible_package_use": f"local.test.{MANAGER}", "ansible_python_interpreter": sys.executable}
    searched = f"{COLLECTIONS}:{folder / 'collections'}"
    playbook = write_playbook(folder, tasks)
    run = run_playbook(playbook, "-e", json.dumps(extra), *options, ANSIBLE_COLLECTIONS_PATH=searched)
    assert run.status == 0, run.told
    assert contents(config) == before
    if options:
        assert not mark.exists()
        assert f"{mark} would be installed first." in run.output
        assert "told: True []" in run.output
    else:
        assert mark.read_text() == "installed "
        assert f"told: True ['127.0.0.1:{nodes[0]['port']}'" in run.output
