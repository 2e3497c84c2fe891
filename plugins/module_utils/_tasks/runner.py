# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs the task of a module: the one place where errors become the failure of a module.

This file and argspec.py are all that knows of Ansible.
"""

from __future__ import annotations

import gc
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from types import FrameType
from typing import Any, Protocol

from ansible.module_utils.basic import AnsibleModule

from .._partmove.errors import PartMoveError
from .resources import Resources

_GC_THRESHOLDS = (100_000, 50, 100)


class Task(Protocol):
    """What a module does."""

    def run(self, resources: Resources) -> None:
        """Do it. Raises PartMoveError."""

    def result(self) -> dict[str, Any]:
        """What was done so far, whether or not `run` ended well; with ``diff`` for the diff mode."""

    @property
    def failure(self) -> str:
        """Why the task failed although `run` ended well; empty when it did not."""


class Stopped(BaseException):
    """A signal asked the run to end. No ``except Exception`` can take it for an error."""


def run(module: AnsibleModule, make_task: Callable[[Mapping[str, Any]], Task]) -> None:
    """Make the task of the module's parameters, run it, and end the module with its result."""
    # What a run reads it keeps until it ends. To look for garbage in it again and again, as Python does by
    # default, would take a fifth of the time.
    gc.set_threshold(*_GC_THRESHOLDS)
    task: Task | None = None
    try:
        with _stopping_on_signals(), ExitStack() as stack:
            task = make_task(module.params)
            task.run(Resources(module.params, stack, check_mode=module.check_mode))
        failure = task.failure
    except (PartMoveError, Stopped) as error:
        failure = str(error)
    result = {} if task is None else task.result()
    if not module._diff:
        result.pop("diff", None)
    if failure:
        module.fail_json(**result | {"msg": failure})
    module.exit_json(**result)


@contextmanager
def _stopping_on_signals() -> Iterator[None]:
    """Raise Stopped on a signal that asks for an end; later ones do not disturb the tidying up."""

    def stop(number: int, _frame: FrameType | None) -> None:
        # Ignoring all signals from the first one on would leave no way to end a run that had lost it.
        if not _is_stopping():
            name = signal.Signals(number).name
            raise Stopped(f"The run was stopped by {name}. What it did so far holds; run again to go on.")

    signals = [each for each in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM) if _is_heeded(each)]
    before = {each: signal.signal(each, stop) for each in signals}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


def _is_stopping() -> bool:
    """Whether what runs now does so because of a Stopped that is on its way up."""
    error = sys.exc_info()[1]
    while error is not None and not isinstance(error, Stopped):
        error = error.__context__
    return error is not None


def _is_heeded(number: signal.Signals) -> bool:
    """Whether the signal is not ignored on purpose, as nohup does."""
    return signal.getsignal(number) is not signal.SIG_IGN
