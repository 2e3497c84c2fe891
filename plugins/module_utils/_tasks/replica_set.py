# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The servers that run one merge at a time, and the merge that they run."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from .merge_table import Replica
from .merges_file import Merge


@dataclass
class RunningMerge:
    """A merge whose statement a server has received."""

    merge: Merge
    replica: Replica
    """The replica that received the statement."""
    until: float
    """Deadline of the merge, in seconds since 1970."""
    refused: str = ""
    """Why the server did not start the merge; empty if the merge started."""


@dataclass
class ReplicaSet:
    """The servers of some shard paths, which run one merge at a time."""

    waiting: deque[Merge] = field(default_factory=deque)
    running: RunningMerge | None = None
    busy_until: float | None = None
    """Time at which the run stops waiting for busy servers, in seconds since 1970; None without any."""

    def end(self) -> Merge:
        """Run no more merges on these servers, and return the running merge, or else the next one."""
        merge = self.waiting[0] if self.running is None else self.running.merge
        self.running = self.busy_until = None
        self.waiting.clear()
        return merge
