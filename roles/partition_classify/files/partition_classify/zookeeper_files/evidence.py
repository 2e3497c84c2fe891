# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Proofs that a log does not belong to a snapshot: it is of another ensemble, or older than the snapshot.

Neither file names its ensemble. These facts contradict each other if the files do not belong together:

- A znode has the zxid and time of its creation and last change: the log has the same time for that zxid.
- A znode has no zxid after the last logged transaction, and none that the log lacks.
- A znode is created below a znode of the snapshot or of the log.
- The digest of the snapshot is the digest that the log has for that zxid.

The znodes below /zookeeper are left out: servers write some of them without a transaction.
"""

from __future__ import annotations

from array import array
from bisect import bisect
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

from olap_partmove._partmove.errors import EnsembleError

from .damage import DamagedFile
from .folders import ZxidFile
from .log_records import LogFile, Txn
from .nodes import StoredStat, ZnodeRecord
from .selection import Selection
from .snapshot import Comparison, open_snapshot

_MOST_TXNS = 1 << 22
_MZXID = slice(16, 24)
_PZXID = slice(60, 68)
_RESERVED = b"/zookeeper"
_DIGEST = slice(4, 12)


class LogTimes:
    """Time and digest of each logged transaction, 16 bytes each; of the first _MOST_TXNS only."""

    def __init__(self) -> None:
        self._firsts: list[int] = []
        self._runs: list[tuple[array[int], array[int]]] = []
        self._size = 0

    @property
    def first(self) -> int | None:
        """The first zxid."""
        return self._firsts[0] if self._firsts else None

    @property
    def is_complete(self) -> bool:
        """Whether all transactions are included."""
        return self._size < _MOST_TXNS

    def note(self, txn: Txn) -> None:
        """Add a transaction. One with an earlier zxid is a repetition, and left out.

        Raises EnsembleError for a repetition with another time: two log files differ.
        """
        if not self.is_complete:
            return
        end = self._firsts[-1] + len(self._runs[-1][0]) if self._firsts else -1
        if txn.zxid < end:
            known = self.at(txn.zxid)
            if known is not None and known[0] != txn.time:
                raise EnsembleError(
                    f"Two log files have different transactions 0x{txn.zxid:x}, of the times {known[0]} and"
                    f" {txn.time}: one of them is of another ensemble",
                    remedy="Give the logs of one member only; copy its folders again",
                )
            return
        if txn.zxid > end:
            self._firsts.append(txn.zxid)
            self._runs.append((array("q"), array("Q")))
        times, digests = self._runs[-1]
        times.append(txn.time)
        digests.append(0 if txn.digest is None else int.from_bytes(txn.digest[_DIGEST], "big"))
        self._size += 1

    def at(self, zxid: int) -> tuple[int, int] | None:
        """Return time and digest (0 for none) of a transaction, None if it is not included."""
        run = bisect(self._firsts, zxid) - 1
        if run < 0:
            return None
        times, digests = self._runs[run]
        index = zxid - self._firsts[run]
        return (times[index], digests[index]) if index < len(times) else None


class Parents:
    """Znodes that existed at the snapshot's zxid, because the log creates or deletes children of them.

    Memory: these paths, and 8 bytes for each created path.
    """

    def __init__(self) -> None:
        self._needed: dict[bytes, tuple[int, int]] = {}
        self._created = array("q")
        self._deleted: set[bytes] = set()

    def created(self, path: bytes, zxid: int) -> None:
        """Note a creation."""
        self._need_parent(path, zxid)
        self._created.append(hash(path))

    def deleted(self, path: bytes, zxid: int) -> None:
        """Note a deletion. A fuzzy snapshot may lack a znode that the log deletes later."""
        self._need_parent(path, zxid)
        if self._needed.pop(path, None) is not None:
            self._deleted.add(path)

    def needed(self) -> dict[bytes, int]:
        """Return these znodes, with the transaction that needs each."""
        hashes = {hash(path) for path in self._needed}
        firsts: dict[int, int] = {}
        for index, created in enumerate(self._created):
            if created in hashes:
                firsts.setdefault(created, index)
        never = len(self._created)
        return {
            path: zxid
            for path, (zxid, index) in self._needed.items()
            if firsts.get(hash(path), never) >= index
        }

    def _need_parent(self, path: bytes, zxid: int) -> None:
        parent = path.rpartition(b"/")[0]
        if parent not in self._needed and parent not in self._deleted and not _is_reserved(parent):
            self._needed[parent] = zxid, len(self._created)


class Evidence:
    """Compares the log with the snapshot: first receives the transactions, then the records.

    zxid: of the snapshot's name.
    """

    def __init__(self, snapshot: Path, zxid: int) -> None:
        self._snapshot = snapshot
        self._zxid = zxid
        self._is_confirmed = False
        self.times = LogTimes()
        self.parents = Parents()
        self._missing: dict[bytes, int] = {}

    def comparison(self, until: int) -> Comparison:
        """Return the comparison of the records. It raises DamagedFile and EnsembleError for a contradiction.

        until: zxid of the last logged transaction.
        """
        # Most znodes are older than the log.
        first = self.times.first
        self._missing = self.parents.needed()
        selection = Selection(
            changed_from=until if first is None else min(first, until),
            children_after=until,
            paths=self._missing,
        )
        return Comparison(partial(self._compared, until=until, selection=selection), selection)

    def _compared(
        self, records: Iterator[ZnodeRecord], until: int, selection: Selection
    ) -> Iterator[ZnodeRecord]:
        # Bytes of zxids sort as the numbers do.
        logged, newest = (
            each.to_bytes(8, "big") for each in (selection.changed_from, selection.children_after)
        )
        missing = self._missing
        for record in records:
            _offset, path, _data, stored = record
            if stored[_MZXID] >= logged or stored[_PZXID] > newest:
                self._compare(record, until)
            if path in missing:
                del missing[path]
            yield record

    def check_end(self, earlier: Iterable[ZxidFile], digest: tuple[int, int] | None) -> None:
        """Check what only the whole snapshot proves.

        earlier: logs older than the snapshot; read only if no znode was compared with the others.
        digest: zxid and digest of the snapshot, None if the snapshot has no digest.
        """
        for path, zxid in self._missing.items():
            raise self._other_ensemble(
                f"transaction 0x{zxid:x} of the log needs the znode {path.decode(errors='backslashreplace')},"
                " which neither the snapshot nor the log has"
            )
        if not self._is_confirmed:
            self._compare_earlier(earlier)
        # A digest alone could differ because of a fault of the server; matching times outweigh it.
        logged = self.times.at(digest[0]) if digest is not None and not self._is_confirmed else None
        if digest is not None and logged is not None and logged[1] not in (0, digest[1]):
            raise self._other_ensemble(f"their digests of the tree at 0x{digest[0]:x} differ")

    def _compare_earlier(self, logs: Iterable[ZxidFile]) -> None:
        times = LogTimes()
        for log in logs:
            # The file is not read otherwise, so damage only ends its evidence.
            with suppress(DamagedFile):
                for txn in LogFile(log.path):
                    times.note(txn)
        if times.first is None:
            return
        with open_snapshot(self._snapshot) as scan:
            for _offset, path, _data, stored in scan.records():
                if not _is_reserved(path) and self._compare_times(path, StoredStat.unpacked(stored), times):
                    return

    def _compare(self, record: ZnodeRecord, until: int) -> None:
        offset, path, _data, stored = record
        if _is_reserved(path):
            return
        stat = StoredStat.unpacked(stored)
        newest = max(stat.czxid, stat.mzxid, stat.pzxid)
        if newest > until:
            raise log_too_short(self._snapshot, offset, newest, until)
        for zxid in (stat.czxid, stat.mzxid):
            if zxid > self._zxid and self.times.is_complete and self.times.at(zxid) is None:
                raise self._other_ensemble(f"the log has no transaction 0x{zxid:x}, which the snapshot has")
        self._is_confirmed |= self._compare_times(path, stat, self.times)

    def _compare_times(self, path: bytes, stat: StoredStat, times: LogTimes) -> bool:
        """Return whether the log has the creation or the last change of the znode."""
        stamps = ((stat.czxid, stat.ctime), (stat.mzxid, stat.mtime))
        logged = [(times.at(zxid), zxid, time) for zxid, time in stamps]
        for txn, zxid, time in logged:
            if txn is not None and txn[0] != time:
                raise self._other_ensemble(
                    f"transaction 0x{zxid:x} has the time {txn[0]} in the log, and {time} in the znode"
                    f" {path.decode(errors='backslashreplace')}"
                )
        return any(txn is not None for txn, _zxid, _time in logged)

    def _other_ensemble(self, proof: str) -> EnsembleError:
        return EnsembleError(
            f"{self._snapshot} and the transaction log do not belong together: {proof}",
            remedy="Give data_dir and data_log_dir of one member; copy again, first snapshots, then logs",
        )


def _is_reserved(path: bytes) -> bool:
    return path == _RESERVED or path.startswith(_RESERVED + b"/")


def log_too_short(snapshot: Path, offset: int, zxid: int, until: int) -> DamagedFile:
    """Return the error for a log that ends before the newest transaction of a fuzzy snapshot.

    Servers continue to write while taking a snapshot: the log must cover that time.
    """
    return DamagedFile(
        snapshot,
        offset,
        f"the snapshot has transaction 0x{zxid:x}, but the log ends with 0x{until:x}:"
        " a znode of the snapshot is not covered by the log",
        remedy="Copy the log again, after the snapshot; include dataLogDir",
    )
