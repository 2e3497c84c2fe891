# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Other clusters with a table at the same path, whose runs are given the cold ensemble of the scene."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Iterable

from ansible_collections.olap.partmove.plugins.module_utils._partmove.binding.identity import hots_path
from ansible_collections.olap.partmove.plugins.module_utils._partmove.binding.tokens import tokens_path
from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import PartMoveError
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.move.to_cold import move_shard
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.move.to_hot import (
    reheat_shard,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.delegating import DelegatingStore
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.paths import DEFAULT_ROOT
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.ports import ZnodeStore
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import Check, Multi, Outcome
from explore.repairs import Repairs
from support.memory.client import MemoryClient
from support.memory.disks import SimulatedDisks
from support.memory.memory import MemoryEnsemble
from support.memory.moves import make_world
from support.memory.probe import SimulatedProbe
from support.memory.scene import PATH, WANTED, Scene
from support.memory.statements import Statements
from support.memory.tables import build_table
from support.memory.violation import Violation


class OtherCluster:
    """A hot ensemble of its own, and the cold one of the scene; built as the scene was."""

    def __init__(self, scene: Scene) -> None:
        hot = MemoryEnsemble("hot", scene.clock, 3)
        client = MemoryClient(hot.open())
        table = build_table(client, PATH, scene.servers.table.options)
        self._begin(scene, hot, Statements(table, client, MemoryClient(scene.cold.open())))

    def _begin(self, scene: Scene, hot: MemoryEnsemble, servers: Statements) -> None:
        self._scene = scene
        self._hot = hot
        self._servers = servers
        self._repairs = Repairs(PATH, SimulatedDisks(self._servers))

    def run(self, cold: ZnodeStore, *, is_guarded: bool) -> str:
        """Move, bring back and repair.

        is_guarded: whether cold is that of the scene; then any write to the table is a Violation.

        Raises Violation, and Died.
        """
        guarded = _Guarded(cold) if is_guarded else cold
        context = make_world(
            self._hot.open(), guarded, self._scene.clock, probe=SimulatedProbe(self._servers)
        )
        acts: tuple[Callable[[], object], ...] = (
            lambda: move_shard(context, PATH, WANTED, self._scene.options).deferred,
            lambda: reheat_shard(context, PATH, WANTED).deferred,
            lambda: self._repairs.repair_all(context),
        )
        told = []
        for act in acts:
            try:
                told.append(str(act()))
            except PartMoveError as error:
                told.append(error.message)
        return "; ".join(told)


class CopiedCluster(OtherCluster):
    """A hot ensemble that was started with a copy of the files of the scene's, and servers with its disks."""

    def __init__(self, scene: Scene) -> None:
        hot, servers = pickle.loads(pickle.dumps((scene.hot, scene.servers)))
        hot.clock = scene.clock
        for member in hot.members:
            hot.catch_up(member)
        self._begin(scene, hot, servers)

    @property
    def is_recognised(self) -> bool:
        """Whether a run of the scene has begun since: otherwise nothing shows which of both is the copy.

        A run gives hot its token before cold, so a copy that is made in between knows the token.
        """
        known = b"".join(self._hot.data(tokens_path(DEFAULT_ROOT)).values()).decode()
        tree = self._scene.cold.data(hots_path(DEFAULT_ROOT))
        tokens = [json.loads(data)["token"] for path, data in tree.items() if path.endswith("/token")]
        return any(each not in known for each in tokens)


class _Guarded(DelegatingStore):
    """Refuses every write to the table."""

    def commit(self, multis: Iterable[Multi]) -> list[Outcome]:
        """As a ZnodeStore does."""
        made = [*multis]
        for op in (op for multi in made for op in multi if not isinstance(op, Check)):
            if op.path == PATH or op.path.startswith(f"{PATH}/"):
                raise Violation(f"another cluster writes to {op.path}")
        return self.inner.commit(made)
