# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The task of partition_state: set the State marker of one partition."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._partmove.formats.layout import ShardLayout
from .._partmove.formats.names import check_partition_id
from .._partmove.formats.state import State
from .._partmove.lease.two_ensembles import check_different_history
from .._partmove.patched.move.set_state import StateChange, StateSetter
from .resources import LockOptions, Resources, server_check


class PartitionState:
    """Implements Task for partition_state."""

    failure = ""

    def __init__(self, params: Mapping[str, Any]) -> None:
        """Read the options of the module. Raises FormatError for invalid values."""
        self._layout = ShardLayout(params["shard_path"])
        self._partition = check_partition_id(params["partition"], "partition")
        self._desired = State.named(params["state"])
        self._locks = LockOptions.of(params)
        self._servers = server_check(params)
        self._change: StateChange | None = None

    def result(self) -> dict[str, Any]:
        """Return the State marker before and after."""
        if self._change is None:
            return {"changed": False}
        before, after = self._change
        return {
            "changed": self._change.changed,
            "state_before": before,
            "state": after,
            "diff": {"before": self._line(before), "after": self._line(after)},
        }

    def run(self, resources: Resources) -> None:
        """Set the marker of the partition that the options name."""
        hot, cold = resources.open_pair()
        check_different_history(hot, cold, self._layout.path)
        leases = self._locks.keeper("partition_state", hot, cold, resources.clock)
        setter = StateSetter(hot, cold, leases, self._servers, self._layout)
        self._change = setter.set(self._partition, self._desired)

    def _line(self, state: str) -> str:
        return f"{self._layout.path} {self._partition}: State {state or 'absent'}\n"
