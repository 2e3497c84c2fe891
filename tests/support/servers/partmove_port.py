# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the original PartMove does to two ensembles, in its order, for tests of what it leaves behind."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from enum import Enum

from kazoo.client import KazooClient, TransactionRequest
from kazoo.exceptions import KazooException, NoNodeError, NotEmptyError

_SHARDS_SEPARATED = 3
"""Of as many shards it writes State and deletes; of the others it only copies."""
_COPIED_OF_REPLICAS = ("host", "log_pointer", "queue")
"""What it copies of a replica besides its parts; no server looks for it in cold."""


class Step(Enum):
    """The steps of a run, in their order."""

    STATE = "state"
    COPY = "copy"
    DELETES = "deletes"


class _CopyFailed(Exception):
    """A transaction other than the last one failed."""


def _failed(transaction: TransactionRequest) -> bool:
    """Commit; whether the ensemble refused the transaction."""
    try:
        return any(isinstance(each, Exception) for each in transaction.commit())
    except KazooException:
        return True


def _is_of(part: str, shard: str, partition: str) -> bool:
    """As the tool does: look anywhere in the path of the partition for the name up to the first _."""
    prefix = part.rpartition("/")[2].partition("_")[0]
    return prefix in f"{shard}/block_numbers/{partition}"


class PartMovePort:
    """Runs over shards of a table, and can be stopped before each of its requests.

    batch: znodes that it creates with one transaction.
    deletes_children: parts of ClickHouse 18.16 have children, and its first delete fails with them (False).
        The versions that it was made for register a part with one znode; True does what comes of those.
    """

    def __init__(
        self, hot: KazooClient, cold: KazooClient, *, batch: int = 500, deletes_children: bool = True
    ) -> None:
        self._hot = hot
        self._cold = cold
        self._batch = batch
        self._deletes_children = deletes_children

    def run(
        self,
        shards: Sequence[str],
        old: Collection[str],
        *,
        until: Step | None = None,
        after: int = 0,
        is_first: bool = True,
    ) -> None:
        """Take the partitions ``old`` of the shards, given as paths, to cold.

        old: ids of the partitions that are cold for the tool: by the age of their newest part, and hot again
            after an insert; or by an id up to a fixed date, whatever is inserted.
        until, after: stop once that many requests of the step were made; None runs to the end.
        is_first: whether it is the first run over the table. Later ones delete nothing.
        """
        made = 0
        for step in self._steps(shards, old, is_first=is_first):
            if step is until:
                if made == after:
                    return
                made += 1

    def _steps(self, shards: Sequence[str], old: Collection[str], *, is_first: bool) -> Iterator[Step]:
        """Names the step before each request."""
        separated = shards[:_SHARDS_SEPARATED]
        states = {shard: self._states(shard, old) for shard in separated}
        for shard, of_shard in states.items():
            for partition, state in of_shard.items():
                yield Step.STATE
                self._write_state(f"{shard}/block_numbers/{partition}/State", state)
        try:
            yield from self._copy([path for shard in shards for path in self._copied(shard)])
        except _CopyFailed:
            return
        if is_first:
            for shard, of_shard in states.items():
                cold = [partition for partition, state in of_shard.items() if state == b"COLD"]
                yield from self._delete(shard, cold)

    def _states(self, shard: str, old: Collection[str]) -> dict[str, bytes]:
        """A partition is COLD where it is old, and also where hot has no part of it."""
        parts = self._parts(shard)
        partitions = sorted(self._hot.get_children(f"{shard}/block_numbers"))
        return {
            each: b"COLD" if each in old or not any(_is_of(part, shard, each) for part in parts) else b"HOT"
            for each in partitions
        }

    def _write_state(self, path: str, state: bytes) -> None:
        if self._hot.exists(path) is None:
            self._hot.create(path, state)
        else:
            self._hot.set(path, state)

    def _copied(self, shard: str) -> Iterator[str]:
        """Paths of all that is copied, parents before what is below them; it is not only what is old."""
        names = shard.split("/")[1:]
        yield from ("/" + "/".join(names[: depth + 1]) for depth in range(len(names)))
        yield f"{shard}/replicas"
        for replica in self._replicas(shard):
            yield replica
            yield from (f"{replica}/{name}" for name in _COPIED_OF_REPLICAS)
            yield f"{replica}/parts"
        for part in self._parts(shard):
            yield part
            yield from self._children(part)

    def _copy(self, paths: Sequence[str]) -> Iterator[Step]:
        self._cold.sync("/")
        missing = [path for path in dict.fromkeys(paths) if self._cold.exists(path) is None]
        for first in range(0, len(missing), self._batch):
            yield Step.COPY
            transaction = self._cold.transaction()
            for path in missing[first : first + self._batch]:
                transaction.create(path, self._hot.get(path)[0] if "/parts/" in path else b"")
            # The failure of the last transaction is only logged, and the deletes follow.
            if _failed(transaction) and first + self._batch < len(missing):
                raise _CopyFailed

    def _delete(self, shard: str, cold: Sequence[str]) -> Iterator[Step]:
        """Delete cold parts from hot, and the copies of all other parts from cold again."""
        for part in self._parts(shard):
            is_cold = any(_is_of(part, shard, partition) for partition in cold)
            ensemble = self._hot if is_cold else self._cold
            yield Step.DELETES
            if ensemble.exists(part) is None:
                continue
            try:
                ensemble.delete(part, recursive=self._deletes_children)
            except NotEmptyError:
                return

    def _replicas(self, shard: str) -> list[str]:
        return [f"{shard}/replicas/{name}" for name in sorted(self._hot.get_children(f"{shard}/replicas"))]

    def _parts(self, shard: str) -> list[str]:
        return [path for each in self._replicas(shard) for path in self._children(f"{each}/parts")]

    def _children(self, path: str) -> list[str]:
        with suppress(NoNodeError):
            return [f"{path}/{name}" for name in sorted(self._hot.get_children(path))]
        return []
