# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The options that limit the speed of a run, and the pace made from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from typing import Any, NamedTuple, Protocol

from .._partmove.errors import PartMoveError
from .._partmove.run.pace import RunPace
from .._partmove.text import parse_duration
from .process_count import part_of


class Watch(Protocol):
    """Observes an ensemble during a run."""

    def problem(self) -> str:
        """Return why the run should pause, as a clause; ``""`` without a reason."""


def latency_target(params: Mapping[str, Any]) -> float:
    """Return the option ``latency_target`` in seconds. Raises PartMoveError."""
    target = float(params["latency_target"])
    if not (isfinite(target) and target >= 0):
        raise PartMoveError(
            f"latency_target is {target}",
            remedy="Give a number of seconds greater than 0, such as 0.005, or 0 for a run at full speed",
        )
    return target


class PaceOptions(NamedTuple):
    """Limits on the speed of a run, from the options of a module."""

    parts_per_second: int
    """0 for no limit."""
    max_latency: float
    """Seconds that answers may always take; 0 for a run that never pauses."""
    give_up_after: int
    """Longest duration of one pause, in seconds."""
    latency_target: float
    """Seconds that the run may add to the latency of others; 0 for a run at full speed."""
    processes: int = 1
    """Number of processes of the run, which divide the window of operations in flight."""

    @classmethod
    def of(cls, params: Mapping[str, Any]) -> PaceOptions:
        """Read the parameters of a module, also of a module that only reads. Raises PartMoveError."""
        parts = params.get("max_parts_per_second", 0)
        if parts < 0:
            raise PartMoveError(
                f"max_parts_per_second is {parts}", remedy="Give a number greater than 0, or 0 for no limit"
            )
        latency = params["max_latency"]
        if not (isfinite(latency) and latency >= 0):
            raise PartMoveError(
                f"max_latency is {latency}",
                remedy="Give a number of seconds greater than 0, or 0 for a run that never pauses",
            )
        return cls(
            parts, latency, parse_duration(params["give_up_after"], "give_up_after"), latency_target(params)
        )

    def divided(self, number: int, processes: int) -> PaceOptions:
        """Return the options of the process with this number, counted from 0, of several processes."""
        parts = part_of(self.parts_per_second, number, processes)
        return self._replace(parts_per_second=parts, processes=processes)

    def pace(
        self, watches: Sequence[Watch], log: Callable[[str], object], *, check_mode: bool = False
    ) -> RunPace:
        """Return the pace of a run that pauses while a watch reports a problem.

        log: receives a line for each pause. In check mode the number of parts per second is not limited.
        """

        def problem() -> str:
            return next(filter(None, (watch.problem() for watch in watches)), "")

        rate = 0 if check_mode else self.parts_per_second
        return RunPace(rate, problem, give_up_after=self.give_up_after, log=log)
