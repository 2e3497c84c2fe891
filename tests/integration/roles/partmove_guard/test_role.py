# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The role partmove_guard in folders of its own, and runs of what it installs, on real ensembles."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from support.ansible import quick_playbook, warm_interpreter
from support.ansible.calls import COLLECTIONS, PROGRAMS, PlaybookRun, run_playbook, write_playbook
from support.ansible.modules import Pair
from support.ansible.role_runs import changed
from support.exposition import parsed

PASSWORD = "Tr0ub4dor-and-3"


class Host:
    """A host of which the role knows other folders than it has by default."""

    def __init__(self, pair: Pair) -> None:
        self.pair = pair
        self.folder = pair.folder / "host"
        for name in ("sbin", "units", "metrics"):
            (self.folder / name).mkdir(parents=True)
        self.script = self.folder / "sbin" / "partmove-guard"
        self.metrics = self.folder / "metrics" / "partmove.prom"
        self.success = self.folder / "metrics" / "partmove_guard.prom"

    def converge(self, *options: str, **variables: Any) -> PlaybookRun:
        """Run the role."""
        return run_playbook(write_playbook(self.pair.folder, [self.task(**variables)]), *options)

    def task(self, **variables: Any) -> dict[str, Any]:
        """Return the task that runs the role."""
        given = {
            **self.pair.options,
            "clickhouse": {"user": "monitor", "password": PASSWORD},
            "root": self.pair.base,
            "metrics": str(self.metrics),
            "success_metrics": str(self.success),
            "ansible_playbook": str(quick_playbook.program()),
            "collections": str(COLLECTIONS),
            "config_dir": str(self.folder / "etc"),
            "work_dir": str(self.folder / "work"),
            "log_dir": str(self.folder / "log"),
            "script": str(self.script),
            "unit_dir": str(self.folder / "units"),
            **variables,
        }
        return {
            "ansible.builtin.import_role": {"name": "olap.partmove.partmove_guard"},
            "vars": {f"partmove_guard_{name}": value for name, value in given.items()},
        }

    def files(self) -> dict[str, int]:
        """Path of each file and folder → its permissions."""
        found = sorted(self.folder.rglob("*"))
        return {str(each.relative_to(self.folder)): stat.S_IMODE(each.stat().st_mode) for each in found}

    def start(self, *options: str) -> subprocess.CompletedProcess[str]:
        """Run what the service runs, with the environment that its unit gives it."""
        home = self.folder / "work" / "ansible"
        environment = {
            "ANSIBLE_HOME": str(home),
            "ANSIBLE_LOCAL_TEMP": str(home / "tmp"),
            "ANSIBLE_COLLECTIONS_PATH": str(COLLECTIONS),
            "ANSIBLE_PYTHON_INTERPRETER": str(warm_interpreter.program(COLLECTIONS)),
        }
        return subprocess.run(
            [str(self.script), *options],
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            check=False,
        )


pytestmark = pytest.mark.long(minutes=2)


@pytest.fixture
def host(pair: Pair) -> Host:
    pair.hot.ensure_path(pair.base)
    return Host(pair)


def test_install_run_and_remove(host: Host) -> None:
    empty = host.files()
    checked = host.converge("--check", "--diff")
    assert changed(checked) > 0
    assert host.files() == empty

    done = host.converge("--diff")
    assert changed(done) > 0
    assert changed(host.converge()) == 0
    assert {path: mode for path, mode in host.files().items() if path not in empty} == {
        "etc": 0o700,
        "etc/guard.yml": 0o600,
        "etc/inventory.yml": 0o600,
        "log": 0o700,
        "metrics/partmove_guard.prom": 0o644,
        "sbin/partmove-guard": 0o755,
        "units/partmove-guard.service": 0o644,
        "units/partmove-guard.timer": 0o644,
        "work": 0o700,
    }
    secret = [path for path in host.folder.rglob("*") if path.is_file() and PASSWORD in path.read_text()]
    assert secret == [host.folder / "etc" / "guard.yml"]
    # A guard that never succeeds has the time of its installation, so that an alert finds it.
    installed = host.success.read_text()
    assert abs(time_of(installed) - time.time()) < 600
    # The arguments of its tasks are shown with -vvv, and are given by this playbook, not by the role.
    assert f'+    "password": "{PASSWORD}"' not in done.output

    old = host.folder / "log" / "guard-2019-12-01.log"
    old.write_text("")
    os.utime(old, (1_575_200_000, 1_575_200_000))
    run = host.start()
    # There is no table, so the audit is not complete.
    assert (run.returncode, run.stdout, run.stderr) == (0, "PARTMOVE guard: 1 not judged\n", "")
    assert parsed(host.metrics.read_text())["partmove_audit_complete"] == {(): 0}
    assert host.success.read_text() == installed
    (log,) = (host.folder / "log").iterdir()
    assert "PLAY RECAP" in log.read_text()
    assert PASSWORD not in log.read_text()
    assert stat.S_IMODE(log.stat().st_mode) == 0o600

    checked = host.converge("--check", state="absent")
    assert changed(checked) == 2
    assert host.metrics.exists()
    removed = host.converge(state="absent")
    assert changed(removed) == 2
    # Without the metrics, on which Prometheus would alert for good.
    left = {path for path in host.files() if not path.startswith(("log", "work"))}
    assert left == {"metrics", "sbin", "units"}
    # A wrong variable may name a folder.
    assert changed(host.converge(state="absent", metrics=str(host.metrics.parent))) == 0


