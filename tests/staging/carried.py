# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Ansible and this collection, packed for a host that is to run playbooks by itself.

Hosts reach no package index. What the tests run with is for the Python that the hosts have, so it is copied.
"""

from __future__ import annotations

import sys
import tarfile
from importlib.metadata import distribution
from pathlib import Path

from packaging.requirements import Requirement

from .machine import ROOT, StagingError

PYTHON = (3, 11)
"""Of the hosts; what has extensions works with no other one."""
_NEEDED = ("ansible-core", "kazoo")
_COLLECTION = ("galaxy.yml", "meta", "playbooks", "plugins", "roles")
_PLACE = Path("collections/ansible_collections/olap/partmove")


def pack(file: Path) -> Path:
    """Write an archive with ``packages``, for PYTHONPATH, and ``collections``."""
    if sys.version_info[:2] != PYTHON:
        raise StagingError(
            f"the hosts have Python {PYTHON[0]}.{PYTHON[1]}, so Ansible for Python {sys.version_info[0]}."
            f"{sys.version_info[1]} cannot be carried to them"
        )
    found: set[str] = set()
    for name in _NEEDED:
        _add_needed(name, found)
    with tarfile.open(file, "w") as archive:
        for name in sorted(found):
            for each in distribution(name).files or ():
                # Programs are outside of the folder of packages, and bytecode is made anew.
                if ".." not in each.parts and each.suffix != ".pyc":
                    archive.add(str(each.locate()), str(Path("packages", each)))
        for name in _COLLECTION:
            archive.add(ROOT / name, str(_PLACE / name), filter=_without_bytecode)
    return file


def _add_needed(name: str, found: set[str]) -> None:
    if name in found:
        return
    found.add(name)
    for text in distribution(name).requires or ():
        requirement = Requirement(text)
        if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
            _add_needed(requirement.name.lower().replace("_", "-"), found)


def _without_bytecode(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
    return None if "__pycache__" in member.name else member
