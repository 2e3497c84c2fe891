# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The task of guard_lease: take or release the lease of the scheduled guard."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._partmove.errors import FormatError
from .._partmove.lease.timed_lease import LONGEST_SECONDS, Claim, TimedLeases
from .._partmove.text import parse_duration
from .resources import Resources, coordination_root

_LONGEST_OWNER = 200


class GuardLease:
    """Implements Task for guard_lease."""

    failure = ""

    def __init__(self, params: Mapping[str, Any]) -> None:
        """Read the options of the module. Raises FormatError for invalid values."""
        self._root = coordination_root(params)
        self._name: str = params["name"]
        self._is_to_take = params["state"] == "taken"
        self._claim = Claim(_owner(params["owner"]), _ttl(params["ttl"]))
        self._holder: Claim | None = None
        self._former: Claim | None = None
        self._seconds_left = 0.0

    def result(self) -> dict[str, Any]:
        """Return the holder of the lease and the former holder."""
        is_ours = self._holder is not None and self._holder.owner == self._claim.owner
        return {
            "changed": self._holder != self._former,
            "taken": is_ours,
            "owner": "" if self._holder is None else self._holder.owner,
            "seconds_left": int(self._seconds_left),
            "former_owner": "" if self._former is None else self._former.owner,
            "diff": {"before": self._line(self._former), "after": self._line(self._holder)},
        }

    def run(self, resources: Resources) -> None:
        """Take or release the lease, as the option ``state`` says."""
        leases = TimedLeases(resources.open_ensemble("hot"), self._root)
        if self._is_to_take:
            self._holder, self._former, self._seconds_left = leases.take(self._name, self._claim)
            return
        self._former = leases.give_back(self._name, self._claim.owner)
        if self._former is not None and self._former.owner != self._claim.owner:
            self._holder = self._former

    def _line(self, claim: Claim | None) -> str:
        return f"{self._name}: {'free' if claim is None else f'{claim.owner} for {claim.ttl} s'}\n"


def _owner(text: str) -> str:
    if text.strip() and text.isprintable() and len(text) <= _LONGEST_OWNER:
        return text
    raise FormatError(
        f"The owner is {text[:_LONGEST_OWNER]!r}, which does not identify the holder of the lease",
        remedy=f"Give 1 to {_LONGEST_OWNER} printable characters that no other run gives",
    )


def _ttl(text: str) -> int:
    seconds = parse_duration(text, "ttl")
    if 0 < seconds <= LONGEST_SECONDS:
        return seconds
    raise FormatError(
        f"ttl is {text!r}, and a lease lasts from one second to a week",
        remedy="Give more than the longest step of a run takes",
    )
