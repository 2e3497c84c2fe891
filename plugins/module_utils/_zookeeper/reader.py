# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reads through one session: batched with multiRead, or pipelined for servers without multiRead."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from types import TracebackType
from typing import Any, NoReturn, Optional, TypeVar

from .._partmove.errors import AccessDenied, EnsembleError
from .._partmove.tree.multi_batches import MAX_BYTES
from .._partmove.tree.rate import Rate
from .._partmove.tree.znodes import Query, QueryAnswer, Znode
from .options import EnsembleOptions
from .read_requests import (
    CHILDREN,
    DATA,
    MultiRead,
    ReadKind,
    ReadRequest,
    ReadSection,
    SingleRead,
)
from .session import LOST, Session
from .synced import SyncedReads
from .window import RequestWindow
from .wire import (
    BAD_ARGUMENTS,
    MARSHALLING_ERROR,
    NO_AUTH,
    UNIMPLEMENTED,
    Exists,
)

MAX_READS = 500
BATCHES_IN_FLIGHT = 8
SINGLES_IN_FLIGHT = 256
ANSWER_BYTES = 1024 * 1024

LONG_LIST = 100_000
"""Minimum length of child lists whose names are interned."""

_NO_MULTI_READ = (UNIMPLEMENTED, BAD_ARGUMENTS)

_Entered = TypeVar("_Entered", bound="Reader")
_Sections = tuple[list[Optional[Znode]], list[Optional[tuple[str, ...]]]]


class BatchSizer:
    """Chooses the number of znodes per request, for answers of about ANSWER_BYTES."""

    def __init__(self, expected: float) -> None:
        """``expected``: initial estimate of the bytes per znode."""
        self._expected = expected

    def batch(self) -> int:
        """Return the number of znodes for the next request."""
        return max(1, min(MAX_READS, int(ANSWER_BYTES / self._expected)))

    def learn(self, znodes: int, size: int) -> None:
        """Adapt to larger znodes at once, to smaller znodes gradually."""
        average = max(1.0, size / znodes)
        self._expected = max(average, (self._expected + average) / 2)


