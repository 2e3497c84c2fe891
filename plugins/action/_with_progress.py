# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs part_move, and other modules that take long, and shows how far they are, on any connection."""

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
_SHARE = 10
"""A look over the connection comes after as many times as long as the one before took."""
_JOIN_SECONDS = 10.0
"""A look that hangs must not keep a task from its end."""

News = Callable[[], Iterable[str]]
"""Gives the lines that came since it was asked before; raises OSError or AnsibleError where it cannot."""


class ActionModule(ActionBase):  # type: ignore[misc] # ansible-core has no type information
    """The module writes a line to a file now and then, which is followed while it runs."""

    _supports_async = True
    _supports_check_mode = True

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Run the module, on any connection."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        del tmp
        arguments = dict(self._task.args)
        if self._task.async_val:
            # Nobody waits for it here.
            return result | self._execute(arguments, task_vars)
        if self._connection.transport == "local" and self._connection.become is None:
            return result | self._execute_here(arguments, task_vars)
        return result | self._execute_there(arguments, task_vars)

    def _execute_here(self, arguments: dict[str, Any], task_vars: dict[str, Any] | None) -> dict[str, Any]:
        """The module can write to a file of ours."""
        with tempfile.NamedTemporaryFile("r", prefix="part_move.", encoding="utf-8") as progress:
            arguments["progress_file"] = progress.name
            with _followed(lambda: progress, self._task.action, lambda _took: _POLL_SECONDS, last=True):
                return self._execute(arguments, task_vars)

    def _execute_there(self, arguments: dict[str, Any], task_vars: dict[str, Any] | None) -> dict[str, Any]:
        """The module makes the file, as the user that it runs as, and it is read by the same way."""
        path = f"/tmp/olap.partmove.{uuid.uuid4().hex}"
        arguments["progress_file"] = path
        other = self._over_the_same_connection()
        try:
            with _followed(_news_of(other, path), self._task.action, _patience, last=False):
                return self._execute(arguments, task_vars)
        finally:
            self._low_level_execute_command(f"rm -f {shlex.quote(path)}", sudoable=True)

    def _over_the_same_connection(self) -> ActionModule:
        """Runs commands while the module runs: what the connection knows of a command it has twice."""
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


def _news_of(action: ActionModule, path: str) -> News:
    """The lines of a file on the host, each once it is whole."""
    taken = 0

    def news() -> Iterable[str]:
        nonlocal taken
        # Until the module has made the file there is none, and nothing is said of it.
        command = f"tail -c +{taken + 1} {shlex.quote(path)} 2>/dev/null || true"
        text: bytes = action._low_level_execute_command(command, sudoable=True)["stdout"].encode()
        whole = text[: text.rfind(b"\n") + 1]
        taken += len(whole)
        return whole.decode(errors="replace").splitlines()

    return news


def _patience(took: float) -> float:
    """How long to wait after a look that took so long: one a tenth of the time at most."""
    return max(_REMOTE_POLL_SECONDS, _SHARE * took)


@contextmanager
def _followed(news: News, who: str, patience: Callable[[float], float], *, last: bool) -> Iterator[None]:
    """Show each line that comes, until the block ends; with ``last`` also what came right before that."""
    ended = threading.Event()
    follower = threading.Thread(target=_follow, args=(news, who, patience, ended, last), daemon=True)
    follower.start()
    try:
        yield
    finally:
        ended.set()
        follower.join(_JOIN_SECONDS)


def _follow(
    news: News, who: str, patience: Callable[[float], float], ended: threading.Event, last: bool
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
            for line in news():
                display.display(f"{who}: {line.rstrip()}")
        except Exception as error:  # noqa: BLE001 - the module goes on, and ends with what it has done
            display.warning(f"{who}: how far it is cannot be shown: {error}")
            return
        took = time.monotonic() - began
