# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the role refuses before it changes anything, on this machine as the host."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from support.ansible.calls import PlaybookRun, run_playbook, write_playbook


def run(folder: Path, **options: Any) -> PlaybookRun:
    use = {"name": "olap.partmove.zookeeper", "tasks_from": "preflight"}
    playbook = write_playbook(folder, [{"ansible.builtin.import_role": use}])
    given = {
        "zookeeper_members": {"1": "localhost"},
        "zookeeper_data_dir": str(folder / "data"),
        "zookeeper_config_dir": str(folder / "config"),
        "zookeeper__package_manager": "apt",
        **options,
    }
    return run_playbook(
        playbook, "-e", json.dumps(given), "--check", ANSIBLE_PYTHON_INTERPRETER=sys.executable
    )


def test_the_remedy_for_another_number_destroys_nothing(tmp_path: Path) -> None:
    """Numbers that were mixed up are wrong on every host, so each would lose its data."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "myid").write_text("2\n")
    done = run(tmp_path)
    assert done.status != 0
    assert (
        '"msg": "localhost is member 2 and zookeeper_members makes it 1: a member keeps its number for good.'
        ' Correct the number in zookeeper_members."' in done.output
    ), done.told


@pytest.mark.parametrize(("version", "refused"), [("246", True), ("247", False), ("252", False)])
def test_tls_needs_a_systemd_that_provides_the_files(
    version: str, *, refused: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    systemctl = programs / "systemctl"
    systemctl.write_text(f"#!/bin/sh\necho 'systemd {version} ({version}.9-1)'\n")
    systemctl.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    files = {name: str(tmp_path / f"{name}.pem") for name in ("keystore", "truststore")}
    for path in files.values():
        Path(path).write_text("")
    options = {f"zookeeper_tls_{name}": path for name, path in files.items()}
    done = run(tmp_path, zookeeper_secure_client_port=2281, **options)
    assert (done.status != 0) is refused, done.told
    assert (f"localhost has systemd {version}, and TLS needs 247 or later" in done.output) is refused
