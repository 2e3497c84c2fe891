# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs spark-submit on the host for the role partition_classify, and shows the progress of the driver.

An internal helper of this role. It works on any connection.
"""

from __future__ import annotations

import json
from typing import Any

from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

# Users know the role, not its helper.
_SHOWN_AS = "olap.partmove.partition_classify"


class ActionModule(ActionBase):  # type: ignore[misc] # ansible-core has no type information
    """Starts the program in the background of the host, and polls its output until it has ended."""

    _supports_check_mode = True

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Run the program to its end, and return its exit status and its last line."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        del tmp
        _validated, arguments = self.validate_argument_spec(
            {
                "argv": {"type": "list", "elements": "str", "required": True},
                "folder": {"type": "path", "required": True},
                "python": {"type": "str", "required": True},
                "background": {"type": "path", "required": True},
            }
        )
        if self._task.check_mode:
            return result | {"skipped": True, "msg": "Check mode does not run Spark."}
        command = [arguments["python"], arguments["background"], arguments["folder"]]
        started = self._command([*command, "start", *arguments["argv"]], task_vars)
        return result | (started if started["rc"] else self._follow(command, task_vars))

    def _follow(self, command: list[str], task_vars: dict[str, Any] | None) -> dict[str, Any]:
        display = Display()
        offset, last = "0", ""
        while True:
            answer = self._command([*command, "follow", offset], task_vars)
            if answer["rc"]:
                return answer
            news = json.loads(answer["stdout"])
            offset = news["offset"]
            for line in news["lines"]:
                if line != last:
                    display.display(f"{_SHOWN_AS}: {line}")
                last = line
            if news["status"] is not None:
                return _outcome(news)

    def _command(self, argv: list[str], task_vars: dict[str, Any] | None) -> dict[str, Any]:
        arguments = {"argv": argv}
        done: dict[str, Any] = self._execute_module("ansible.legacy.command", arguments, task_vars=task_vars)
        return {"rc": 1, **done, "failed": bool(done.get("rc", 1))}


def _outcome(news: dict[str, Any]) -> dict[str, Any]:
    """Return the result of the task: exit status, last line of stdout, and the reason of a failure."""
    failed = news["status"] != 0
    outcome = {"rc": news["status"], "stdout": news["stdout"], "failed": failed, "changed": not failed}
    return outcome | ({"msg": news["reason"]} if failed else {})
