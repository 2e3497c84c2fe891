# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The ledger of a twin: what should be in the twin, stored in hot.

The znodes are below the coordination root::

    twin-ledger/<shard path, quoted>            the head: both tables with places and UUIDs
    twin-ledger/<shard path, quoted>/<number>   a page: the entries of many partitions

A page has at most MOST_BYTES, which is room for about 300 partitions. A partition is in one page. There is
no ledger without an entry: the last entry leaves with its page and the head.

Every write checks the lease of the shard path, and the versions of the head and of the changed pages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Optional
from urllib.parse import quote, unquote

from ...errors import EnsembleError, FormatError, LeaseLost
from ...lease.lease import Lease, raise_if_lease_lost
from ...tree.paths import ensure_path, raise_if_unwritable
from ...tree.ports import ZnodeReader, ZnodeStore
from ...tree.znodes import Check, Committed, Create, Delete, Op, Rejected, SetData
from ...zip_strict import zip_strict
from .entry import Entries, LedgerEntry, TwinPair, encode_page, parse_head, parse_page

MOST_BYTES = 16_000
"""The size of a full page."""
MOST_CHANGES = 50
"""The most partitions of one change: so many full pages fit one transaction."""

Changes = Mapping[str, Optional[LedgerEntry]]
"""Partition id → its new entry; None for a partition that leaves the ledger."""


class LedgerPage(NamedTuple):
    """A page as read or written last."""

    path: str
    version: int
    entries: Entries


class TwinLedger(NamedTuple):
    """The ledger of a shard path, as read or written last."""

    path: str
    version: int
    """Data version of the head."""
    pair: TwinPair
    pages: tuple[LedgerPage, ...]
    written: float = 0.0
    """When the head was written, in seconds since 1970 by the clock of hot; 0 after a change by this run."""

    @property
    def entries(self) -> dict[str, LedgerEntry]:
        """Partition id → entry, sorted."""
        return dict(sorted((each, entry) for page in self.pages for each, entry in page.entries.items()))


class LedgerChange(NamedTuple):
    """A change of a ledger: the operations, and the ledger afterwards."""

    ops: tuple[Op, ...]
    after: TwinLedger | None


def ledgered_shard_paths(hot: ZnodeReader, root: str) -> list[str]:
    """Return the shard paths with a ledger below the coordination root, sorted."""
    return sorted(unquote(each) for each in hot.children([_folder(root)])[0] or ())


def read_heads(hot: ZnodeReader, root: str) -> dict[str, TwinPair]:
    """Map each shard path with a ledger to its tables. Raises FormatError."""
    paths = ledgered_shard_paths(hot, root)
    znodes = hot.read([path_of_ledger(root, each) for each in paths])
    return {path: parse_head(znode) for path, znode in zip_strict(paths, znodes) if znode is not None}


def path_of_ledger(root: str, shard_path: str) -> str:
    """Return the path in hot of the head of a ledger."""
    return f"{_folder(root)}/{quote(shard_path, safe='')}"


def _folder(root: str) -> str:
    return f"{root}/twin-ledger"


def read_ledger(hot: ZnodeReader, root: str, shard_path: str) -> TwinLedger | None:
    """Return the ledger of a shard path; None without a ledger. Raises FormatError for an unknown znode."""
    path = path_of_ledger(root, shard_path)
    (head,) = hot.read([path])
    if head is None:
        return None
    names = sorted(hot.children([path])[0] or (), key=lambda name: (len(name), name))
    pages = [
        LedgerPage(znode.path, znode.stat.version, parse_page(znode))
        for znode in hot.read([f"{path}/{name}" for name in names])
        if znode is not None
    ]
    written = head.stat.mtime / 1000
    ledger = TwinLedger(path, head.stat.version, parse_head(head), tuple(pages), written)
    if sum(len(page.entries) for page in pages) != len(ledger.entries):
        raise FormatError(
            f"Two pages of {path} have the same partition",
            remedy="Find out which client wrote them, and delete the page with the lower mZxid",
        )
    return ledger


def change_of(ledger: TwinLedger | None, path: str, pair: TwinPair, changes: Changes) -> LedgerChange:
    """Return the operations for a change of at most MOST_CHANGES partitions, and the ledger afterwards.

    path: the path of the head. pair: both tables as of now.
    """
    before = () if ledger is None else ledger.pages
    after = _changed_pages(before, path, changes)
    if not any(page.entries for page in after):
        ops: list[Op] = [Delete(page.path, page.version) for page in before]
        return LedgerChange((*ops, *([] if ledger is None else [Delete(path, ledger.version)])), None)
    known = {page.path: page for page in before}
    ops, pages = [], []
    for page in after:
        op = _op_of(known.get(page.path), page)
        ops.extend([] if op is None else [op])
        if page.entries:
            pages.append(page if op is None else page._replace(version=page.version + 1))
    head, version = _head_op(ledger, path, pair)
    if not ops and isinstance(head, Check):
        return LedgerChange((), ledger)
    return LedgerChange((head, *ops), TwinLedger(path, version, pair, tuple(pages)))


