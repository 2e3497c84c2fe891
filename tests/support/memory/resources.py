# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a task works with, over the ensembles of a bench in memory."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.overlay import OverlayStore
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.ports import ZnodeStore
from ansible_collections.olap.partmove.plugins.module_utils._tasks.pacing import PaceOptions
from ansible_collections.olap.partmove.plugins.module_utils._tasks.resources import Resources
from support.memory.bench import Bench


class MemoryWatch:
    """Implements Watch: says what it is told to say."""

    def __init__(self) -> None:
        self.problems: list[str] = []
        """What to say next, one after the other; then nothing."""

    def problem(self) -> str:
        """The next problem."""
        return self.problems.pop(0) if self.problems else ""


class MemoryResources(Resources):
    """Opens the ensembles of a bench, or other ``stores``.

    ``opened`` has the names of those that were asked for, in order. ``watches`` look at hot and cold.
    """

    def __init__(self, bench: Bench, params: Mapping[str, Any], *, check_mode: bool = False) -> None:
        super().__init__(params, ExitStack(), check_mode=check_mode)
        self.stores: dict[str, ZnodeStore] = {"hot": bench.hot_store, "cold": bench.cold_store}
        self.opened: list[str] = []
        self.reads_per_second = self.latency_target = 0.0
        """What was asked for last."""
        self.watches = {name: MemoryWatch() for name in self.stores}
        self.watched: list[tuple[str, bool]] = []
        """Which were asked for, and whether by what members say as well."""

    def close(self) -> None:
        """Close what the task opened, as the end of a module does."""
        self._stack.close()

    def open_ensemble(
        self, name: str, *, reads_per_second: float = 0.0, latency_target: float = 0.0
    ) -> ZnodeStore:
        """The store of the bench, below an overlay in check mode."""
        self.opened.append(name)
        self.reads_per_second = reads_per_second
        self.latency_target = latency_target
        store = self.stores[name]
        return OverlayStore(store, self.clock) if self.check_mode else store

    def open_watch(self, name: str, options: PaceOptions, *, members: bool) -> MemoryWatch:
        """The watch on an ensemble of the bench."""
        self.watched.append((name, members))
        return self.watches[name]
