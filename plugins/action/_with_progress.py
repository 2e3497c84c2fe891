# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs a long module, such as part_move, and shows its progress on any connection.

``meta/runtime.yml`` routes the modules to this plugin.
"""

from __future__ import annotations

import copy
import shlex
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

_POLL_SECONDS = 0.5
_REMOTE_POLL_SECONDS = 2.0
_WAIT_FACTOR = 10
"""The wait before a remote poll is this many times the duration of the poll before."""
_JOIN_SECONDS = 10.0
"""Longest wait for a poll at the end: a poll that hangs must not keep the task from ending."""

NewLines = Callable[[], Iterable[str]]
"""Returns the lines since the last call. Raises OSError or AnsibleError if they cannot be read."""


class ActionModule(ActionBase):  # type: ignore[misc] # ansible-core has no type information
    """Follows a file while the module runs; the module appends lines about its progress to this file."""

    _supports_async = True
    _supports_check_mode = True

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Run the module, on any connection."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        del tmp
        arguments = dict(self._task.args)
        if self._task.async_val:
            # Ansible does not wait for the module, so nothing can be shown.
            return result | self._execute(arguments, task_vars)
        if self._connection.transport == "local" and self._connection.become is None:
            return result | self._execute_here(arguments, task_vars)
        return result | self._execute_there(arguments, task_vars)

    def _execute_here(self, arguments: dict[str, Any], task_vars: dict[str, Any] | None) -> dict[str, Any]:
        """Run the module on the controller, where it writes to a temporary file of this process."""
        with tempfile.NamedTemporaryFile("r", prefix="part_move.", encoding="utf-8") as progress:
            arguments["progress_file"] = progress.name
            with _followed(lambda: progress, self._task.action, lambda _took: _POLL_SECONDS, last=True):
                return self._execute(arguments, task_vars)

    def _execute_there(self, arguments: dict[str, Any], task_vars: dict[str, Any] | None) -> dict[str, Any]:
        """Run the module on the host, as a user that creates the file, and read the file as the same user."""
        path = f"/tmp/olap.partmove.{uuid.uuid4().hex}"
        arguments["progress_file"] = path
        other = self._over_the_same_connection()
        try:
            with _followed(_lines_of(other, path), self._task.action, _patience, last=False):
                return self._execute(arguments, task_vars)
        finally:
            self._low_level_execute_command(f"rm -f {shlex.quote(path)}", sudoable=True)

    def _over_the_same_connection(self) -> ActionModule:
        """Return a copy of the plugin for commands during the module: a connection has state per command."""
        other = copy.copy(self)
        other._connection = copy.copy(self._connection)
        if other._connection.become is not None:
            other._connection.set_become_plugin(copy.copy(other._connection.become))
        return other

    def _execute(self, arguments: dict[str, Any], task_vars: dict[str, Any] | None) -> dict[str, Any]:
        done: dict[str, Any] = self._execute_module(
            module_args=arguments, task_vars=task_vars, wrap_async=self._task.async_val
        )
        return done


def _lines_of(action: ActionModule, path: str) -> NewLines:
    """Return a function for the new lines of a file on the host. It returns complete lines only."""
    taken = 0

    def new_lines() -> Iterable[str]:
        nonlocal taken
        # Before the module has created the file, tail fails, which is no error.
        command = f"tail -c +{taken + 1} {shlex.quote(path)} 2>/dev/null || true"
        text: bytes = action._low_level_execute_command(command, sudoable=True)["stdout"].encode()
        whole = text[: text.rfind(b"\n") + 1]
        taken += len(whole)
        return whole.decode(errors="replace").splitlines()

    return new_lines


def _patience(took: float) -> float:
    """Return the seconds to wait after a poll, so that polls take at most a tenth of the time."""
    return max(_REMOTE_POLL_SECONDS, _WAIT_FACTOR * took)


@contextmanager
def _followed(
    new_lines: NewLines, who: str, patience: Callable[[float], float], *, last: bool
) -> Iterator[None]:
    """Show each new line until the block ends; with ``last`` also the lines right before its end."""
    ended = threading.Event()
    follower = threading.Thread(target=_follow, args=(new_lines, who, patience, ended, last), daemon=True)
    follower.start()
    try:
        yield
    finally:
        ended.set()
        follower.join(_JOIN_SECONDS)


def _follow(
    new_lines: NewLines, who: str, patience: Callable[[float], float], ended: threading.Event, last: bool
) -> None:
    display = Display()
    took = 0.0
    running = True
    while running:
        running = not ended.wait(patience(took))
        if not running and not last:
            return
        began = time.monotonic()
        try:
            for line in new_lines():
                display.display(f"{who}: {line.rstrip()}")
        except Exception as error:  # noqa: BLE001 - the module goes on without a display
            display.warning(f"{who}: the progress cannot be shown: {error}")
            return
        took = time.monotonic() - began
