# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The task of part_move: move part znodes to the cold ensemble, or back to hot."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from .._partmove.errors import PartMoveError
from .._partmove.formats.state import State
from .._partmove.gates.gate import GateOptions
from .._partmove.gates.readiness import AssumePatched, Readiness
from .._partmove.journal.port import Journal
from .._partmove.lease.two_ensembles import check_different_history, check_nonce_invisible
from .._partmove.patched.ledger.entry import ColdEnsemble
from .._partmove.patched.ledger.ledger import Ledger, LedgerReadiness
from .._partmove.patched.move.already_cold import find_cold
from .._partmove.patched.move.report import PatchedReport
from .._partmove.patched.move.run import MoveContext
from .._partmove.patched.move.to_cold import move_shard
from .._partmove.patched.move.to_hot import find_reheatable, reheat_shard
from .._partmove.run.pace import Pace
from .._partmove.shard.listing_cache import ListingCache
from .._partmove.text import parse_duration
from .._partmove.tree.ports import Clock, ZnodeStore
from .askable_servers import ReplicaSearch
from .divided_move_run import DividedMoveRun
from .part_move_result import PatchedTally
from .process_count import divided, process_option, processes_for
from .processors import usable_processors
from .resources import Resources, server_check
from .workers import distance_of

_FEWEST_LOOKED_AT = 8
"""Shard paths for which a look at all of them together is worth its requests."""


class PartMove(DividedMoveRun[MoveContext, PatchedReport, PatchedTally]):
    """Implements Task for part_move."""

    module = "part_move"
    ensembles = ("hot", "cold")

    def __init__(self, params: Mapping[str, Any]) -> None:
        """Read the options of the module. Raises PartMoveError for invalid values."""
        if params["shard_paths"] and State.named(params["state"]) is State.COLD:
            raise PartMoveError(
                "shard_paths with the state cold would make every partition of these tables cold",
                remedy="Give a plan or partitions, or the state hot",
            )
        if params["clickhouse"] is None and not params["assume_active"]:
            raise PartMoveError(
                "Neither clickhouse nor assume_active is given, so no partition could be moved",
                remedy="Give the option clickhouse, so that the servers are asked",
            )
        self._options = _gate_options(params)
        self._servers = server_check(params)
        self._processes = process_option(params["processes"])
        super().__init__(params, PatchedTally)

    def _divide(self) -> Sequence[Collection[str]]:
        shard_paths, _partitions = self._work.scope()
        partitions = self._work.partition_counts()
        processes = processes_for(
            self._processes,
            partitions,
            workers=self._params["workers"],
            parts_per_second=self._pace.parts_per_second,
            processors=usable_processors(),
        )
        return [[shard_paths[each] for each in share] for share in divided(partitions, processes)]

    def _open(self, resources: Resources) -> Sequence[ZnodeStore]:
        return resources.open_pair()

    def _distance(self, stores: Sequence[ZnodeStore]) -> float:
        return distance_of(stores)

    def _search(self) -> ReplicaSearch | None:
        return None if self._params["assume_active"] else super()._search()

    def _check(self, stores: Sequence[ZnodeStore], shard_paths: Sequence[str]) -> None:
        hot, cold = stores
        if shard_paths:
            check_different_history(hot, cold, shard_paths[0])
        if self._to_cold:
            cold.members()
        if shard_paths and not self._check_mode:
            check_nonce_invisible(hot, cold, uuid.uuid4().hex, root=self._locks.root)

    def _context(
        self, journal: Journal, pace: Pace, stores: Sequence[ZnodeStore], clock: Clock
    ) -> MoveContext:
        hot, cold = stores
        keeper = self._locks.keeper(self.module, hot, cold, clock)
        readiness = self._readiness(hot, cold)
        return MoveContext(hot, cold, clock, journal, keeper, readiness, self._servers, pace)

    def _readiness(self, hot: ZnodeStore, cold: ZnodeStore) -> Readiness:
        # Every server finds the parts that hot registers, so bringing back needs no patched server.
        if self._params["assume_patched"] or not self._to_cold:
            return AssumePatched()
        return LedgerReadiness(Ledger(hot, self._locks.root), ColdEnsemble.of(cold))

    def _with_journal(self, context: MoveContext, journal: Journal) -> MoveContext:
        return context._replace(journal=journal)

    def _new_report(self, shard_path: str) -> PatchedReport:
        return PatchedReport(shard_path)

    def _find(self, context: MoveContext, shard_path: str) -> list[str]:
        return find_reheatable(context, shard_path)

    def _find_finished(self, context: MoveContext, work: Mapping[str, Sequence[str]]) -> set[str]:
        if not self._to_cold or len(work) < _FEWEST_LOOKED_AT:
            return set()
        context.pace.wait(0, context.clock)
        return find_cold(context.hot, context.cold, self._locks.root, work)

    def _begin_shard_path(self) -> ListingCache | None:
        # In check mode each memory batch starts from the real ensembles, but a cache would contain simulated
        # writes of earlier batches.
        return None if self._check_mode else ListingCache()

    def _move(
        self, context: MoveContext, partitions: Sequence[str], report: PatchedReport, shared: Any
    ) -> None:
        context = context._replace(known=shared)
        if self._to_cold:
            move_shard(context, report.shard_path, partitions, self._options, report)
        else:
            reheat_shard(context, report.shard_path, partitions, report)


def _gate_options(params: Mapping[str, Any]) -> GateOptions:
    max_parts = params["max_parts"]
    if max_parts < 1:
        raise PartMoveError(f"max_parts is {max_parts}", remedy="Give 1; a higher number is dangerous")
    return GateOptions(parse_duration(params["min_age"], "min_age"), max_parts)
