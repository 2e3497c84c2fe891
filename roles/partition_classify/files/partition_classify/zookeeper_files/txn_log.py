# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The transaction logs of a member, read file by file as one sequence of transactions.

What proves that transactions are missing:

- a jump of the zxid;
- the name of a log file that begins after the next transaction, even if the file is empty;
- the first transaction of a new leader, unless tree digests show that nothing was written before;
- a last file that ends within a record, or without a header;
- a tree digest that differs although the transaction changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from olap_partmove._partmove.errors import EnsembleError

from .damage import DamagedFile
from .empty_tree import EMPTY_TREE_DIGEST
from .folders import ZxidFile
from .log_records import LogFile, Txn
from .txn_kinds import CHANGES_NOTHING

_COUNTER = 0xFFFFFFFF
_FIRST_EPOCH = 1


def log_files(logs: Sequence[ZxidFile], zxid: int) -> tuple[ZxidFile, ...]:
    """Return the logs, sorted, that may contain transactions after ``zxid``."""
    first = max((number for number, log in enumerate(logs) if log.zxid <= zxid + 1), default=0)
    return tuple(logs[first:])


class LogSequence:
    """One pass over the transactions after ``after`` up to ``until``, once and in order, with their files.

    on_earlier: receives the transactions of the files up to ``after``.
    last: zxid of the last transaction, or ``after``; valid after the pass, as are the other attributes.
    reached: zxid of the last transaction that the files have, also up to ``after``; 0 for none.
    is_padded: the last file ends with preallocated zeros, so its copy is complete.
    """

    def __init__(
        self,
        logs: Sequence[ZxidFile],
        after: int,
        until: int | None = None,
        on_earlier: Callable[[Txn], None] = lambda _txn: None,
    ) -> None:
        self._logs = logs
        self._until = until
        self._on_earlier = on_earlier
        self._latest: Txn | None = None
        self.last = after
        self.reached = 0
        self.is_padded = False

    def __iter__(self) -> Iterator[tuple[Path, Txn]]:
        """Yield file and transaction. Raises DamagedFile, and EnsembleError for missing transactions."""
        for log in self._logs:
            file = LogFile(log.path)
            before: Txn | None = None
            for txn in file:
                previous, before = before, txn
                if txn.zxid <= self.last:
                    # After catching up with its leader, a member may log transactions a second time.
                    self._on_earlier(txn)
                    self.reached = max(self.reached, txn.zxid)
                    self._latest = txn if txn.zxid == self.last else self._latest
                    continue
                if self._until is not None and txn.zxid > self._until:
                    return
                self._check_follows(txn, previous, log.path)
                self.last = self.reached = txn.zxid
                self._latest = txn
                yield log.path, txn
            if before is None and log.zxid > self.last:
                self._check_name(log, has_header=file.has_header)
            if file.cut_at is not None and log is self._logs[-1]:
                raise _cut_short(log.path, file.cut_at, self.last)
            self.is_padded = file.is_padded

    def _check_follows(self, txn: Txn, previous: Txn | None, path: Path) -> None:
        is_in_file = previous is not None and previous.zxid == self.last
        if txn.zxid != self.last + 1 and not (is_in_file and _begins_epoch(txn.zxid)):
            _check_gap(txn, self.last, self._latest, path)
        elif previous is None and self._latest is not None and txn.kind in CHANGES_NOTHING:
            digests = {self._latest.digest, txn.digest}
            if None not in digests and len(digests) > 1:
                raise EnsembleError(
                    f"{path} does not continue the file before it: transaction 0x{txn.zxid:x} changes"
                    " nothing, but the digest of the tree differs",
                    remedy="Give the logs of one member only; copy its folders again",
                )

    def _check_name(self, log: ZxidFile, *, has_header: bool) -> None:
        """Raise EnsembleError for a file without transactions, unless its server is about to write the next.

        A server creates the file for the transaction in its name, header first.
        """
        if log.zxid != self.last + 1:
            raise EnsembleError(
                f"{log.path} has no transaction, but its name proves that transactions between"
                f" 0x{self.last:x} and 0x{log.zxid:x} existed",
                remedy=_COPY_ALL,
            )
        if not has_header:
            raise EnsembleError(
                f"{log.path} is empty, so transaction 0x{log.zxid:x}, for which its server created it, may be"
                " missing: the copy was cut short, or the server ended at that moment",
                remedy="Copy the logs again, to a disk with enough space; if the member has an empty file,"
                " too, take the files of another member",
            )


def _begins_epoch(zxid: int) -> bool:
    """Return whether the zxid's counter is 1, as after a leader election.

    Every write increments the counter, including failed writes.
    """
    return zxid & _COUNTER == 1


def _check_gap(txn: Txn, last: int, latest: Txn | None, path: Path) -> None:
    """Raise EnsembleError unless the log is complete between ``last`` and a transaction with another zxid.

    latest: the transaction with the zxid ``last``; None if only the snapshot contains it.

    A jump is expected where a new leader starts a file, provided that the file continues the previous one.
    The zxid does not show how many transactions the previous epoch had; the tree digest does: it is equal
    before and after a transaction that leaves the tree unchanged, as the first transaction of an epoch often
    does. Without digests, only the first leader of an ensemble proves that nothing was written before.
    """
    if not _begins_epoch(txn.zxid):
        raise EnsembleError(
            f"{path}: transaction 0x{txn.zxid:x} follows 0x{last:x}; transactions between them are missing",
            remedy=_COPY_ALL,
        )
    digest = None if latest is None else latest.digest
    if not last:
        digest = EMPTY_TREE_DIGEST
        if txn.digest is None and txn.zxid >> 32 == _FIRST_EPOCH:
            return
    if digest is None or txn.kind not in CHANGES_NOTHING or txn.digest != digest:
        raise EnsembleError(
            f"{path} begins with transaction 0x{txn.zxid:x} of a new leader, and nothing proves that"
            f" 0x{last:x} was the last transaction of the previous leader: a log file may be missing",
            remedy="Copy all log files again; if none is missing, take the files of a member with a"
            f" snapshot of the new leader's epoch, snapshot.{txn.zxid - 1:x} or newer",
        )


def _cut_short(path: Path, offset: int, last: int) -> DamagedFile:
    return DamagedFile(
        path,
        offset,
        f"the log ends within a transaction after 0x{last:x}, without the zeros of a server's file: the copy"
        " was cut short",
        remedy="Copy the log again, to a disk with enough space; if the member has the same file, take the"
        " files of another member",
    )


_COPY_ALL = "Copy all log files that are as old as the snapshot or newer; include dataLogDir"
