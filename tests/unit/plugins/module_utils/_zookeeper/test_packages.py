# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How to install a package, for Pythons with and without pip's leave."""

from __future__ import annotations

import sys
import sysconfig
from pathlib import Path

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._zookeeper.packages import how_to_install


@pytest.fixture(autouse=True)
def python(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The Python of a distribution whose stdlib is in tmp_path."""
    monkeypatch.setattr(sysconfig, "get_path", lambda _name: str(tmp_path))
    monkeypatch.setattr(sys, "prefix", sys.base_prefix)
    monkeypatch.setattr(sys, "executable", "/usr/bin/python3")


def test_pip_installs_where_it_may() -> None:
    command = "/usr/bin/python3 -m pip install 'kazoo>=2.10' pure-sasl"
    assert how_to_install(["kazoo>=2.10", "pure-sasl"]) == f"Run `{command}` on this host"


def test_pip_installs_into_a_virtual_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    Path(tmp_path, "EXTERNALLY-MANAGED").touch()
    monkeypatch.setattr(sys, "prefix", "/opt/mine")
    assert how_to_install(["kazoo"]) == "Run `/usr/bin/python3 -m pip install kazoo` on this host"


def test_python_of_debian_12_needs_a_virtual_environment(tmp_path: Path) -> None:
    Path(tmp_path, "EXTERNALLY-MANAGED").touch()
    assert how_to_install(["kazoo>=2.10"]) == (
        "Run `/usr/bin/python3 -m venv --system-site-packages /opt/partmove"
        " && /opt/partmove/bin/pip install 'kazoo>=2.10'` on this host"
        " (on Debian after `apt-get install python3-venv`), and set its"
        " ansible_python_interpreter to /opt/partmove/bin/python"
    )
