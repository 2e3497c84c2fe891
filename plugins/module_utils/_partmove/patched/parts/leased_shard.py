# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A shard path that this run alone may write to: looks that the lease holds for, and writes that carry it.

Every direction, every step of it and the State marker go through here, so that the order is the same
everywhere: sync, read the versions, read the facts, confirm the lease; and: commit, raise where the lease is
lost, refuse what cannot be written.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from ...binding.binding import Binding
from ...errors import PartMoveError
from ...formats.layout import ShardLayout
from ...lease.lease import Lease, confirm_lease, raise_if_lease_lost
from ...shard.facts import ShardFacts
from ...shard.part_listing import PartListing
from ...shard.reader import NamesRead, ShardRead, ShardReader
from ...tree.multi_batches import MultiBatch, MultiRoom, pack
from ...tree.paths import creates_of_missing, raise_if_unwritable, vanishing_znode
from ...tree.ports import ZnodeStore
from ...tree.znodes import Committed, Multi, Op, Outcome, Rejected
from ...zip_strict import zip_strict

_ATTEMPTS = 10


class Written(NamedTuple):
    """What became of groups of operations, by their keys."""

    committed: list[str]
    rejected: list[str]
    unknown: list[str]
    """The answer was lost: they may have been applied or not."""
    problem: PartMoveError | None
    """Why trying again cannot help: the lease is lost, or the ensemble does not let us write."""
    zxids: dict[str, int]
    """Key → transaction, as `Committed` has it, of what was committed."""

    def is_whole(self) -> bool:
        """Whether all was applied for sure. Raises the problem, if there is one."""
        self.raise_problem()
        return not self.rejected and not self.unknown

    def raise_problem(self) -> None:
        """Raise LeaseLost, AccessDenied or EnsembleError where that is what went wrong."""
        if self.problem is not None:
            raise self.problem


class _Sending:
    """The multis of groups, each made when it is to be sent."""

    def __init__(self, batches: Iterator[MultiBatch]) -> None:
        self._waiting = batches
        self.batches: list[MultiBatch] = []
        """Those that were asked for."""
        self.problem: PartMoveError | None = None
        """Why there are no more of them."""

    def multis(self) -> Iterator[Multi]:
        """What a store takes."""
        try:
            for batch in self._waiting:
                self.batches.append(batch)
                yield batch.multi
        except PartMoveError as error:
            self.problem = error


class LeasedEnsemble:
    """Writes to one of the two ensembles under the lease."""

    def __init__(
        self, store: ZnodeStore, lease_checks: Sequence[Op], shard_path: str, lists: PartListing
    ) -> None:
        """``lists`` are told what is written."""
        self.store = store
        self.lists = lists
        self._lease_checks = tuple(lease_checks)
        self._shard_path = shard_path

    def room(self, checks: Sequence[Op] = ()) -> MultiRoom:
        """What one multi has room for beside the checks and the lease."""
        return MultiRoom.beside((*self._lease_checks, *checks))

    def write(self, path: str, ops: Sequence[Op]) -> None:
        """Apply the operations unless something else was faster; look afterwards which.

        Raises LeaseLost, AccessDenied or EnsembleError where trying again cannot help.
        """
        self.commit([(path, ops)]).raise_problem()

    def had(self, folders: Iterable[str]) -> bool:
        """Whether each of these folders of parts was there when its parts were listed last."""
        return all(map(self.lists.had, folders))

    def ensure(self, paths: Collection[str]) -> None:
        """Create the persistent znodes and their parents, without data, where they are missing.

        Raises as `write` does, and EnsembleError where they do not stay.
        """
        for _attempt in range(_ATTEMPTS):
            missing = creates_of_missing(self.store, paths)
            if not missing:
                return
            self.write(missing[0].path, missing)
        raise vanishing_znode(self.store, missing[0].path)

    def commit(self, groups: Iterable[tuple[str, Sequence[Op]]], checks: Sequence[Op] = ()) -> Written:
        """Send groups of operations, each of which is applied whole or not at all, several in a multi.

        Every multi carries the lease and the checks. Groups are taken while multis are on their way; where
        that raises PartMoveError, nothing more is sent, and what was applied is known in any case. Ask the
        answer for its problem; raises nothing but what the store does.
        """
        sending = _Sending(pack((*self._lease_checks, *checks), groups))
        outcomes = self._sent(sending)
        written = Written([], [], [], sending.problem, {})
        for batch, outcome in zip_strict(sending.batches, outcomes):
            keys = [str(key) for key in batch.keys]
            if isinstance(outcome, Committed):
                written.committed.extend(keys)
                written.zxids.update(dict.fromkeys(keys, outcome.zxid))
            elif isinstance(outcome, Rejected):
                written.rejected.extend(keys)
                if written.problem is None:
                    written = written._replace(problem=self._problem(outcome, batch.multi))
            else:
                written.unknown.extend(keys)
        return written

    def _sent(self, sending: _Sending) -> list[Outcome]:
        """Send the multis; a look may count on what is known to have been applied, and on nothing else."""
        applied: list[Multi] = []
        self.lists.begin_write()
        try:
            outcomes = self.store.commit(sending.multis())
            applied += [
                batch.multi
                for batch, each in zip_strict(sending.batches, outcomes)
                if isinstance(each, Committed)
            ]
        finally:
            self.lists.end_write(applied)
        return outcomes

    def _problem(self, rejected: Rejected, multi: Multi) -> PartMoveError | None:
        try:
            raise_if_lease_lost(rejected, len(self._lease_checks), self._shard_path)
            raise_if_unwritable(self.store, multi[rejected.op_index].path, rejected)
        except PartMoveError as error:
            return error
        return None


class LeasedShard:
    """A shard path in both ensembles, for as long as the lease is ours."""

    def __init__(
        self, hot: ZnodeStore, cold: ZnodeStore, reader: ShardReader, layout: ShardLayout, lease: Lease
    ) -> None:
        self.layout = layout
        self.hot = LeasedEnsemble(hot, lease.hot_checks, layout.path, reader.hot_lists)
        self.cold = LeasedEnsemble(cold, lease.cold_checks, layout.path, reader.cold_lists)
        self.taken_at = lease.taken_at
        """As of `Lease`: the moment that everything of this lease is judged for."""
        self._reader = reader
        self._lease = lease

    def look(self, partition_ids: Sequence[str]) -> ShardRead:
        """Everything about the partitions, none of it older than the call; the lease was ours until the end.

        Raises LeaseLost, and what `ShardReader.look` raises.
        """
        found = self._reader.look(partition_ids)
        self.confirm()
        return found

    def look_again(self, partition_ids: Sequence[str], *, reread: bool) -> ShardRead:
        """As `ShardReader.look_again`; the lease was ours until the end. Raises as `look` does."""
        found = self._reader.look_again(partition_ids, reread=reread)
        self.confirm()
        return found

    def shard(self) -> ShardFacts:
        """What concerns all partitions, not older than the call."""
        return self._reader.shard()

    def binding(self) -> Binding:
        """How hot and cold are bound to each other there."""
        return self._reader.binding()

    def survey(self, partition_ids: Sequence[str]) -> NamesRead:
        """What is registered and what is under way, by names alone, none of it older than the call.

        Raises as `look` does.
        """
        found = self._reader.survey(partition_ids)
        self.confirm()
        return found

    def confirm(self) -> None:
        """Raise LeaseLost where another run may have written since the lease was taken.

        To be called before anything but a commit, which checks it anyway, follows from what was read.
        """
        confirm_lease(self.hot.store, self._lease, self.layout.path)
