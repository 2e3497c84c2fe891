# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The collection with other releases of ansible-core, each in a virtual environment of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from compat.cores import ASKED, chosen_cores, controller_of, why_no_core
from compat.venvs import core_venvs
from support.ansible.calls import COLLECTIONS, ROOT

# In check mode, for real, and again; with the action plugins, of which one starts Spark; with the lookup
# plugin and the inventory plugin; with settings that a program reads from JSON.
PLAYBOOKS = (
    "tests/integration/playbooks/test_refusals.py",
    "tests/integration/playbooks/test_separate.py::test_separate_and_tell_what_failed",
    "tests/integration/playbooks/test_census.py::test_a_running_ensemble_and_its_files_give_the_same",
    "tests/integration/plugins/inventory",
)

pytestmark = [pytest.mark.long(minutes=4), pytest.mark.parametrize("core", chosen_cores())]


@pytest.fixture
def programs(core: str) -> Path:
    """The folder of the programs of the release."""
    if controller_of(core) is None:
        pytest.skip(why_no_core(core))
    venv = core_venvs()[core]
    assert venv.is_ready, f"{venv.folder} is not what it should be: make compat-venvs"
    return venv.python.parent


def test_documentation(core: str, programs: Path) -> None:
    run(programs / "python", "tests/check_docs.py", ANSIBLE_COLLECTIONS_PATH=str(COLLECTIONS))


def test_sanity(core: str, programs: Path) -> None:
    """What differs between releases shows in the other tests, and all of it by `make compat`."""
    if not ASKED:
        pytest.skip(f"the sanity tests of ansible-core {core} run by make compat")
    run(programs / "python", "tests/run_sanity.py")


def test_playbooks_and_inventories(core: str, programs: Path) -> None:
    command = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *PLAYBOOKS)
    run(*command, ANSIBLE_PROGRAMS=str(programs))


def run(*command: str | Path, **environment: str) -> None:
    """Run a command that has to end well."""
    done = subprocess.run(
        list(map(str, command)),
        cwd=ROOT,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
