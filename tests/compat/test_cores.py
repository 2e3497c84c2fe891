# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The collection with other releases of ansible-core, each in a virtual environment of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from ansible_test._internal.constants import SUPPORTED_PYTHON_VERSIONS

from compat.cores import ASKED, CONTROLLERS, chosen_cores, controller_of, why_no_core
from compat.pythons import find_pythons
from compat.venvs import core_venvs
from support.ansible.calls import COLLECTIONS, ROOT

# Where nobody asked for a release, its ansible-test runs what may differ from that of others, and imports
# what imports Ansible.
SANITY = "action-plugin-docs ansible-doc runtime-metadata validate-modules"
OF_ANSIBLE = re.compile(r"^(?:from|import) ansible\b", re.MULTILINE)
# In check mode, for real, and again; with the action plugins, of which one starts Spark; with the lookup
# plugin and the inventory plugin.
PLAYBOOKS = (
    "tests/integration/playbooks/test_refusals.py",
    "tests/integration/playbooks/test_reheat.py",
    "tests/integration/playbooks/test_separate.py::test_separate_and_tell_what_failed",
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
    """Pythons that the core of `make sanity` has are left to that."""
    if ASKED:
        run(programs / "python", "tests/run_sanity.py")
        return
    own, *others = [version for version in CONTROLLERS[core] if version in find_pythons()]
    tests = [option for name in SANITY.split() for option in ("--test", name)]
    run(programs / "python", "tests/run_sanity.py", *tests, "--python", own)
    plugins = ((path, path.read_text()) for path in sorted((ROOT / "plugins").rglob("*.py")))
    of_ansible = [str(path.relative_to(ROOT)) for path, text in plugins if OF_ANSIBLE.search(text)]
    run(programs / "python", "tests/run_sanity.py", "--test", "import", "--python", own, *of_ansible)
    for version in others:
        if version not in SUPPORTED_PYTHON_VERSIONS:
            only = ("--test", "compile", "--test", "import", "--python", version)
            run(programs / "python", "tests/run_sanity.py", *only)


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
