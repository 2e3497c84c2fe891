# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs the task of a module: the one place where errors become the failure of a module.

This file and argspec.py are all that knows of Ansible. They load with Python 3.8 too, the oldest that Ansible
runs modules with, as do modules themselves: a Python that is too old for the rest is refused in one sentence.
"""

from __future__ import annotations

import gc
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any, Protocol

from ansible.module_utils.basic import AnsibleModule

from .._partmove.errors import PartMoveError

if TYPE_CHECKING:
    from .resources import Resources

OLDEST_PYTHON = (3, 9)
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
    """Make the task of the module's parameters, run it, and end the module with its result.

    ``make_task`` imports the task itself: that comes after the look at the Python that runs here.
    """
    # What a run reads it keeps until it ends. To look for garbage in it again and again, as Python does by
    # default, would take a fifth of the time.
    gc.set_threshold(*_GC_THRESHOLDS)
    task: Task | None = None
    try:
        refuse_old_python(sys.version_info[:3], sys.executable)
        # An older Python cannot load these.
        from .one_processor import on_one_processor  # noqa: PLC0415
        from .resources import Resources  # noqa: PLC0415

        with _stopping_on_signals(), on_one_processor(), ExitStack() as stack:
            task = make_task(module.params)
            task.run(Resources(module.params, stack, check_mode=module.check_mode))
        failure = task.failure
    except (PartMoveError, Stopped) as error:
        failure = str(error)
    result = {} if task is None else task.result()
    if not module._diff:
        result.pop("diff", None)
    if failure:
        module.fail_json(**{**result, "msg": failure})
    module.exit_json(**result)


def refuse_old_python(version: tuple[int, int, int], program: str) -> None:
    """Raise PartMoveError when a Python of this version is too old for the tasks."""
    if version >= OLDEST_PYTHON:
        return
    found, needed = (".".join(map(str, numbers)) for numbers in (version, OLDEST_PYTHON))
    raise PartMoveError(
        f"Python {found} runs this module ({program}), and olap.partmove needs {needed} or later",
        remedy="Set ansible_python_interpreter to a later one",
    )


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
