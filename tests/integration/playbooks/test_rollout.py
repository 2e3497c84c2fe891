# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The playbook rollout with up to twelve simulated hosts: order, pauses, failures, and what is left to do.

The playbook, its filters and Ansible are real. In place of the role that changes a server there is one that
writes down when it began and ended; the scenario rollout has the real one, on hosts that boot.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from support.ansible.calls import PROGRAMS, ROOT

STEP = "install clickhouse-server=20.12.3.3-cold1"
UNREACHABLE = {"ansible_connection": "ansible.builtin.ssh", "ansible_host": "127.0.0.1", "ansible_port": 1}

INSPECT = """
- ansible.builtin.set_fact:
    clickhouse_node_server: >-
      {{ simulated | combine({'name': inventory_hostname, 'shard': clickhouse_shard,
         'steps': [] if is_patched else [simulated_step]}) }}
  vars:
    is_patched: "{{ (simulated_folder ~ '/' ~ inventory_hostname ~ '.patched') is exists }}"
"""
# Facts are the cheapest tasks. A host is lost where its connection cannot be opened any more.
MAIN = """
- ansible.builtin.import_tasks: inspect.yml
- when: clickhouse_node_server.steps | length > 0 and not ansible_check_mode
  block:
    - ansible.builtin.set_fact:
        begun: "{{ lookup('pipe', 'echo begin ' ~ inventory_hostname ~ ' >> ' ~ simulated_folder ~ '/log') }}"
    - ansible.builtin.fail:
        msg: "{{ inventory_hostname }} did not start"
      when: (simulated_folder ~ '/' ~ inventory_hostname ~ '.broken') is exists
    - ansible.builtin.raw: "true"
      vars:
        ansible_connection: ansible.builtin.ssh
        ansible_host: 127.0.0.1
        ansible_port: 1
      when: (simulated_folder ~ '/' ~ inventory_hostname ~ '.lost') is exists
    - ansible.builtin.set_fact:
        ended: >-
          {{ lookup('pipe', 'cd ' ~ simulated_folder ~ '; echo end ' ~ inventory_hostname ~ ' >> log; touch '
             ~ inventory_hostname ~ '.patched') }}
"""


