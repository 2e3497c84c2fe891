# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The task of twin_hold: keep every run from shard paths while somebody changes the tables by hand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._partmove.errors import EnsembleError, FormatError, PartMoveError
from .._partmove.lease.bars import MOST_MINUTES
from .._partmove.text import count_of
from .._partmove.twin.alter.holds import HoldChange, Holds, hold_line
from .resources import LockOptions, Resources
from .shard_paths import given_shard_paths

_LONGEST = 200


class TwinHold:
    """Implements Task for twin_hold."""

    def __init__(self, params: Mapping[str, Any]) -> None:
        """Read the options of the module. Raises FormatError for invalid values."""
        self._locks = LockOptions.of(params)
        self._is_to_place = params["state"] == "present"
        self._owner = _text(params["owner"], "owner")
        self._reason = _text(params["reason"], "reason") if self._is_to_place else ""
        self._minutes: int = params["minutes"]
        if not 0 < self._minutes <= MOST_MINUTES:
            raise FormatError(
                f"minutes is {self._minutes}, and a hold lasts from 1 to {MOST_MINUTES} minutes",
                remedy="Give the minutes that the work takes; place the hold again to prolong it",
            )
        self._shard_paths = given_shard_paths(params["shard_paths"])
        self._done: list[HoldChange] = []
        self._refused: dict[str, PartMoveError] = {}
        self._check_mode = False

    @property
    def failure(self) -> str:
        """A sentence about the first shard path that was refused; empty without any."""
        if not self._refused:
            return ""
        error = next(iter(self._refused.values()))
        return f"{len(self._refused)} of {count_of(len(self._shard_paths), 'shard path')} refused. {error}"

    def result(self) -> dict[str, Any]:
        """Return the holds so far."""
        done = self._done
        verb = "held" if self._is_to_place else "free"
        would = "would be " if self._check_mode else ""
        return {
            "changed": any(each.is_change for each in done),
            "msg": f"{len(done)} of {count_of(len(self._shard_paths), 'shard path')} {would}{verb}",
            "holds": [
                {"shard_path": each.shard_path, **each.after.as_result()}
                for each in done
                if each.after is not None
            ],
            "refused": [
                {"shard_path": path, "reason": error.message, "remedy": error.remedy}
                for path, error in self._refused.items()
            ],
            "diff": {
                "before": "".join(hold_line(each.shard_path, each.before) for each in done),
                "after": "".join(hold_line(each.shard_path, each.after) for each in done),
            },
        }

    def run(self, resources: Resources) -> None:
        """Place or remove the hold of each shard path. A refused shard path does not stop the others."""
        self._check_mode = resources.check_mode
        hot = resources.open_ensemble("hot")
        holds = Holds(hot, self._locks.keeper("twin_hold", hot, None, resources.clock, bars=()))
        for path in self._shard_paths:
            try:
                self._done.append(self._changed(holds, path))
            except EnsembleError:
                raise
            except PartMoveError as error:
                self._refused[path] = error

    def _changed(self, holds: Holds, path: str) -> HoldChange:
        if self._is_to_place:
            return holds.place(path, self._owner, self._reason, 60 * self._minutes)
        return holds.remove(path, self._owner)


def _text(value: str | None, option: str) -> str:
    if value is not None and value.strip() and value.isprintable() and len(value) <= _LONGEST:
        return value
    raise FormatError(
        f"{option} is {(value or '')[:_LONGEST]!r}, and the {option} of a hold is shown to others",
        remedy=f"Give 1 to {_LONGEST} printable characters",
    )