def time_of(metrics: str) -> float:
    (seconds,) = parsed(metrics)["partmove_guard_last_success_timestamp_seconds"].values()
    return seconds


def test_values_of_ansible_vault_are_written_as_they_are(host: Host) -> None:
    """The guard has no password of the vault; its files are for its user alone."""
    word, values = host.folder / "word", host.folder / "vault.yml"
    word.write_text("a password of the vault")
    vault = [str(PROGRAMS / "ansible-vault"), "encrypt_string", "--vault-password-file", str(word)]
    command = [*vault, "--stdin-name", "monitor_password"]
    done = subprocess.run(command, input=PASSWORD, capture_output=True, text=True, check=True)
    values.write_text(done.stdout)
    secret = "{{ monitor_password }}"
    renewed = {
        "renew": True,
        "clickhouse": {"user": "monitor", "password": secret},
        "inventory": {"clickhouse": {"vars": {"clickhouse_node_clickhouse": {"password": secret}}}},
    }
    run = host.converge("-e", f"@{values}", "--vault-password-file", str(word), **renewed)
    assert run.status == 0, run.told
    for name in ("guard.yml", "inventory.yml"):
        written = (host.folder / "etc" / name).read_text()
        assert "$ANSIBLE_VAULT" not in written, name
        assert f'"password": "{PASSWORD}"' in written, name


def test_text_that_the_runs_would_read_as_a_template_is_refused(host: Host) -> None:
    """Each time in the same run; the templates of this playbook give the text."""
    wrong: list[dict[str, Any]] = [
        {"clickhouse": {"user": "monitor", "password": "secret{{ '{{' }}x"}},
        {"variables": {"partmove_audit_hot": {"auth": [{"credential": "secret{{ '{%' }}x"}]}}},
        {"variables": {"other": "secret{{ '{#' }}x"}},
    ]
    fine: dict[str, Any] = {
        "clickhouse": {"user": "monitor", "password": "}}{table}%}"},
        "variables": {"other": {"a": {}}},
    }
    tell = {"ansible.builtin.debug": {"msg": "refused: {{ ansible_failed_result.msg }}"}}
    tasks = [{"block": [host.task(**variables)], "rescue": [tell]} for variables in (*wrong, fine)]
    run = run_playbook(write_playbook(host.pair.folder, tasks))
    assert run.status == 0, run.told
    for name in ("partmove_audit_clickhouse", "partmove_audit_hot", "other"):
        said = f"refused: The runs would read a text with {{{{, {{% or {{# as a template, in {name}. Give a"
        assert run.output.count(said) == 1
    assert '"password": "}}{table}%}"' in (host.folder / "etc" / "guard.yml").read_text()


def test_what_a_run_that_fails_says(host: Host) -> None:
    host.converge(hot={"hosts": ["127.0.0.1:1"], "connect_timeout": 1})
    run = host.start()
    assert run.returncode == 2
    assert run.stdout.startswith("PARTMOVE guard: FAILED: audit: ")
    assert "127.0.0.1:1" in run.stdout
    assert run.stdout.count("\n") == 1

    program = str(quick_playbook.program())
    host.script.write_text(host.script.read_text().replace(program, "/no/such/program"))
    run = host.start()
    (log,) = (host.folder / "log").iterdir()
    assert (run.returncode, run.stdout) == (
        127,
        f"PARTMOVE guard: FAILED with status 127 before it could report; see {log}\n",
    )


def test_systemd_understands_the_units(host: Host) -> None:
    """Needs the program, which needs no systemd that runs."""
    program = shutil.which("systemd-analyze")
    if program is None:
        pytest.skip("NOT RUN: systemd-analyze is not here, so nobody has looked at the units")
    host.converge(schedule="*-*-* 03:00", random_delay="1h", write_paths=["/var/a folder"])
    units = sorted((host.folder / "units").iterdir())
    assert _verified(program, *units) == ""

    timer = units[-1]
    timer.write_text(timer.read_text().replace("*-*-* 03:00", "at some time"))
    assert "at some time" in _verified(program, *units)


def _verified(program: str, *units: Path) -> str:
    done = subprocess.run([program, "verify", *units], capture_output=True, text=True, check=False)
    return "".join(line for line in done.stderr.splitlines(keepends=True) if "partmove-guard" in line)


def test_what_is_missing_is_said(host: Host) -> None:
    """Each time in the same run."""
    lacking: list[dict[str, Any]] = [{"hot": None}, {"renew": True}, {"separate": True}]
    tell = {"ansible.builtin.debug": {"msg": "refused: {{ ansible_failed_result.msg }}"}}
    before = host.files()
    tasks = [{"block": [host.task(**variables)], "rescue": [tell]} for variables in lacking]
    run = run_playbook(write_playbook(host.pair.folder, tasks))
    assert run.status == 0, run.told
    said = "refused: Give partmove_guard_hot, partmove_guard_cold and partmove_guard_clickhouse"
    assert run.output.count(said) == len(lacking)
    assert host.files() == before
