# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The options that say how fast a run may go, and what makes its pace of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from typing import Any, NamedTuple, Protocol

from .._partmove.errors import PartMoveError
from .._partmove.run.pace import RunPace
from .._partmove.text import parse_duration


class Watch(Protocol):
    """Looks at an ensemble while a run works with it."""

    def problem(self) -> str:
        """Why the ensemble should be left alone now, as a clause; ``""`` where it need not be."""


class PaceOptions(NamedTuple):
    """How fast a run may go, as the options of a module say."""

    parts_per_second: int
    """0 for any number."""
    max_latency: float
    """Seconds that answers may take in any case; 0 where the run never waits for them."""
    give_up_after: int
    """Seconds that one pause may take."""

    @classmethod
    def of(cls, params: Mapping[str, Any]) -> PaceOptions:
        """From the parameters of a module, also of one that does not write; raises PartMoveError."""
        parts = params.get("max_parts_per_second", 0)
        if parts < 0:
            raise PartMoveError(
                f"max_parts_per_second is {parts}", remedy="Give a number greater than 0, or 0 for no limit"
            )
        latency = params["max_latency"]
        if not (isfinite(latency) and latency >= 0):
            raise PartMoveError(
                f"max_latency is {latency}",
                remedy="Give a number of seconds greater than 0, or 0 for a run that never waits",
            )
        return cls(parts, latency, parse_duration(params["give_up_after"], "give_up_after"))

    def pace(
        self, watches: Sequence[Watch], tell: Callable[[str], object], *, check_mode: bool = False
    ) -> RunPace:
        """The pace of a run that the watches look at; in check mode, which writes nothing, at any rate."""

        def problem() -> str:
            return next(filter(None, (watch.problem() for watch in watches)), "")

        rate = 0 if check_mode else self.parts_per_second
        return RunPace(rate, problem, give_up_after=self.give_up_after, log=tell)
