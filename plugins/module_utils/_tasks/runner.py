# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Run the task of a module, and turn errors into the failure of the module.

Only this file and argspec.py depend on Ansible. Both files and the modules also load with Python 3.8, the
oldest Python with which Ansible runs modules. A Python too old for the tasks fails with a clear error.
"""

from __future__ import annotations

import gc
import json
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from types import FrameType
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from ansible.module_utils.basic import AnsibleModule

from .._partmove.errors import PartMoveError

if TYPE_CHECKING:
    from .resources import Resources

OLDEST_PYTHON = (3, 9)
_GC_THRESHOLDS = (100_000, 50, 100)


class Task(Protocol):
    """The work of one module."""

    def run(self, resources: Resources) -> None:
        """Do the work. Raises PartMoveError."""

    def result(self) -> dict[str, Any]:
        """Return the result so far, also after an error in `run`. ``diff`` is for the diff mode."""

    @property
    def failure(self) -> str:
        """Why the task failed although `run` raised no error; empty without a failure."""


@runtime_checkable
class ForkingTask(Protocol):
    """A task that may divide its work among processes."""

    def start_processes(self, open_resources: Callable[[ExitStack], Resources], stack: ExitStack) -> None:
        """Fork the processes, before this process has other threads or sessions. ``stack`` ends them.

        open_resources: returns the resources of one process. Raises PartMoveError.
        """


class Stopped(BaseException):
    """A signal asked the run to end. No ``except Exception`` catches this class."""


def run(module: AnsibleModule, make_task: Callable[[Mapping[str, Any]], Task]) -> None:
    """Make the task from the module's parameters, run the task, and end the module with the result.

    ``make_task`` imports the task itself, after the check of the Python version.
    """
    # A run keeps its data in memory until the end. With Python's default thresholds, repeated garbage
    # collections of this data would take a fifth of the time.
    gc.set_threshold(*_GC_THRESHOLDS)
    task: Task | None = None
    try:
        refuse_old_python(sys.version_info[:3], sys.executable)
        # Python 3.8 cannot load these modules.
        from .one_processor import on_one_processor  # noqa: PLC0415
        from .resources import Resources  # noqa: PLC0415

        with _stopping_on_signals(), ExitStack() as processes:
            task = make_task(module.params)
            open_resources = partial(Resources, module.params, check_mode=module.check_mode)
            if isinstance(task, ForkingTask):
                task.start_processes(open_resources, processes)
            with on_one_processor(), ExitStack() as stack:
                task.run(open_resources(stack))
        failure = task.failure
    except (PartMoveError, Stopped) as error:
        failure = str(error)
    result = {} if task is None else task.result()
    if not module._diff:
        result.pop("diff", None)
    _warn_of_masked_names(module, result)
    if failure:
        module.fail_json(**{**result, "msg": failure})
    module.exit_json(**result)


def _warn_of_masked_names(module: AnsibleModule, result: Mapping[str, Any]) -> None:
    """Warn if Ansible is about to mask names in the result, because they have a password in them.

    No result has a password. But Ansible masks the text of a password wherever it occurs, so that shard paths
    and labels of metrics would be wrong without a word.
    """
    text = json.dumps(result, ensure_ascii=False, default=str)
    if any(
        secret and json.dumps(secret, ensure_ascii=False)[1:-1] in text for secret in module.no_log_values
    ):
        module.warn(
            "A password or credential of the options is part of a name in the result. Ansible shows ********"
            " in its place, also in files and metrics that are made of the result. Use another password."
        )


def refuse_old_python(version: tuple[int, int, int], program: str) -> None:
    """Raise PartMoveError if a Python of this version is too old for the tasks."""
    if version >= OLDEST_PYTHON:
        return
    found, needed = (".".join(map(str, numbers)) for numbers in (version, OLDEST_PYTHON))
    raise PartMoveError(
        f"Python {found} runs this module ({program}), and olap.partmove needs {needed} or later",
        remedy="Set ansible_python_interpreter to a later one",
    )


@contextmanager
def _stopping_on_signals() -> Iterator[None]:
    """Raise Stopped on SIGHUP, SIGINT or SIGTERM. Further signals do not interrupt the cleanup."""

    def stop(number: int, _frame: FrameType | None) -> None:
        # A run may lose the first Stopped. Were all later signals ignored, no signal could end the run.
        if not _is_stopping():
            name = signal.Signals(number).name
            raise Stopped(
                f"The run was stopped by {name}. All steps so far remain valid; run again to continue."
            )

    signals = [each for each in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM) if _is_heeded(each)]
    before = {each: signal.signal(each, stop) for each in signals}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


def _is_stopping() -> bool:
    """Return whether a Stopped is propagating: the current code is part of its cleanup."""
    error = sys.exc_info()[1]
    while error is not None and not isinstance(error, Stopped):
        error = error.__context__
    return error is not None


def _is_heeded(number: signal.Signals) -> bool:
    """Return whether the process reacts to the signal. Under nohup, for instance, it ignores SIGHUP."""
    return signal.getsignal(number) is not signal.SIG_IGN