def _changed_pages(before: Sequence[LedgerPage], path: str, changes: Changes) -> list[LedgerPage]:
    """Return the pages with the changes: also emptied pages, and new pages with the version -1."""
    pages = [_Filling(page) for page in before]
    for partition, entry in sorted(changes.items()):
        home = next((page for page in pages if partition in page.entries), None)
        if home is not None:
            home.remove(partition)
        if entry is None:
            continue
        emptiest = min(pages, key=lambda page: len(page.entries), default=None)
        room = next((page for page in (home, emptiest) if page and page.has_room(partition, entry)), None)
        if room is None:
            number = 1 + max((int(page.page.path.rpartition("/")[2]) for page in pages), default=0)
            room = _Filling(LedgerPage(f"{path}/{number}", -1, {}))
            pages.append(room)
        room.add(partition, entry)
    return [page.page._replace(entries=page.entries) for page in pages]


class _Filling:
    """A page during a change, and how many bytes its entries take."""

    def __init__(self, page: LedgerPage) -> None:
        self.page = page
        self.entries = dict(page.entries)
        self._bytes: int | None = None

    def remove(self, partition: str) -> None:
        self._bytes = self._size() - _bytes_of(partition, self.entries.pop(partition))

    def has_room(self, partition: str, entry: LedgerEntry) -> bool:
        return self._size() + _bytes_of(partition, entry) <= MOST_BYTES

    def add(self, partition: str, entry: LedgerEntry) -> None:
        self._bytes = self._size() + _bytes_of(partition, entry)
        self.entries[partition] = entry

    def _size(self) -> int:
        if self._bytes is None:
            self._bytes = len(encode_page(self.entries))
        return self._bytes


def _bytes_of(partition: str, entry: LedgerEntry) -> int:
    """Return how many bytes an entry adds to a page, with the comma that separates it."""
    return len(encode_page({partition: entry})) - len(encode_page({})) + 1


def _op_of(before: LedgerPage | None, after: LedgerPage) -> Op | None:
    if before is None:
        return Create(after.path, encode_page(after.entries))
    if not after.entries:
        return Delete(after.path, before.version)
    if after.entries == before.entries:
        return None
    return SetData(after.path, encode_page(after.entries), before.version)


def _head_op(ledger: TwinLedger | None, path: str, pair: TwinPair) -> tuple[Op, int]:
    """Return the operation on the head, and its version afterwards."""
    if ledger is None:
        return Create(path, pair.encode()), 0
    if ledger.pair == pair:
        return Check(path, ledger.version), ledger.version
    return SetData(path, pair.encode(), ledger.version), ledger.version + 1


class OpenLedger:
    """The ledger of a shard path under its lease.

    States: as read → changed by `commit`, or by the caller with the operations of `plan` and `adopt`. After
    an error of a write, the ledger must be read again.
    """

    def __init__(self, hot: ZnodeStore, root: str, shard_path: str) -> None:
        """Read the ledger. Raises FormatError and EnsembleError."""
        self._hot = hot
        self._root = root
        self._shard_path = shard_path
        self.path = path_of_ledger(root, shard_path)
        self.ledger = read_ledger(hot, root, shard_path)

    @property
    def entries(self) -> dict[str, LedgerEntry]:
        """Partition id → entry."""
        return {} if self.ledger is None else self.ledger.entries

    def plan(self, pair: TwinPair, changes: Changes) -> LedgerChange:
        """Return the change, for a transaction of the caller. Creates the parent of the head if needed."""
        change = change_of(self.ledger, self.path, pair, changes)
        if any(isinstance(each, Create) for each in change.ops):
            ensure_path(self._hot, _folder(self._root))
        return change

    def adopt(self, change: LedgerChange) -> None:
        """Continue with the ledger after a change that was committed."""
        self.ledger = change.after

    def commit(self, lease: Lease, pair: TwinPair, changes: Changes) -> bool:
        """Write a change under the lease; return whether anything was written.

        Raises LeaseLost without a valid lease or if the ledger has changed, and EnsembleError.
        """
        change = self.plan(pair, changes)
        if not change.ops:
            return False
        checks = lease.hot_checks
        outcome = self._hot.commit([(*checks, *change.ops)])[0]
        if isinstance(outcome, Rejected):
            raise_if_lease_lost(outcome, len(checks), self._shard_path)
            raise_if_unwritable(self._hot, self.path, outcome)
            raise LeaseLost(
                f"{self.path} has changed since this run read it: {outcome.reason.value}",
                remedy="Another run took over the shard path; run again",
            )
        if not isinstance(outcome, Committed):
            raise EnsembleError(
                f"It is not known whether {self.path} was written: {outcome.cause}",
                remedy="Run again: the next run reads the ledger again",
            )
        self.adopt(change)
        return True
