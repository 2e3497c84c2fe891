# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A shard path under the lease of this run: reads confirmed by the lease, and writes that carry the lease.

Every direction, every step and the State marker use these two classes, so the order is the same everywhere:

- read: sync, read the versions, read the facts, read lock and epochs last, confirm the lease by them;
- write: commit, raise if the lease is lost, raise if the ensemble refuses writes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple, TypeVar

from ...binding.binding import Binding
from ...errors import PartMoveError
from ...formats.layout import ShardLayout
from ...lease.confirmation import confirm_lease, confirm_read
from ...lease.lease import Lease, raise_if_lease_lost
from ...shard.facts import ShardFacts
from ...shard.part_listing import PartListing
from ...shard.reader import NamesRead, ShardRead, ShardReader
from ...tree.multi_batches import MultiBatch, MultiRoom, pack
from ...tree.paths import creates_of_missing, raise_if_unwritable, vanishing_znode
from ...tree.ports import ZnodeStore
from ...tree.znodes import Check, Committed, Multi, Op, Outcome, Rejected
from ...zip_strict import zip_strict

_ATTEMPTS = 10
_Read = TypeVar("_Read", ShardRead, NamesRead)


class Written(NamedTuple):
    """The outcome of a commit, by the keys of the operations."""

    committed: list[str]
    rejected: list[str]
    unknown: list[str]
    """Keys without an answer: their operations may have been applied or not."""
    problem: PartMoveError | None
    """Why a retry cannot help: the lease is lost, or the ensemble refuses writes; otherwise None."""
    zxids: dict[str, int]
    """Key → transaction, as in `Committed`, for the committed keys."""

    def is_whole(self) -> bool:
        """Return whether everything was certainly applied. Raises the problem, if there is one."""
        self.raise_problem()
        return not self.rejected and not self.unknown

    def raise_problem(self) -> None:
        """Raise the problem (LeaseLost, AccessDenied or EnsembleError), if there is one."""
        if self.problem is not None:
            raise self.problem


class _Sending:
    """Packs operations into multis, each at the moment when the store requests it."""

    def __init__(self, batches: Iterator[MultiBatch]) -> None:
        self._waiting = batches
        self.batches: list[MultiBatch] = []
        """The multis requested by the store so far."""
        self.problem: PartMoveError | None = None
        """The error at which the stream of operations ended early."""

    def multis(self) -> Iterator[Multi]:
        """Yield the multis for the store."""
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
        """``lists``: the part listing to update with every write."""
        self.store = store
        self.lists = lists
        self._lease_checks = tuple(lease_checks)
        self._checks = self._lease_checks
        self._shard_path = shard_path

    def require(self, checks: Sequence[Op]) -> None:
        """Let every later multi carry these checks, like those of the lease, in place of earlier ones.

        A failed check means a lost lease.
        """
        self._checks = (*self._lease_checks, *checks)

    def room(self, checks: Sequence[Op] = ()) -> MultiRoom:
        """Return the room of one multi beside the checks of the lease and the given checks."""
        return MultiRoom.beside((*self._checks, *checks))

    def write(self, path: str, ops: Sequence[Op]) -> None:
        """Apply the operations, unless another writer was faster; the caller reads afterwards to find out.

        Raises LeaseLost, AccessDenied or EnsembleError if a retry cannot help.
        """
        self.commit([(path, ops)]).raise_problem()

    def had(self, folders: Iterable[str]) -> bool:
        """Return whether each of these parts folders existed when its parts were listed last."""
        return all(map(self.lists.had, folders))

    def ensure(self, paths: Collection[str]) -> None:
        """Create the persistent znodes and their parents, without data, where they are missing.

        Raises as `write` does, and EnsembleError if they do not stay.
        """
        for _attempt in range(_ATTEMPTS):
            missing = creates_of_missing(self.store, paths)
            if not missing:
                return
            self.write(missing[0].path, missing)
        raise vanishing_znode(self.store, missing[0].path)

    def commit(self, groups: Iterable[tuple[str, Sequence[Op]]], checks: Sequence[Op] = ()) -> Written:
        """Send groups of operations in multis; each group is applied whole or not at all.

        Every multi carries the checks of the lease and the given checks, and may hold several groups.
        ``groups`` is consumed lazily, while earlier multis are on their way. If ``groups`` raises
        PartMoveError, no later group is sent, and the outcome of the earlier groups is still reported. The
        result holds the problem, if there is one; only errors of the store itself are raised.
        """
        sending = _Sending(pack((*self._checks, *checks), groups, lambda: self.store.ops_at_once))
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
        """Send the multis. Only applied multis update the part listing; the others leave it in doubt."""
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
            raise_if_lease_lost(rejected, len(self._checks), self._shard_path)
            raise_if_unwritable(self.store, multi[rejected.op_index].path, rejected)
        except PartMoveError as error:
            return error
        return None


class LeasedShard:
    """A shard path in both ensembles, for as long as this run holds its lease."""

    def __init__(
        self, hot: ZnodeStore, cold: ZnodeStore, reader: ShardReader, layout: ShardLayout, lease: Lease
    ) -> None:
        self.layout = layout
        self.hot = LeasedEnsemble(hot, lease.hot_checks, layout.path, reader.hot_lists)
        self.cold = LeasedEnsemble(cold, lease.cold_checks, layout.path, reader.cold_lists)
        self.taken_at = lease.taken_at
        """As in `Lease`: the moment for which every judgement under this lease holds."""
        self.is_bound_now = lease.is_first_of_pair
        """Whether the shard path was bound under this lease, or the pair got its first token; see `bind`."""
        self.root = reader.root
        """The coordination root."""
        self._reader = reader
        self._lease = lease

    def read(self, partition_ids: Sequence[str]) -> ShardRead:
        """Read all facts about the partitions, none older than the call; the lease held until the end.

        Raises LeaseLost, and the errors of `ShardReader.read`.
        """
        return self._held(self._reader.read(partition_ids))

    def read_hot(self, partition_ids: Sequence[str], *, reread: bool) -> ShardRead:
        """Read as `ShardReader.read_hot` does; the lease held until the end. Raises as `read` does."""
        return self._held(self._reader.read_hot(partition_ids, reread=reread))

    def shard(self) -> ShardFacts:
        """Read the facts of the shard path, which concern all partitions; none is older than the call."""
        shard = self._reader.shard()
        self._rely_on(shard.binding)
        return shard

    def binding(self) -> Binding:
        """Read how hot and cold are bound to each other at the shard path."""
        binding = self._reader.binding()
        self._rely_on(binding)
        return binding

    def read_names(self, partition_ids: Sequence[str]) -> NamesRead:
        """Read the names of registered parts and the work under way; no fact is older than the call.

        Raises as `read` does.
        """
        return self._held(self._reader.read_names(partition_ids))

    def confirm(self) -> None:
        """Raise LeaseLost if another run may have written since the lease was taken.

        Call it before a decision rests on read facts. A commit needs no call, as the multi checks the lease
        itself.
        """
        confirm_lease(self.hot.store, self._lease, self.layout.path)

    def _held(self, read: _Read) -> _Read:
        """Return a read that is confirmed by the lease."""
        self._rely_on(read.shard.binding)
        confirm_read(self.hot.store, self._lease, self._reader.lease_znodes, self.layout.path)
        return read

    def _rely_on(self, binding: Binding) -> None:
        """Let every write to cold fail once the marker changes: then the table may be another cluster's."""
        marker = binding.cold
        self.cold.require([] if marker is None else [Check(marker.path, marker.stat.version)])
