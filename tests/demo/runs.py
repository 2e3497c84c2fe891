# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs of the collection: the playbooks separate.yml and reheat.yml, and the module part_info."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import yaml

from ansible_collections.olap.partmove.plugins.module_utils._partmove.plan.file import read_plan
from demo.facts import Facts
from demo.screen import Surprise
from demo.stage import Ensembles, Server
from demo.tables import COLD_AFTER_SECONDS, POLICY, ROOT
from support.ansible import quick_playbook
from support.ansible.calls import Call, run_modules
from support.ansible.warm_interpreter import program
from support.servers import warm_spark
from support.servers.jvm import SMALL_SPARK_CONF

PLAYBOOK = "olap.partmove.separate"
BACK = "olap.partmove.reheat"
_COLLECTIONS = Path("build/collections").resolve()
_SECONDS = 3600.0
_SIGN = "SELECT count() FROM system.build_options WHERE name = 'COLD_ZOOKEEPER'"


@dataclass(frozen=True)
class Separation:
    """What a run of separate.yml answered: the facts that its two roles set."""

    classified: Mapping[str, Any]
    moved: Mapping[str, Any]

    def partitions(self, kind: str) -> set[tuple[str, str]]:
        """Return shard path and id of the partitions that part_move lists as `kind`, such as "deferred"."""
        return {(each["shard_path"], each["partition"]) for each in self.moved[kind]}

    def reasons(self, shard_path: str) -> Mapping[str, str]:
        """Return why the plan wants each partition of a table in its state; not after check mode."""
        rows = read_plan(self.classified["plan"]).rows()
        return {row.partition: row.reason for row in rows if row.shard_path == shard_path}


def connections_of(ensembles: Ensembles) -> Mapping[str, Any]:
    """Return how to connect to the ensembles, as modules and roles are told."""
    return {
        name: {"hosts": [member.address for member in ensemble.members]}
        for name, ensemble in (("hot", ensembles.hot), ("cold", ensembles.cold))
    }


