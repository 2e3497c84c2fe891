# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether every part on disk can be found, whenever a server reads hot and then cold, from any member."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from math import inf

from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.names import parse_part_name
from ansible_collections.olap.partmove.plugins.module_utils._partmove.zip_strict import zip_strict
from support.memory.memory import MemoryEnsemble
from support.memory.simulated import SimulatedServers
from support.memory.violation import Violation

BEHIND_SECONDS = 60.0
"""How old at most is what a member tells its clients; of ZooKeeper the order of tens of seconds is known."""
_STARTING_SECONDS = 600.0 - BEHIND_SECONDS
"""How long a znode of a server that is gone may make a replica look active at the most."""

_Names = frozenset[str]
_NONE: _Names = frozenset()


class _Starting:
    """What a server of one replica that is starting now may have read in hot; cold it reads after that."""

    def __init__(self) -> None:
        self._disk: object = None
        self._until: dict[_Names, float] = {}
        self._hot: Collection[_Names] = ()
        self._last_active = -inf
        self.least = 0
        """The transaction of hot that such a server has seen at least: its own last one."""

    def begin(self, disk: object, last: int) -> None:
        """Note what is on disk; `last` is the number of the last transaction of hot."""
        if self._disk != disk:
            self._disk, self._until, self._hot, self.least = disk, {}, (), last

    def note(self, now: float, active: bool, hot: Collection[_Names]) -> _Names:
        """Note what members have now; returns the names that such a server has found whenever it looked.

        It has begun after the last change of the disk, and after a replica that looks active was alive.
        """
        if active:
            self._last_active = now
        # What was so at the last call was so until just now.
        self._until.update(dict.fromkeys((*self._hot, *hot), now))
        self._hot = hot
        begun = self._last_active - _STARTING_SECONDS
        if self._until and min(self._until.values()) <= begun:
            self._until = {names: until for names, until in self._until.items() if until > begun}
        return frozenset.intersection(*(self._until or hot))


class Registration:
    """I1, I3 and I4 of one table in a pair of ensembles."""

    def __init__(self, servers: SimulatedServers, hot: MemoryEnsemble, cold: MemoryEnsemble) -> None:
        self._servers = servers
        self._hot = hot
        self._cold = cold
        self._starting: defaultdict[str, _Starting] = defaultdict(_Starting)
        self._known_names: set[str] = set()

    def check(self) -> None:
        """Raise Violation unless they hold on every member."""
        for replica, disk in self._servers.disk.items():
            starting = self._starting[replica]
            starting.begin((self._servers.times_made, frozenset(disk)), self._hot.history.last)
            path = self._servers.table.parts_path(replica)
            least = max(starting.least, self._hot.last_at(self._hot.clock.now() - BEHIND_SECONDS))
            views = sorted({max(self._hot.applied(each), least) for each in self._hot.members})
            hot = [self._hot.history.names(path, at) or _NONE for at in views]
            in_cold = {self._cold.applied(each) for each in self._cold.members}
            cold = {self._cold.history.names(path, at) or _NONE for at in in_cold}
            self._check_names(replica, {*hot, *cold})
            self._check_found(replica, hot, cold)
            for at, names in zip_strict(views, hot):
                self._check_state(replica, at, disk - names)

    def views(self, replica: str) -> list[int]:
        """The trees of hot that members have; none from before what a server of the replica did itself."""
        least = self._starting[replica].least
        return sorted({max(self._hot.applied(each), least) for each in self._hot.members})

    def _check_names(self, replica: str, all_names: Collection[_Names]) -> None:
        """I4."""
        for names in all_names:
            for name in names - self._known_names:
                parse_part_name(name, 1, replica)
            self._known_names |= names

    def _check_found(self, replica: str, hot: Collection[_Names], cold: Collection[_Names]) -> None:
        """I1, for a server that is starting: it read hot whenever it can have, and reads cold now."""
        active = self._hot.read([f"{self._servers.table.path}/replicas/{replica}/is_active"])[0]
        found = self._starting[replica].note(self._hot.clock.now(), active is not None, hot)
        for names in cold:
            missing = self._servers.disk[replica] - names - found
            if missing:
                raise Violation(f"I1: {sorted(missing)} of {replica} can be found neither in hot nor in cold")

    def _check_state(self, replica: str, at: int, missing: Collection[str]) -> None:
        """I3."""
        for name in missing:
            state = self._hot.history.znode(self._servers.table.state_path(name.split("_")[0]), at)
            if state is None or state.data != b"COLD":
                raise Violation(f"I3: {name} of {replica} is not in hot, and State is not COLD")
