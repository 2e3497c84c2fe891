# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The releases of ansible-core that the collection is tested with, and the Pythons that each can run with."""

from __future__ import annotations

import os
from pathlib import Path

from compat.pythons import find_pythons

CONTROLLERS = {
    "2.18": ("3.11", "3.12", "3.13"),
    "2.19": ("3.11", "3.12", "3.13"),
    "2.20": ("3.12", "3.13", "3.14"),
    "2.21": ("3.12", "3.13", "3.14"),
}
"""Release → Pythons of the controller, oldest first."""

DEVEL = "devel"
"""The branch of the next release, from GitHub; only if a person asks for it."""
KNOWN = (*CONTROLLERS, DEVEL)

ASKED = os.environ.get("COMPAT_CORES", "").split()
"""Releases that a person asked for."""


def controller_of(core: str) -> Path | None:
    """The oldest Python of this machine that can be the controller's."""
    found = find_pythons()
    return next((found[each] for each in _pythons_of(core) if each in found), None)


def requirement(core: str) -> str:
    """What pip installs for it."""
    if core == DEVEL:
        return "ansible-core @ https://github.com/ansible/ansible/archive/devel.tar.gz"
    return f"ansible-core=={core}.*"


def chosen_cores() -> list[str]:
    """The releases asked for; or the oldest and the newest that can be run here, and all that cannot be."""
    runnable = [core for core in CONTROLLERS if controller_of(core)]
    between = runnable[1:-1]
    return ASKED or [core for core in CONTROLLERS if core not in between]


def why_no_core(core: str) -> str:
    """Say that a release cannot be run on this machine."""
    needed = ", ".join(_pythons_of(core))
    return f"NOT RUN: ansible-core {core}, as none of the Pythons {needed} is on this machine"


def _pythons_of(core: str) -> tuple[str, ...]:
    newest = list(CONTROLLERS)[-1]
    return CONTROLLERS[newest if core == DEVEL else core]
