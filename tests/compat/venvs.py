# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Virtual environments for other Pythons and for other releases of ansible-core, below build."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

from compat.cores import chosen_cores, controller_of
from compat.pythons import OWN, REFUSED, find_pythons

ROOT = Path(__file__).resolve().parents[2]
# Its bounds hold, and what it has besides is not installed.
CONSTRAINTS = ROOT / "requirements.txt"

# What modules need on a managed host, and what the tests of the domain need besides.
_OF_HOSTS = ("kazoo", "lxml", "hypothesis", "pytest", "pytest-timeout")


class Venv(NamedTuple):
    """A virtual environment."""

    folder: Path
    base: Path
    """The Python to make it with."""
    packages: tuple[str, ...]

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
        subprocess.run([str(self.base), "-m", "venv", str(self.folder)], check=True)
        install = [str(self.python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        # What is used of it is compiled when it is first imported; most never is.
        install.append("--no-compile")
        subprocess.run([*install, "--constraint", str(CONSTRAINTS), *self.packages], check=True)
        self._stamp.write_text(self._recipe)

    @property
    def _stamp(self) -> Path:
        return self.folder / "made-of.txt"

    @property
    def _recipe(self) -> str:
        return "\n".join((str(self.base), *self.packages, CONSTRAINTS.read_text()))


def host_venvs() -> dict[str, Venv]:
    """Version of a Python → what a managed host with it has, for each that is here and runs modules."""
    folder = ROOT / "build" / "pythons"
    return {
        version: Venv(folder / version, program, _OF_HOSTS)
        for version, program in find_pythons().items()
        if version not in (OWN, REFUSED)
    }


def core_venvs() -> dict[str, Venv]:
    """Release of ansible-core → a controller with it, for each that was chosen and can be run here."""
    folder = ROOT / "build" / "cores"
    controllers = {core: controller_of(core) for core in chosen_cores()}
    return {
        core: Venv(folder / core, program, (f"ansible-core=={core}.*", "lxml"))
        for core, program in controllers.items()
        if program is not None
    }
