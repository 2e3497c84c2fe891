# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A program ansible-playbook that leaves out half of its work: what is the same in every run.

Ansible packs each module that a run calls with all that it imports, and keeps that until the run ends. This
keeps it for the runs that follow. And no garbage is looked for among what Ansible imports, which the process
of each task would copy for that. All else is as in the program itself.
"""

from __future__ import annotations

import atexit
import gc
import hashlib
import os
import shutil
import sys
import tempfile
import time
from functools import cache
from pathlib import Path
from typing import NoReturn

NAME = "ansible-playbook"
CONFIG = Path(__file__).with_name("quick.cfg")
_ROOT = Path(__file__).resolve().parents[3]
_KEPT_SECONDS = 86_400.0
_GARBAGE = 50_000
"""Objects that are made before garbage is looked for; 700 by default, more than a hundred times in a run."""
_PROGRAM = """\
#!{python}
import sys

sys.path.insert(0, {tests!r})
from support.ansible.quick_playbook import run

del sys.path[0]
run({packed!r})
"""


@cache
def program(other: Path | None = None) -> Path:
    """Return the path of the program, for the collection of the working folder, until this process ends.

    ``other`` is the Python of another ansible-core. Of that, nothing is kept for longer.
    """
    folder = Path(tempfile.mkdtemp(prefix="programs-"))
    atexit.register(shutil.rmtree, folder)
    packed = folder / "packed" if other else packed_for(_ROOT / "plugins", _ROOT / "build" / "packed")
    return write_program(folder, packed, other or Path(sys.executable))


def write_program(folder: Path, packed: Path, python: Path) -> Path:
    """Write it to a folder; ``packed`` is one for what it packs, of one collection and one Ansible."""
    folder.mkdir(exist_ok=True)
    path = folder / NAME
    path.write_text(_PROGRAM.format(python=python, tests=str(_ROOT / "tests"), packed=str(packed)))
    path.chmod(0o755)
    return path


def packed_for(plugins: Path, folder: Path) -> Path:
    """Return the folder for sources as they are now, below a folder that keeps those of others for a day."""
    from ansible.release import __file__ as ansible, __version__ as version  # noqa: PLC0415 - not for each run

    sources = hashlib.sha256(f"{sys.version} {version} {ansible}".encode())
    for each in sorted(plugins.rglob("*.py")):
        found = each.stat()
        sources.update(f"\n{each} {found.st_size} {found.st_mtime_ns}".encode())
    wanted = folder / sources.hexdigest()[:16]
    if not wanted.exists():
        for other in folder.glob("*"):
            if time.time() - other.stat().st_mtime > _KEPT_SECONDS:
                shutil.rmtree(other, ignore_errors=True)
        wanted.mkdir(parents=True, exist_ok=True)
    return wanted


def run(packed: str) -> NoReturn:
    """Be ansible-playbook, with the arguments of this process."""
    gc.disable()
    os.environ.setdefault("ANSIBLE_CONFIG", str(CONFIG))
    from ansible import constants  # noqa: PLC0415 - it reads the settings of the run
    from ansible.cli.playbook import main  # noqa: PLC0415 - only where it is the program

    Path(packed).mkdir(parents=True, exist_ok=True)
    # Ansible removes its folder at the end, and of this the link.
    Path(constants.DEFAULT_LOCAL_TMP, "ansiballz_cache").symlink_to(packed)
    gc.freeze()
    gc.set_threshold(_GARBAGE)
    gc.enable()
    sys.exit(main())