class Runs:
    """Runs Ansible for one pair of ensembles.

    scratch: a folder for what is not worth keeping.
    logs: the folder of the full output of each run.
    """

    def __init__(self, ensembles: Ensembles, scratch: Path, logs: Path) -> None:
        self._connections = connections_of(ensembles)
        self._scratch = scratch
        self._logs = logs

    def part_info(self, name: str) -> Facts:
        """Ask part_info for every part of the demo's tables; the module alone, which nobody sees run."""
        options = {**self._connections, "root": ROOT, "details": "parts"}
        (answer,) = run_modules(Call("part_info", options))
        (self._logs / f"{name}.json").write_text(json.dumps(answer, indent=1))
        if answer["failed"]:
            raise Surprise(f"part_info failed: {answer['msg']}")
        return Facts.of(answer)

    def enter(self, name: str, servers: Sequence[Server]) -> Sequence[Mapping[str, Any]]:
        """Enter the replicas of the servers in the ledger; return what replica_ledger tells of each."""
        options = {
            **self._connections,
            "clickhouse": {"host": "{{ item.0 }}", "port": "{{ item.1 }}"},
            "patched_sign": _SIGN,
        }
        task = {
            "name": "Enter the replicas of each server",
            "olap.partmove.replica_ledger": options,
            "loop": [server.address.split(":") for server in servers],
            "register": "entered",
        }
        results = "entered.results | map(attribute='replicas') | flatten"
        play = {"hosts": "localhost", "gather_facts": False, "tasks": [task, self._keep(results)]}
        answer: Sequence[Mapping[str, Any]] = self._run(name, [play])
        return answer

    def separate(
        self, name: str, as_of: datetime, readiness: Mapping[str, Any], *, check: bool = False
    ) -> Separation:
        """Run the playbook."""
        options = {"min_age": f"{COLD_AFTER_SECONDS}s", **readiness, **self._connections}
        variables = {
            **{f"partition_classify_{name}": value for name, value in self._connections.items()},
            **{f"part_move_{name}": value for name, value in options.items()},
            **self._classification(name, ROOT, yaml.safe_load(POLICY)),
            "partition_classify_as_of": as_of.isoformat(),
        }
        results = "{'classified': partition_classify_result, 'moved': part_move_result}"
        answer = self._play(name, PLAYBOOK, variables, results, check=check)
        return Separation(answer["classified"], answer["moved"])

    def separate_twins(
        self, name: str, root: str, policy: Mapping[str, Any], clickhouse: Mapping[str, Any]
    ) -> Separation:
        """Run the same playbook for servers that have no patch, between tables and their cold twins."""
        variables = {
            **self._between_twins(clickhouse),
            **self._classification(name, root, policy),
            "partition_classify_hot": self._connections["hot"],
            "twin_move_create_twins": True,
            "twin_move_min_age": "0",
        }
        results = "{'classified': partition_classify_result, 'moved': twin_move_result}"
        answer = self._play(name, PLAYBOOK, variables, results, check=False)
        return Separation(answer["classified"], answer["moved"])

    def reheat_twins(self, name: str, shard_path: str, clickhouse: Mapping[str, Any]) -> Mapping[str, Any]:
        """Run the playbook that brings all partitions of a table back; return what twin_move told."""
        variables = {**self._between_twins(clickhouse), "twin_move_shard_paths": [shard_path]}
        answer: Mapping[str, Any] = self._play(name, BACK, variables, "twin_move_result", check=False)
        return answer

    def _between_twins(self, clickhouse: Mapping[str, Any]) -> Mapping[str, Any]:
        hot = self._connections["hot"]
        return {"separation": "twin", "twin_move_hot": hot, "twin_move_clickhouse": clickhouse}

    def _classification(self, name: str, root: str, policy: Mapping[str, Any]) -> Mapping[str, Any]:
        """The variables of the role that are the same for all runs."""
        return {
            "partition_classify_root": root,
            "partition_classify_policy": policy,
            "partition_classify_plan_dest": str(self._scratch / "plan.jsonl"),
            "partition_classify_report_dest": str(self._logs.resolve() / f"{name}-report"),
            "partition_classify_python": sys.executable,
            "partition_classify_spark_submit": str(warm_spark.program()),
            "partition_classify_spark_master": "local[2]",
            "partition_classify_spark_conf": SMALL_SPARK_CONF,
        }

    def _play(
        self, name: str, playbook: str, variables: Mapping[str, Any], results: str, *, check: bool
    ) -> Any:
        """Run a playbook of the collection; return what the expression has then."""
        plays: Sequence[Mapping[str, Any]] = [
            {"import_playbook": playbook},
            {"hosts": "localhost", "gather_facts": False, "tasks": [self._keep(results)]},
        ]
        return self._run(name, plays, variables, *(["--check"] if check else []))

    def _keep(self, expression: str) -> Mapping[str, Any]:
        """Return a task that writes a value where this program finds it."""
        content = f"{{{{ {expression} | to_json }}}}"
        copy = {"content": content, "dest": str(self._scratch / "result.json"), "mode": "0600"}
        return {"name": "Keep the result", "ansible.builtin.copy": copy, "check_mode": False, "diff": False}

    def _run(
        self,
        name: str,
        plays: Sequence[Mapping[str, Any]],
        variables: Mapping[str, Any] | None = None,
        *more: str,
    ) -> Any:
        playbook, settings = self._scratch / f"{name}.yml", self._scratch / f"{name}.vars.json"
        playbook.write_text(json.dumps(plays))
        settings.write_text(json.dumps(variables or {}))
        log = self._logs / f"{name}.log"
        command = [str(quick_playbook.program()), "--inventory", "localhost,", "--connection", "local"]
        with log.open("w") as output:
            done = subprocess.run(
                [*command, "--diff", *more, "--extra-vars", f"@{settings}", str(playbook)],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**os.environ, **self._environment()},
                timeout=_SECONDS,
                check=False,
            )
        if done.returncode:
            end = "\n".join(log.read_text().splitlines()[-20:])
            raise Surprise(f"ansible-playbook ended with status {done.returncode}, see {log}:\n{end}")
        return json.loads((self._scratch / "result.json").read_text())

    def _environment(self) -> Mapping[str, str]:
        """Keep Ansible to this collection, this Python and the scratch folder."""
        home = self._scratch / "ansible"
        return {
            "ANSIBLE_COLLECTIONS_PATH": str(_COLLECTIONS),
            "ANSIBLE_HOME": str(home),
            "ANSIBLE_LOCAL_TEMP": str(home / "local"),
            "ANSIBLE_REMOTE_TEMP": str(home / "remote"),
            "ANSIBLE_NOCOLOR": "1",
            "ANSIBLE_PYTHON_INTERPRETER": str(program(_COLLECTIONS)),
            "LC_ALL": "C.UTF-8",
            "TMPDIR": str(self._scratch),
            "XDG_STATE_HOME": str(self._scratch / "state"),
        }
