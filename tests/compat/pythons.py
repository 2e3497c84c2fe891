# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The Pythons of this machine: the one that runs this, those of pyenv and those in PATH."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

OWN = f"{sys.version_info.major}.{sys.version_info.minor}"
"""The Python that all tests run with."""
REFUSED = "3.8"
"""Ansible can run modules with it, and ours refuse it."""
SUPPORTED = ("3.9", "3.10", "3.11", "3.12", "3.13", "3.14")
"""Pythons of managed hosts."""

# Debian's Pythons may be without ensurepip, and cannot make virtual environments then.
_SHOW = "import ensurepip, sys, venv; print('%d.%d' % sys.version_info[:2], sys.executable)"


@cache
def find_pythons() -> dict[str, Path]:
    """Version, as in ``3.9`` → program of it, for all that are found of REFUSED and SUPPORTED."""
    found = {}
    for version in (REFUSED, *SUPPORTED):
        programs = (_program_of(each, version) for each in _candidates(version))
        program = next((each for each in programs if each is not None), None)
        if program is not None:
            found[version] = program
    return found


def why_no_python(version: str) -> str:
    """Say that a Python is not there."""
    return f"NOT RUN: Python {version} is not on this machine"


def _candidates(version: str) -> Iterator[Path]:
    """Programs first, as the shims of pyenv, which are in PATH, take ten times as long to start one."""
    name = f"python{version}"
    yield Path(sys.base_exec_prefix, "bin", name)
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    yield from sorted(pyenv.glob(f"versions/{version}.*/bin/{name}"))
    for folder in os.get_exec_path():
        yield Path(folder, name)


def _program_of(candidate: Path, version: str) -> Path | None:
    """What runs when the candidate, perhaps a shim of pyenv, is called; None if that is not the version."""
    if not candidate.exists():
        return None
    shown = subprocess.run([str(candidate), "-c", _SHOW], capture_output=True, text=True, check=False)
    found, _space, program = shown.stdout.strip().partition(" ")
    return Path(program) if shown.returncode == 0 and found == version else None
