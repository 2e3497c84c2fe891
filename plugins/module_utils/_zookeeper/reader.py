# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reads through one session: batched with multiRead, or pipelined where the server has none."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from types import TracebackType
from typing import Any, NamedTuple, NoReturn, Optional, TypeVar

from .._partmove.errors import AccessDenied, EnsembleError
from .._partmove.tree.multi_batches import MAX_BYTES
from .._partmove.tree.rate import Rate
from .._partmove.tree.znodes import Query, QueryAnswer, Znode
from .options import EnsembleOptions
from .session import LOST, Session
from .wire import (
    BAD_ARGUMENTS,
    CHILDREN,
    DATA,
    NO_AUTH,
    UNIMPLEMENTED,
    Exists,
    MultiRead,
    ReadKind,
    ReadRequest,
    ReadSection,
    SingleRead,
    Sync,
    wire_path,
)

MAX_READS = 500
BATCHES_IN_FLIGHT = 8
SINGLES_IN_FLIGHT = 256
ANSWER_BYTES = 1024 * 1024

LONG_LIST = 100_000
"""Names of children of which it is worth looking for those that another list has, too."""

_NO_MULTI_READ = (UNIMPLEMENTED, BAD_ARGUMENTS)

_Entered = TypeVar("_Entered", bound="Reader")
_Sections = tuple[list[Optional[Znode]], list[Optional[tuple[str, ...]]]]


class _PendingSync(NamedTuple):
    path: str
    result: Any
    """What `Session.outcome` takes."""


class BatchSizer:
    """Chooses how many znodes to read at once, so that an answer stays near ANSWER_BYTES."""

    def __init__(self, expected: float) -> None:
        """``expected`` is what one znode is taken to need, in bytes, before anything was read."""
        self._expected = expected

    def batch(self) -> int:
        """How many znodes to read in the next request."""
        return max(1, min(MAX_READS, int(ANSWER_BYTES / self._expected)))

    def learn(self, znodes: int, size: int) -> None:
        """Follow larger znodes at once and smaller ones slowly."""
        seen = max(1.0, size / znodes)
        self._expected = max(seen, (self._expected + seen) / 2)


