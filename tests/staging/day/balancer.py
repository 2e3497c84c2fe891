# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which replica gets the next query, as a load balancer decides it."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from .config import Replica, read_replicas

_AVOIDED_SECONDS = 3.0
"""How long a replica that could not be reached gets no query."""


@dataclass
class Use:
    """How a replica is used."""

    queries: int = 0
    """Queries in progress."""
    since: float = 0.0
    """In use without a break since this time."""
    avoided_until: float = 0.0


class Balancer:
    """Replicas in turn, without those that are drained or could not be reached."""

    def __init__(self, folder: Path) -> None:
        """Make the folders that it is steered by."""
        self._folder = folder
        self._drained, self._left = folder / "drained", folder / "left"
        for each in (self._drained, self._left):
            each.mkdir(parents=True, exist_ok=True)
        self._lock = threading.Lock()
        self._uses: dict[str, Use] = {}
        self._turns: dict[str, int] = {}
        self._read_at = 0.0
        self._replicas: list[Replica] = []
        self.refresh()

    def refresh(self) -> None:
        """Notice new replicas, drained replicas, and replicas whose last query has ended since."""
        changed = (self._folder / "replicas.json").stat().st_mtime
        with self._lock:
            if changed != self._read_at:
                self._replicas, self._read_at = read_replicas(self._folder), changed
            drained = {file.name for file in self._drained.iterdir()}
            for name in drained | {replica.name for replica in self._replicas}:
                # A host that is no replica yet is drained too, and has no query.
                if name not in drained:
                    (self._left / name).unlink(missing_ok=True)
                elif self._use(name).queries == 0:
                    (self._left / name).touch()

    @property
    def shards(self) -> list[str]:
        """All shards."""
        return sorted({replica.shard for replica in self._replicas})

    @contextmanager
    def next(self, shard: str) -> Iterator[tuple[Replica, float] | None]:
        """Yield a replica and since when it is in use; None if the shard has none that is in use."""
        with self._lock:
            chosen = self._choose(shard)
            if chosen is not None:
                use = self._use(chosen.name)
                use.queries += 1
        try:
            yield None if chosen is None else (chosen, use.since)
        finally:
            if chosen is not None:
                with self._lock:
                    use.queries -= 1

    def avoid(self, replica: Replica) -> None:
        """Note that a replica could not be reached."""
        with self._lock:
            use = self._use(replica.name)
            use.since = 0.0
            use.avoided_until = time.time() + _AVOIDED_SECONDS

    def _choose(self, shard: str) -> Replica | None:
        now = time.time()
        usable = []
        for replica in self._replicas:
            use = self._use(replica.name)
            if replica.shard != shard:
                continue
            if (self._drained / replica.name).exists() or use.avoided_until > now:
                use.since = 0.0
                continue
            use.since = use.since or now
            usable.append(replica)
        self._turns[shard] = turn = self._turns.get(shard, 0) + 1
        return usable[turn % len(usable)] if usable else None

    def _use(self, name: str) -> Use:
        return self._uses.setdefault(name, Use())
