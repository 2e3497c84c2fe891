# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Copies the programs of the role partition_classify, and their input, to a new folder on the host.

An internal helper of this role. It needs one file transfer and one command on any connection.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ansible.plugins.action import ActionBase

_ZIP = "job.zip"
# The umask: input files may contain credentials. A folder that could not be filled is not left behind.
_UNPACK = """
import os, shutil, sys, tempfile, zipfile
os.umask(0o077)
folder = tempfile.mkdtemp(prefix="partition_classify.")
try:
    with zipfile.ZipFile(sys.argv[1]) as packed:
        packed.extractall(os.path.join(folder, "job"))
except BaseException:
    shutil.rmtree(folder, ignore_errors=True)
    raise
print(folder)
"""


class ActionModule(ActionBase):  # type: ignore[misc] # ansible-core has no type information
    """Packs the programs on the controller, and unpacks them on the host."""

    TRANSFERS_FILES = True
    _supports_check_mode = True

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return the path of the new folder, which has everything below ``job``."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        del tmp
        _validated, arguments = self.validate_argument_spec(
            {
                "builder": {"type": "path", "required": True},
                "python": {"type": "str", "required": True},
                "texts": {"type": "dict", "default": {}},
                "files": {"type": "dict", "default": {}},
                "variables": {"type": "dict", "default": {}},
            }
        )
        if self._task.check_mode:
            return result | {"skipped": True, "msg": "Check mode copies nothing."}
        contents = {name: text.encode() for name, text in arguments["texts"].items()}
        for name, path in arguments["files"].items():
            contents[name] = Path(self._find_needle("files", path)).read_bytes()
        for name, variable in arguments["variables"].items():
            contents[name] = self._json_of(variable, task_vars or {}).encode()
        done = self._unpacked(arguments, contents, task_vars)
        if done.get("rc", 1):
            return result | done | {"failed": True}
        return result | {"changed": False, "path": done["stdout"].strip()}

    def _json_of(self, variable: str, task_vars: Mapping[str, Any]) -> str:
        """Return the value of a variable that is a JSON text. Older releases of Ansible parse such a text."""
        value = self._templar.template(task_vars[variable])
        return value if isinstance(value, str) else json.dumps(value)

    def _unpacked(
        self, arguments: Mapping[str, Any], contents: Mapping[str, bytes], task_vars: dict[str, Any] | None
    ) -> dict[str, Any]:
        """Return the result of the command that has unpacked the programs and the contents."""
        self._make_tmp_path()
        try:
            there = self._connection._shell.join_path(self._connection._shell.tmpdir, _ZIP)
            with tempfile.TemporaryDirectory(prefix="partition_classify.") as folder:
                here = Path(folder, _ZIP)
                builder = [sys.executable, arguments["builder"], "--with-programs", str(here)]
                subprocess.run(builder, check=True)
                with zipfile.ZipFile(here, "a") as packed:
                    for name, content in contents.items():
                        packed.writestr(name, content)
                self._transfer_file(str(here), there)
            self._fixup_perms2((self._connection._shell.tmpdir, there), execute=False)
            argv = [arguments["python"], "-c", _UNPACK, there]
            done: dict[str, Any] = self._execute_module(
                "ansible.legacy.command", {"argv": argv}, task_vars=task_vars
            )
            return done
        finally:
            self._remove_tmp_path(self._connection._shell.tmpdir)
