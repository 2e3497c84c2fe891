# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs the module part_move and shows how far it is, where that can be seen: on the controller itself."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

_POLL_SECONDS = 0.5


class ActionModule(ActionBase):  # type: ignore[misc] # ansible-core has no type information
    """The module writes a line to a file now and then, which is followed while it runs."""

    _supports_async = True
    _supports_check_mode = True

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Run the module, on any connection."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        del tmp
        arguments = dict(self._task.args)
        if not self._shares_files():
            return result | self._execute(arguments, task_vars)
        with tempfile.NamedTemporaryFile("r", prefix="part_move.", encoding="utf-8") as progress:
            arguments["progress_file"] = progress.name
            with _followed(progress, self._task.action):
                return result | self._execute(arguments, task_vars)

    def _shares_files(self) -> bool:
        """Whether the module can write to a file of ours, and we wait for it to end."""
        connection = self._connection
        return connection.transport == "local" and connection.become is None and not self._task.async_val

    def _execute(self, arguments: dict[str, Any], task_vars: dict[str, Any] | None) -> dict[str, Any]:
        done: dict[str, Any] = self._execute_module(
            module_args=arguments, task_vars=task_vars, wrap_async=self._task.async_val
        )
        return done


@contextmanager
def _followed(progress: Iterable[str], who: str) -> Iterator[None]:
    """Show each line that is appended to the file, until the block ends."""
    ended = threading.Event()
    follower = threading.Thread(target=_follow, args=(progress, who, ended), daemon=True)
    follower.start()
    try:
        yield
    finally:
        ended.set()
        follower.join()


def _follow(progress: Iterable[str], who: str, ended: threading.Event) -> None:
    display = Display()
    running = True
    while running:
        running = not ended.wait(_POLL_SECONDS)
        for line in progress:
            display.display(f"{who}: {line.rstrip()}")
