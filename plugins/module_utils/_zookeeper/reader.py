# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reads through one session: batched with multiRead, or pipelined where the server has none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from types import TracebackType
from typing import NoReturn, TypeVar

from .._partmove.errors import AccessDenied, EnsembleError
from .._partmove.tree.batches import MAX_BYTES
from .._partmove.tree.znodes import Znode
from .options import EnsembleOptions
from .pace import Pace
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
    SingleRead,
    Sync,
    wire_path,
)

MAX_READS = 500
BATCHES_IN_FLIGHT = 8
SINGLES_IN_FLIGHT = 256
ANSWER_BYTES = 1024 * 1024

_NOT_KNOWN = (UNIMPLEMENTED, BAD_ARGUMENTS)

_Found = TypeVar("_Found")
_Entered = TypeVar("_Entered", bound="Reader")


class AnswerSize:
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


class Reader:
    """Implements ZnodeReader."""

    def __init__(self, options: EnsembleOptions, label: str) -> None:
        """Connect; see `Session` for the errors."""
        self._options = options
        self._session = Session(options, label)
        self._pace = Pace(options.reads_per_second)
        self._data_size = AnswerSize(8 * 1024)
        self._children_size = AnswerSize(64 * 1024)
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
        return self._read(DATA, self._data_size, paths, "" if absolute else self._options.chroot)

    def children(self, paths: Sequence[str]) -> list[tuple[str, ...] | None]:
        """Names of the children of each path, sorted; None where there is no znode. Raises as `read` does."""
        return self._read(CHILDREN, self._children_size, paths, self._options.chroot)

    def sync(self, path: str) -> None:
        """Wait until the server of this session has seen all that the leader had committed."""
        answer = self._session.ask(Sync(wire_path(self._options.chroot, path)))
        if answer.error:
            self._refuse(path, answer.error)

    def close(self) -> None:
        """End the session; its ephemeral znodes go."""
        self._session.close()

    def _read(
        self, kind: ReadKind[_Found], size: AnswerSize, paths: Sequence[str], chroot: str
    ) -> list[_Found | None]:
        found: list[_Found | None] = []
        requests: Iterator[ReadRequest[_Found]]
        if self._multi_read:
            requests, window = _batches(kind, size, paths, chroot), BATCHES_IN_FLIGHT
        else:
            requests, window = map(partial(SingleRead, kind, chroot), paths), SINGLES_IN_FLIGHT
        for request, answer in self._session.stream(map(self._paced, requests), window):
            if self._multi_read and answer.error in _NOT_KNOWN:
                # The session went over to a member of an older version.
                self._multi_read = False
                return self._read(kind, size, paths, chroot)
            found += request.decode(answer, self._refuse)
            size.learn(len(request.paths), len(answer.packet))
        return found

    def _paced(self, request: ReadRequest[_Found]) -> ReadRequest[_Found]:
        """The request, when it may be sent."""
        self._pace.wait(len(request.paths))
        return request

    def _has_multi_read(self) -> bool:
        """Try it: a server that has none says so, drops the connection, or both."""
        for _each in range(2):
            answer = self._session.try_once(MultiRead(DATA, "", ("/",)))
            if answer.error in _NOT_KNOWN:
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


def _batches(
    kind: ReadKind[_Found], size: AnswerSize, paths: Sequence[str], chroot: str
) -> Iterator[MultiRead[_Found]]:
    begin = 0
    while begin < len(paths):
        end = begin + size.batch()
        request = MultiRead(kind, chroot, paths[begin:end])
        while request.size > MAX_BYTES and len(request.paths) > 1:
            end = begin + len(request.paths) // 2
            request = MultiRead(kind, chroot, paths[begin:end])
        yield request
        begin = end