class Cluster:
    """Three shards, which a rollout changes."""

    def __init__(self, folder: Path, replicas: int) -> None:
        self.folder = folder
        self._state = folder / "state"
        self._state.mkdir()
        self._log = self._state / "log"
        self.servers: dict[str, dict[str, Any]] = {
            f"ch-{shard}-{replica}": {"lag": 0, "version": "20.12.3.3"}
            for shard in (1, 2, 3)
            for replica in range(1, replicas + 1)
        }
        self.connections: dict[str, dict[str, Any]] = {}
        self._collections = _with_simulated_role(folder / "collections")

    def mark(self, *names: str) -> None:
        """Make files such as ch-1-1.patched, or ch-1-1.broken for a server that does not start."""
        for name in names:
            (self._state / name).touch()

    def mend(self, name: str) -> None:
        """Remove such a file."""
        (self._state / name).unlink()

    def patched(self) -> list[str]:
        """Return the servers that are patched."""
        return sorted(each.stem for each in self._state.glob("*.patched"))

    def log(self) -> list[str]:
        """Return who began and ended, in turn, since the last call."""
        if not self._log.exists():
            return []
        lines = self._log.read_text().splitlines()
        self._log.unlink()
        return lines

    def run(self, *options: str, **variables: Any) -> tuple[int, str]:
        """Roll out; return the exit status and the output."""
        hosts = {
            name: {
                "clickhouse_shard": int(name.split("-")[1]),
                "simulated": server,
                **self.connections.get(name, {}),
            }
            for name, server in self.servers.items()
        }
        given = {
            "ansible_connection": "local",
            "ansible_python_interpreter": sys.executable,
            "ansible_become": False,
            "simulated_folder": str(self._state),
            "simulated_step": STEP,
            "clickhouse_node_packages": [{"name": "clickhouse-server", "version": "20.12.3.3-cold1"}],
            "clickhouse_node_hot": {"hosts": ["127.0.0.1:1"]},
            "clickhouse_node_cold": {"hosts": ["127.0.0.1:2"]},
            "clickhouse_node_patched_sign": "SELECT 1",
            **variables,
        }
        inventory = self.folder / "hosts.yml"
        inventory.write_text(json.dumps({"clickhouse": {"hosts": hosts, "vars": given}}))
        playbook = self.folder / "site.yml"
        playbook.write_text(json.dumps([{"ansible.builtin.import_playbook": "olap.partmove.rollout"}]))
        done = subprocess.run(
            [str(PROGRAMS / "ansible-playbook"), "-i", str(inventory), *options, str(playbook)],
            env={
                **os.environ,
                "ANSIBLE_COLLECTIONS_PATH": str(self._collections),
                "ANSIBLE_HOME": str(self.folder / "home"),
                "ANSIBLE_NOCOLOR": "1",
                "ANSIBLE_SSH_RETRIES": "0",
                "ANSIBLE_FORKS": "12",
                "LC_ALL": "C.UTF-8",
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=600,
            check=False,
        )
        return done.returncode, done.stdout


def _with_simulated_role(folder: Path) -> Path:
    """Make a folder of collections with this one, but for what the role clickhouse_node does."""
    collection = folder / "ansible_collections" / "olap" / "partmove"
    (collection / "roles" / "clickhouse_node" / "tasks").mkdir(parents=True)
    for name in ("galaxy.yml", "meta", "playbooks", "plugins"):
        (collection / name).symlink_to(ROOT / name)
    for role in (ROOT / "roles").iterdir():
        if role.name != "clickhouse_node":
            (collection / "roles" / role.name).symlink_to(role)
    for name in ("defaults", "meta"):
        (collection / "roles" / "clickhouse_node" / name).symlink_to(
            ROOT / "roles" / "clickhouse_node" / name
        )
    tasks = collection / "roles" / "clickhouse_node" / "tasks"
    (tasks / "inspect.yml").write_text(INSPECT)
    (tasks / "main.yml").write_text(MAIN)
    return folder


def one_by_one(*names: str) -> list[str]:
    return [f"{what} {name}" for name in names for what in ("begin", "end")]


def table_of(output: str) -> list[list[str]]:
    """Return the words of each line of the table."""
    told = output.partition("[Show the order]")[2].partition("PLAY [")[0]
    lines = json.loads("[" + told.partition('"msg": [')[2].partition("]")[0] + "]")
    return [line.split() for line in lines]


def test_order_pauses_and_the_table(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path, replicas=4)
    cluster.servers["ch-1-3"]["lag"] = 9
    cluster.servers["ch-3-2"]["version"] = "20.8.2.3"
    cluster.mark("ch-3-1.patched")

    status, output = cluster.run("--check", rollout_canary=2, rollout_pause="1h")
    assert (status, cluster.patched(), cluster.log()) == (0, ["ch-3-1"], [])
    assert "shard 1, shard 2, shard 3: every server would be patched" in output

    status, output = cluster.run(rollout_canary=2, rollout_pause="1s")
    assert status == 0, output
    order = ["ch-2-1", "ch-2-2", "ch-2-3", "ch-2-4", "ch-1-3", "ch-1-1", "ch-1-2", "ch-1-4"]
    order += ["ch-3-1", "ch-3-2", "ch-3-3", "ch-3-4"]
    assert cluster.log() == one_by_one(*(name for name in order if name != "ch-3-1"))
    table = table_of(output)
    assert table[0] == ["wave", "server", "shard", "version", "lag", "to", "do"]
    shown = [line for line in table[1:] if line[0].isdigit()]
    assert [line[1] for line in shown] == order
    assert [line[5:] for line in shown if line[1] in ("ch-3-1", "ch-3-2")] == [["nothing"], STEP.split()]
    pauses = [number for number, line in enumerate(table) if line[1] == "pause"]
    assert [table[number + 1][1] for number in pauses] == ["ch-1-3", "ch-3-2"]
    assert "Several versions run: 20.8.2.3: ch-3-2; 20.12.3.3: ch-1-1," in " ".join(table[-1])
    assert output.index("Several versions run") < output.index("Change the server]")
    assert "shard 1, shard 2, shard 3: every server is patched" in output


def test_servers_of_a_wave_come_to_their_end_before_the_rollout_stops(tmp_path: Path) -> None:
    """One server does not start, and the host of another one is lost; both waves have a second server."""
    cluster = Cluster(tmp_path, replicas=2)
    cluster.mark("ch-2-1.broken", "ch-3-2.lost")
    status, output = cluster.run(rollout_size=2)
    assert status != 0
    assert sorted(cluster.log()[4:]) == ["begin ch-2-1", "begin ch-3-1", "end ch-3-1"]
    assert (
        "ch-2-1 did not start Done: ch-1-1, ch-1-2, ch-3-1. Not done: ch-2-1, ch-2-2, ch-3-2. To go on"
        in output
    )

    # What is done is left unchanged, and nobody waits for it.
    cluster.mend("ch-2-1.broken")
    status, output = cluster.run(rollout_size=2, rollout_pause="1h")
    assert status != 0
    assert sorted(cluster.log()) == sorted([*one_by_one("ch-2-1", "ch-2-2"), "begin ch-3-2"])
    assert "ch-3-2 was not reachable any more during its change. Done: " in output
    assert "Not done: ch-3-2. To go on" in output


def test_a_host_that_does_not_answer_is_refused_before_anything_is_changed(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path, replicas=2)
    cluster.connections["ch-2-1"] = UNREACHABLE
    status, output = cluster.run()
    assert status != 0
    assert cluster.log() == []
    assert "ch-2-1 does not answer: " in output
    assert "leave it out with --limit 'all:!ch-2-1'" in output

    # Its shard is not called patched.
    status, output = cluster.run("--limit", "all:!ch-2-1:!ch-3-1:!ch-3-2")
    assert status == 0, output
    assert cluster.patched() == ["ch-1-1", "ch-1-2", "ch-2-2"]
    assert "shard 1: every server is patched. Not in this run: ch-2-1, ch-3-1, ch-3-2" in output


def test_a_lost_host_that_is_alone_in_its_wave_ends_the_rollout(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path, replicas=1)
    cluster.mark("ch-2-1.lost")
    status, output = cluster.run()
    assert status != 0
    assert cluster.log() == [*one_by_one("ch-1-1"), "begin ch-2-1"]
    assert "ch-2-1" in output.partition("UNREACHABLE!")[0].splitlines()[-1]
    assert "every server is patched" not in output


def test_advice_to_leave_a_host_out_keeps_the_limit_of_the_run(tmp_path: Path) -> None:
    """Without it, servers would be changed that the user did not name."""
    cluster = Cluster(tmp_path, replicas=1)
    cluster.connections["ch-2-1"] = UNREACHABLE
    status, output = cluster.run("--limit", "ch-1-1,ch-2-1")
    assert status != 0
    assert "leave it out with --limit 'ch-1-1,ch-2-1:!ch-2-1'" in output


def test_a_wrong_order_is_refused(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path, replicas=1)
    status, output = cluster.run(rollout_pause="long")
    assert status != 0
    assert "rollout_pause is 'long', which is no duration" in output
    assert cluster.log() == []
