# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Virtual environments for other Pythons and for other releases of ansible-core, below build."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from compat.cores import chosen_cores, controller_of, requirement
from compat.pythons import OWN, REFUSED, find_pythons

ROOT = Path(__file__).resolve().parents[2]
# pip installs no package for being in one of these: they only limit the versions.
_RANGES = ROOT / "requirements.txt"
_PINS = ROOT / "constraints.txt"
# The oldest Python that all versions of constraints.txt support. Releases for older Pythons have ended.
_OLDEST_PINNED = (3, 11)

# The Python that has a pip of its own.
_PYTHON = ROOT / ".venv" / "bin" / "python"
# One that runs with all Pythons here.
_PIP = "24.2"
# What modules need on a managed host, and what the tests of the domain need besides.
_OF_HOSTS = ("kazoo", "lxml", "hypothesis", "pytest", "pytest-timeout")


class Venv(NamedTuple):
    """A virtual environment."""

    folder: Path
    base: Path
    """The Python to make it with."""
    packages: tuple[str, ...]
    constraints: Path
    """The file that limits the versions of packages."""

    @property
    def python(self) -> Path:
        """Its own Python."""
        return self.folder / "bin" / "python"

    @property
    def is_ready(self) -> bool:
        """Whether it was made, to the end, of what it is to be made of."""
        return self._stamp.exists() and self._stamp.read_text() == self._recipe

    def make(self) -> None:
        """Make it anew, unless it is ready."""
        if self.is_ready:
            return
        if self.folder.exists():
            shutil.rmtree(self.folder)
        subprocess.run([str(self.base), "-m", "venv", "--without-pip", str(self.folder)], check=True)
        environment = {**os.environ, "PYTHONPATH": str(folder_of_pip(_PIP))}
        install = [str(self.python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        # What is used of it is compiled when it is first imported; most never is.
        install.append("--no-compile")
        install += ["--constraint", str(self.constraints), *self.packages]
        subprocess.run(install, env=environment, check=True)
        self._stamp.write_text(self._recipe)

    @property
    def _stamp(self) -> Path:
        return self.folder / "made-of.txt"

    @property
    def _recipe(self) -> str:
        return "\n".join((str(self.base), *self.packages, self.constraints.read_text()))


def folder_of_pip(version: str) -> Path:
    """Return a folder, for PYTHONPATH, with a pip; it is made now if it is not there.

    All virtual environments use it: each would compile one of its own, which takes longer than to install.
    """
    folder = ROOT / "build" / "pip" / version
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as name:
            install = [str(_PYTHON), "-m", "pip", "install", "--quiet", "--no-deps", "--no-compile"]
            made = Path(name, "pip")
            subprocess.run([*install, f"--target={made}", f"pip=={version}"], check=True)
            # Another process may have made it meanwhile.
            with suppress(OSError):
                made.rename(folder)
    return folder


def host_venvs() -> dict[str, Venv]:
    """Version of a Python → what a managed host with it has, for each that is here and runs modules."""
    folder = ROOT / "build" / "pythons"
    return {
        version: Venv(folder / version, program, _OF_HOSTS, _constraints_for(version))
        for version, program in find_pythons().items()
        if version not in (OWN, REFUSED)
    }


def core_venvs() -> dict[str, Venv]:
    """Release of ansible-core → a controller with it, for each that was chosen and can be run here."""
    folder = ROOT / "build" / "cores"
    controllers = {core: controller_of(core) for core in chosen_cores()}
    return {
        core: Venv(folder / core, program, (requirement(core), "lxml"), _RANGES)
        for core, program in controllers.items()
        if program is not None
    }


def _constraints_for(python: str) -> Path:
    return _PINS if tuple(map(int, python.split("."))) >= _OLDEST_PINNED else _RANGES