class NameInterner:
    """Stores equal names of long lists once: the replicas of a table have the same parts."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}

    def interned(self, names: tuple[str, ...] | None) -> tuple[str, ...] | None:
        """Return the list with known names replaced by their stored objects."""
        if names is None or len(names) < LONG_LIST:
            return names
        return tuple(map(self._known.setdefault, names, names))

    def take(self, path: str, packet: bytes, offset: int) -> tuple[tuple[str, ...] | None, int]:
        """Decode a list of children, interned at once: an answer may contain several long lists."""
        names, end = CHILDREN.take(path, packet, offset)
        return self.interned(names), end


class Reader:
    """Implements ZnodeReader with one session."""

    def __init__(self, options: EnsembleOptions, session: Session) -> None:
        """Take over a session; errors as in `Session`, which is closed then."""
        self._options = options
        self._session = session
        self._rate = Rate(options.reads_per_second)
        self._sizes = {DATA.type: BatchSizer(8 * 1024), CHILDREN.type: BatchSizer(64 * 1024)}
        try:
            self._multi_read = self._has_multi_read()
        except BaseException:
            self._session.close()
            raise
        self._reads = SyncedReads(self._session, options.chroot, self._refuse)

    def __enter__(self: _Entered) -> _Entered:
        """Return self; the session is already open."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the session."""
        self.close()

    @property
    def name(self) -> str:
        """Name of the ensemble or address of the member, for messages."""
        return self._options.name

    @property
    def window(self) -> RequestWindow:
        """The operations in flight to the ensemble."""
        return self._session.window

    @property
    def server_id(self) -> int:
        """Id (``myid``) of the server that opened the session."""
        return self._session.session_id >> 56 & 0xFF

    @property
    def has_multi_read(self) -> bool:
        """Whether the server answers many reads in one request."""
        return self._multi_read

    def read(self, paths: Sequence[str], *, absolute: bool = False) -> list[Znode | None]:
        """Return data and stat of each path, in order; None for a missing znode.

        Raises:
            EnsembleUnreachable: no answer within the operation timeout, reconnections included.
            AccessDenied: a znode is not readable for the identity.
        """
        return self._read([ReadSection(DATA, paths)], "" if absolute else self._options.chroot)[0]

    def children(self, paths: Sequence[str]) -> list[tuple[str, ...] | None]:
        """Return the sorted child names of each path; None for a missing znode. Errors as in `read`."""
        return self._read([ReadSection(CHILDREN, paths)], self._options.chroot)[1]

    def ask(self, queries: Sequence[Query]) -> list[QueryAnswer]:
        """Return the answer to each query, in order. Errors as in `read`."""
        sections: list[ReadSection] = []
        for query in queries:
            # Most queries have znodes or children only.
            if query.znodes:
                sections.append(ReadSection(DATA, query.znodes))
            if query.children:
                sections.append(ReadSection(CHILDREN, query.children))
        results = self._read(sections, self._options.chroot)
        znodes, children = iter(results[0]), iter(results[1])
        return [
            QueryAnswer(list(islice(znodes, len(query.znodes))), list(islice(children, len(query.children))))
            for query in queries
        ]

    def sync(self, path: str) -> None:
        """Make all later reads see all writes committed so far. Errors are raised by these reads.

        Reads need not wait for the answer: a server processes the requests of a connection in order. After a
        lost connection, `SyncedReads` repeats the sync.
        """
        self._reads.sync(path)

    def close(self) -> None:
        """End the session and delete its ephemeral znodes."""
        self._session.close()

    def _read(self, sections: Sequence[ReadSection], chroot: str) -> _Sections:
        """Return the znodes and the child lists of all sections, each in order."""
        found: dict[int, list[Any]] = {DATA.type: [], CHILDREN.type: []}
        shared = ReadKind(CHILDREN.type, NameInterner().take)
        sections = [each if each.kind is DATA else ReadSection(shared, each.paths) for each in sections]
        requests: Iterator[ReadRequest]
        if self._multi_read:
            requests, window = self._multi_reads(chroot, sections), BATCHES_IN_FLIGHT
        else:
            requests, window = _single_reads(chroot, sections), SINGLES_IN_FLIGHT
        for request, answer in self._reads.stream(map(self._paced, requests), window):
            if self._multi_read and answer.error in _NO_MULTI_READ:
                # The session moved to a member of an older version.
                self._multi_read = False
                return self._read(sections, chroot)
            for kind, results, size in request.decode(answer, self._refuse):
                found[kind.type] += results
                self._sizes[kind.type].learn(len(results), size)
        return found[DATA.type], found[CHILDREN.type]

    def _multi_reads(self, chroot: str, sections: Sequence[ReadSection]) -> Iterator[ReadRequest]:
        """Yield requests for all sections in order, sized by the expected answers and by the window."""
        filled: list[ReadSection] = []
        space = self._full_request()
        for kind, paths in sections:
            begin = 0
            while begin < len(paths):
                batch = self._sizes[kind.type].batch()
                count = min(len(paths) - begin, int(space * batch))
                if count > 0 or not filled:
                    end = begin + max(1, count)
                    filled.append(ReadSection(kind, paths[begin:end]))
                    space -= (end - begin) / batch
                    begin = end
                else:
                    yield from _within_bytes(chroot, filled)
                    filled, space = [], self._full_request()
        if filled:
            yield from _within_bytes(chroot, filled)

    def _full_request(self) -> float:
        """Return the size of a request now, as a share of the largest one."""
        return min(1.0, self.window.ops_at_once / MAX_READS)

    def _paced(self, request: ReadRequest) -> ReadRequest:
        """Wait for the rate limit; return the request, which counts as full if its answer is large."""
        self._rate.wait(request.paths)
        shares = [len(paths) / self._sizes[kind.type].batch() for kind, paths in request.sections]
        request.ops = max(1, round(MAX_READS * sum(shares)))
        return request

    def _has_multi_read(self) -> bool:
        """Return whether the server has multiRead.

        Servers without multiRead answer with an error, disconnect, or both.
        """
        for _each in range(2):
            answer = self._session.try_once(MultiRead("", [ReadSection(DATA, ("/",))]))
            if answer.error in _NO_MULTI_READ:
                return False
            if answer.error not in LOST:
                return True
            # Raises if the connection was lost for another reason than multiRead.
            self._session.ask(Exists(b"/"))
        return False

    def _refuse(self, path: str, code: int) -> NoReturn:
        if code == NO_AUTH:
            raise AccessDenied(
                f"The identity given to {self._session.label} may not read {path}",
                remedy="Give the identity that its ACL names, or correct the ACL",
            )
        if code == MARSHALLING_ERROR:
            raise EnsembleError(
                f"{self._session.label} answered the read of {path} in a form that is not understood",
                remedy="See that a ZooKeeper or ClickHouse Keeper listens there, and no proxy that changes"
                " answers. If so, report its version to olap.partmove",
            )
        raise EnsembleError(f"Error {code} from {self._session.label} for {path}")


def _single_reads(chroot: str, sections: Sequence[ReadSection]) -> Iterator[ReadRequest]:
    for kind, paths in sections:
        for path in paths:
            yield SingleRead(kind, chroot, path)


def _within_bytes(chroot: str, sections: Sequence[ReadSection]) -> Iterator[ReadRequest]:
    """Yield one request for the sections, or several if the server's size limit requires it."""
    request = MultiRead(chroot, sections)
    if request.size <= MAX_BYTES or request.paths == 1:
        yield request
    elif len(sections) > 1:
        for section in sections:
            yield from _within_bytes(chroot, [section])
    else:
        ((kind, paths),) = sections
        half = len(paths) // 2
        yield from _within_bytes(chroot, [ReadSection(kind, paths[:half])])
        yield from _within_bytes(chroot, [ReadSection(kind, paths[half:])])
