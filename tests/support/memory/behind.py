# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Stores that show less than there is: of a member that is behind, and of a connection with a chroot."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import (
    Committed,
    Multi,
    Outcome,
    Znode,
)
from support.memory.bench import Bench, HookedStore
from support.memory.memory import MemoryEnsemble, MemoryStore
from support.memory.moves import make_world


class Behind(HookedStore):
    """Reads from a member that falls behind when it is told to, until ``sync`` or a write of its own."""

    def __init__(self, ensemble: MemoryEnsemble) -> None:
        super().__init__(ensemble)
        self._then: dict[str, Znode] | None = None

    def fall_behind(self) -> None:
        """Go on with showing what there is now."""
        self._then = self.ensemble.tree()

    def sync(self, path: str) -> None:
        """Catch up."""
        self._then = None
        super().sync(path)

    def read(self, paths: Sequence[str], *, absolute: bool = False) -> list[Znode | None]:
        """As a ZnodeReader does."""
        if self._then is None:
            return super().read(paths, absolute=absolute)
        return [self._then.get(path) for path in paths]

    def children(self, paths: Sequence[str]) -> list[tuple[str, ...] | None]:
        """As a ZnodeReader does."""
        found = super().children(paths)
        return found if self._then is None else [self._names(path, self._then) for path in paths]

    def commit(self, multis: Iterable[Multi]) -> list[Outcome]:
        """Apply the multis in order; what is applied is seen from then on, and all that came before it."""
        outcomes = super().commit(multis)
        if any(isinstance(outcome, Committed) for outcome in outcomes):
            self._then = None
        return outcomes

    def _names(self, path: str, then: dict[str, Znode]) -> tuple[str, ...] | None:
        parts = (each.rpartition("/") for each in then if each != "/")
        names = tuple(sorted(name for parent, _slash, name in parts if (parent or "/") == path))
        return names if path in then else None


class Chrooted(MemoryStore):
    """A connection with a chroot."""

    chroot = "/app"

    def read(self, paths: Sequence[str], *, absolute: bool = False) -> list[Znode | None]:
        """As a ZnodeReader does."""
        if absolute:
            return super().read(paths)
        found = super().read([f"{self.chroot}{path}" for path in paths])
        return [each and each._replace(path=each.path[len(self.chroot) :]) for each in found]

    def children(self, paths: Sequence[str]) -> list[tuple[str, ...] | None]:
        """As a ZnodeReader does."""
        return super().children([f"{self.chroot}{path}" for path in paths])

    def commit(self, multis: Iterable[Multi]) -> list[Outcome]:
        """Apply the multis in order."""
        return super().commit(
            [tuple(op._replace(path=f"{self.chroot}{op.path}") for op in multi) for multi in multis]
        )


def lag(bench: Bench) -> tuple[Behind, Behind]:
    """Let the runs of the bench read hot and cold from members that can fall behind, and return these two."""
    hot, cold = Behind(bench.hot_ensemble), Behind(bench.cold_ensemble)
    servers, readiness = bench.context.servers, bench.context.readiness
    bench.hot_store, bench.cold_store = hot, cold
    context = make_world(hot, cold, bench.clock, lock_wait=3.0)
    bench.context = context._replace(servers=servers, readiness=readiness)
    return hot, cold


def lose_answer(store: HookedStore, ensemble: MemoryEnsemble, is_it: Callable[[Multi], bool]) -> None:
    """Apply the first multi of that kind, and lose the answer."""
    left = [ensemble.open()]

    def apply_and_lose(multi: Multi) -> bool:
        if not left or not is_it(multi):
            return False
        assert isinstance(left.pop().commit([multi])[0], Committed)
        return True

    store.loses = apply_and_lose
