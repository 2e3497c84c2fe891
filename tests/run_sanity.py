# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Run every `ansible-test sanity` test on a copy of the tracked files, with no ignored finding.

The ansible-core is that of the Python that runs this. What concerns managed hosts is compiled with every
Python at hand, and imported with the oldest and the newest. Arguments are handed on: with `--test compile`,
only that test is run.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path

from ansible.release import __version__ as core_version
from ansible_test._internal.constants import SUPPORTED_PYTHON_VERSIONS
from ansible_test._internal.host_configs import VirtualPythonConfig
from ansible_test._internal.python_requirements import get_venv_packages

from compat.pythons import SUPPORTED, find_pythons
from compat.venvs import folder_of_pip

ROOT = Path(__file__).resolve().parent.parent
# What ansible-test keeps here belongs to one release of it.
WORK = ROOT / "build" / "sanity" / core_version
COPY = WORK / "ansible_collections" / "olap" / "partmove"
HOME = WORK / "home"
PYTHONS = WORK / "pythons"

# Tests that ansible-test leaves out with no more than a warning when their program is missing.
PROGRAMS = {"shellcheck": "shellcheck", "pwsh": "pslint"}

# What pylint finds, ruff and mypy find too, which look at every file; what Ansible adds to it concerns what
# Ansible loads.
OF_PYLINT = ("plugins/", "roles/")

# ansible-test gets pip for its virtual environments, a dozen of them, with a script from a server of its own.
# This stands in for that script: all of them use one pip of the same version, compiled once for each Python.
BOOTSTRAP = """\
import sysconfig

with open(sysconfig.get_path("purelib") + "/pip.pth", "w") as file:
    file.write({folder!r} + "\\n")
"""


def main() -> int:
    """Return the exit status of ansible-test."""
    copy_tracked_files()
    pythons = provide_pythons()
    for program, test in PROGRAMS.items():
        if shutil.which(program) is None:
            print(f"sanity: NOT RUN: {test}, because {program} is not installed")
    if sys.argv[1:]:
        return ansible_test(*sys.argv[1:])
    # Each file is imported anew, which takes long. With the Pythons between these, that of the tests among
    # them, modules and plugins themselves are run.
    importing = dict.fromkeys((pythons[0], pythons[-1]))
    targets = [option for version in importing for option in ("--target-python", version)]
    # All of them, so that one run shows everything that is to be mended.
    statuses = [
        ansible_test("--skip-test", "import", "--skip-test", "pylint"),
        ansible_test("--test", "import", *targets),
        ansible_test("--test", "pylint", *OF_PYLINT),
    ]
    return max(statuses, key=abs)


def ansible_test(*options: str) -> int:
    """Run the sanity tests that the options say and return the exit status."""
    program = Path(sys.executable).with_name("ansible-test")
    path = os.pathsep.join((str(PYTHONS), os.environ["PATH"]))
    return subprocess.run(
        [str(program), "sanity", *options],
        cwd=COPY,
        env={**os.environ, "HOME": str(HOME), "PATH": path},
        check=False,
    ).returncode


def copy_tracked_files() -> None:
    """Make the copy anew, at a path that ansible-test takes for a collection."""
    if COPY.exists():
        shutil.rmtree(COPY)
    listing = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True)
    for name in listing.stdout.split("\0"):
        source = ROOT / name
        if name and source.is_file():
            target = COPY / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target)
    # ansible-test asks git for the files; without a repository of its own, the copy would be a
    # folder that the outer repository ignores.
    subprocess.run(["git", "init", "--quiet", "."], cwd=COPY, check=True)
    subprocess.run(["git", "add", "--all"], cwd=COPY, check=True)


def provide_pythons() -> list[str]:
    """Put every Python at hand where ansible-test looks for it first, and tell of those that are not.

    Returns those that modules are for, oldest first.
    """
    if PYTHONS.exists():
        shutil.rmtree(PYTHONS)
    PYTHONS.mkdir(parents=True)
    # Much of what is installed with pip is never imported; what is, is compiled then.
    settings = HOME / ".config" / "pip" / "pip.conf"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text("[install]\nno-compile = true\n")
    found = find_pythons()
    for version in SUPPORTED_PYTHON_VERSIONS:
        if version in found:
            (PYTHONS / f"python{version}").symlink_to(found[version])
            provide_pip(version)
        else:
            print(f"sanity: NOT RUN: what is run for Python {version}, which is not on this machine")
    return [version for version in SUPPORTED if version in SUPPORTED_PYTHON_VERSIONS and version in found]


def provide_pip(python: str) -> None:
    """Put the stand-in for the bootstrap script where ansible-test looks for it first."""
    version = get_venv_packages(VirtualPythonConfig(version=python))["pip"]
    script = HOME / ".ansible" / "test" / "cache" / f"get_pip_{version.replace('.', '_')}.py"
    script.parent.mkdir(parents=True, exist_ok=True)
    script.write_text(BOOTSTRAP.format(folder=str(folder_of_pip(version))))


if __name__ == "__main__":
    status = main()
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"{children.ru_utime + children.ru_stime:8.0f} CPU-s  ansible-test sanity")
    sys.exit(status)
