# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Keeps the bytecode of what Python imports from archives, on the hosts of a scenario.

Ansible sends a module and all that it imports as an archive of sources, and Python compiles them anew for
each task: half of what a task costs a host. Every Python of a host imports this when it starts, so it
imports nothing that Python has not loaded by then.
"""

from __future__ import annotations

import _imp
import marshal
import os
import zipimport

_FOLDER = "/var/cache/kept-bytecode"
_KEY = 0x706D
_compile = zipimport._compile_source  # type: ignore[attr-defined]


def _compiled(path: str, source: bytes) -> object:
    """Return the bytecode of a source, by its content: the archive has another name each time."""
    kept = f"{_FOLDER}/{_imp.source_hash(_KEY, source).hex()}"
    try:
        with open(kept, "rb") as file:  # noqa: PTH123
            code = marshal.load(file)
    except OSError:
        code = _compile(path, source)
        _keep(kept, marshal.dumps(code))
    return code


def _keep(path: str, content: bytes) -> None:
    """Write a file that others may read at any moment; whoever may not write there does without."""
    new = f"{path}.{os.getpid()}"
    try:
        with open(new, "wb") as file:  # noqa: PTH123
            file.write(content)
        os.replace(new, path)  # noqa: PTH105
    except OSError:
        pass


zipimport._compile_source = _compiled  # type: ignore[attr-defined]