class NameInterner:
    """Keeps once what several long lists have in common: the replicas of a table have the same parts."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}

    def shared(self, names: tuple[str, ...] | None) -> tuple[str, ...] | None:
        """The list, made of names that were there before as far as they were."""
        if names is None or len(names) < LONG_LIST:
            return names
        return tuple(map(self._known.setdefault, names, names))

    def take(self, path: str, packet: bytes, offset: int) -> tuple[tuple[str, ...] | None, int]:
        """Take a list out of an answer; at once, as an answer may hold several that are long."""
        names, end = CHILDREN.take(path, packet, offset)
        return self.shared(names), end


class Reader:
    """Implements ZnodeReader."""

    def __init__(self, options: EnsembleOptions, label: str) -> None:
        """Connect; see `Session` for the errors."""
        self._options = options
        self._session = Session(options, label)
        self._rate = Rate(options.reads_per_second)
        self._sizes = {DATA.type: BatchSizer(8 * 1024), CHILDREN.type: BatchSizer(64 * 1024)}
        self._syncs: deque[_PendingSync] = deque()
        """Those whose answer nobody has looked at; threads that read at the same time all look at them."""
        try:
            self._multi_read = self._has_multi_read()
        except BaseException:
            self._session.close()
            raise

    def __enter__(self: _Entered) -> _Entered:
        """Nothing to do: the session is open."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the session."""
        self.close()

    @property
    def name(self) -> str:
        """What messages call this side: the name of the ensemble, or the address of the member."""
        return self._options.name

    @property
    def server_id(self) -> int:
        """The id (``myid``) of the server that opened the session."""
        return self._session.session_id >> 56 & 0xFF

    def read(self, paths: Sequence[str], *, absolute: bool = False) -> list[Znode | None]:
        """Data and stat of each path, in order; None where there is no znode.

        Raises:
            EnsembleUnreachable: no answer within the operation timeout, reconnecting included.
            AccessDenied: the identity may not read a znode.
        """
        return self._read([ReadSection(DATA, paths)], "" if absolute else self._options.chroot)[0]

    def children(self, paths: Sequence[str]) -> list[tuple[str, ...] | None]:
        """Names of the children of each path, sorted; None where there is no znode. Raises as `read` does."""
        return self._read([ReadSection(CHILDREN, paths)], self._options.chroot)[1]

    def ask(self, queries: Sequence[Query]) -> list[QueryAnswer]:
        """The answers to each query, in order. Raises as `read` does."""
        sections: list[ReadSection] = []
        for query in queries:
            # Most are for one of the two.
            if query.znodes:
                sections.append(ReadSection(DATA, query.znodes))
            if query.children:
                sections.append(ReadSection(CHILDREN, query.children))
        found = self._read(sections, self._options.chroot)
        znodes, children = iter(found[0]), iter(found[1])
        return [
            QueryAnswer(list(islice(znodes, len(query.znodes))), list(islice(children, len(query.children))))
            for query in queries
        ]

    def sync(self, path: str) -> None:
        """Let the next reads see all that the leader has committed by now; they raise what this cannot do.

        They are not kept waiting for it: a server answers the requests of a connection in their order.
        """
        self._syncs.append(_PendingSync(path, self._session.send(self._sync(path))))

    def close(self) -> None:
        """End the session; its ephemeral znodes go."""
        self._session.close()

    def _read(self, sections: Sequence[ReadSection], chroot: str) -> _Sections:
        """All znodes of the sections, and all lists of children, each in their order."""
        # Before anything is sent. What others send meanwhile may come after it.
        syncs = tuple(self._syncs)
        found = self._read_now(sections, chroot)
        answered = [self._was_answered(each) for each in syncs]
        if all(answered):
            return found
        # These answers may be of a server that the connection went over to before it had seen all.
        return self._read_now(sections, chroot)

    def _was_answered(self, sync: _PendingSync) -> bool:
        """Whether it was answered at first; otherwise there was an answer to another one."""
        answer = self._session.outcome(sync.result)
        was_lost = answer.error in LOST
        if was_lost:
            answer = self._session.ask(self._sync(sync.path))
        if answer.error:
            self._refuse(sync.path, answer.error)
        with suppress(ValueError):
            self._syncs.remove(sync)
        return not was_lost

    def _sync(self, path: str) -> Sync:
        return Sync(wire_path(self._options.chroot, path))

    def _read_now(self, sections: Sequence[ReadSection], chroot: str) -> _Sections:
        found: dict[int, list[Any]] = {DATA.type: [], CHILDREN.type: []}
        shared = ReadKind(CHILDREN.type, NameInterner().take)
        sections = [each if each.kind is DATA else ReadSection(shared, each.paths) for each in sections]
        requests: Iterator[ReadRequest]
        if self._multi_read:
            requests, window = _multi_reads(chroot, sections, self._sizes), BATCHES_IN_FLIGHT
        else:
            requests, window = _single_reads(chroot, sections), SINGLES_IN_FLIGHT
        for request, answer in self._session.stream(map(self._paced, requests), window):
            if self._multi_read and answer.error in _NO_MULTI_READ:
                # The session went over to a member of an older version.
                self._multi_read = False
                return self._read_now(sections, chroot)
            for kind, results, size in request.decode(answer, self._refuse):
                found[kind.type] += results
                self._sizes[kind.type].learn(len(results), size)
        return found[DATA.type], found[CHILDREN.type]

    def _paced(self, request: ReadRequest) -> ReadRequest:
        """The request, when it may be sent."""
        self._rate.wait(request.paths)
        return request

    def _has_multi_read(self) -> bool:
        """Try it: a server that has none says so, drops the connection, or both."""
        for _each in range(2):
            answer = self._session.try_once(MultiRead("", [ReadSection(DATA, ("/",))]))
            if answer.error in _NO_MULTI_READ:
                return False
            if answer.error not in LOST:
                return True
            # Raises when it is not for the multiRead that the connection is lost.
            self._session.ask(Exists(b"/"))
        return False

    def _refuse(self, path: str, code: int) -> NoReturn:
        if code == NO_AUTH:
            raise AccessDenied(
                f"The identity given to {self._session.label} may not read {path}",
                remedy="Give the identity that its ACL names, or correct the ACL",
            )
        raise EnsembleError(f"Error {code} from {self._session.label} for {path}")


def _single_reads(chroot: str, sections: Sequence[ReadSection]) -> Iterator[ReadRequest]:
    for kind, paths in sections:
        for path in paths:
            yield SingleRead(kind, chroot, path)


def _multi_reads(
    chroot: str, sections: Sequence[ReadSection], sizes: Mapping[int, BatchSizer]
) -> Iterator[ReadRequest]:
    """Requests for all sections in order, each for as much as its answer is expected to hold."""
    filled: list[ReadSection] = []
    room = 1.0
    for kind, paths in sections:
        begin = 0
        while begin < len(paths):
            batch = sizes[kind.type].batch()
            count = min(len(paths) - begin, int(room * batch))
            if count or not filled:
                end = begin + max(1, count)
                filled.append(ReadSection(kind, paths[begin:end]))
                room -= (end - begin) / batch
                begin = end
            else:
                yield from _within_bytes(chroot, filled)
                filled, room = [], 1.0
    if filled:
        yield from _within_bytes(chroot, filled)


def _within_bytes(chroot: str, sections: Sequence[ReadSection]) -> Iterator[ReadRequest]:
    """One request for the sections, or more where a server would not take it for its size."""
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
