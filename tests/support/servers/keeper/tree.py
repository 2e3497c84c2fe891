# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The tree of one member, and what each transaction does to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from support.servers.keeper.manners import Manners
from support.servers.keeper.messages import (
    CHECK,
    CHECK_NOT_EXISTS,
    CREATE,
    CREATE2,
    CREATE_IF_NOT_EXISTS,
    DELETE,
    EXISTS,
    FILTERED_LIST,
    GET_ACL,
    GET_CHILDREN,
    GET_DATA,
    MULTI,
    REMOVE_RECURSIVE,
    SET_ACL,
    SET_DATA,
    Answer,
    Request,
    acl_bytes,
    data_bytes,
    multi_bytes,
    names_bytes,
    text_bytes,
)
from support.servers.keeper.znode import (
    ADMIN,
    BAD_ARGUMENTS,
    BAD_VERSION,
    CHANGED,
    CHILD,
    CREATED,
    CREATION,
    DELETED,
    DELETION,
    INCONSISTENT,
    NO_AUTH,
    NO_NODE,
    NODE_EXISTS,
    NOT_EMPTY,
    OF_EPHEMERAL,
    OPEN,
    READ,
    UNIMPLEMENTED,
    WRITE,
    Event,
    Identities,
    Refused,
    Transaction,
    Znode,
    fixed,
    may,
    parent_of,
    require,
    set_fields,
)

_EPHEMERAL, _SEQUENTIAL = 1, 2


class Tree:
    """The znodes of one member."""

    def __init__(self, manners: Manners, members: bytes) -> None:
        """``members``: the data of the list of members."""
        self._manners = manners
        self._znodes = {"/": Znode(b"", OPEN, 0, 0, 0)}
        self._ephemerals: dict[int, set[str]] = {}
        self._events: list[Event] = []
        self._undo: list[Callable[[], object]] = []
        self._system = ""
        for path, data in {**manners.system_znodes, manners.members_path: members}.items():
            self._create(Request(CREATE, path, data, OPEN), Transaction(0, 0, 0, (), Request(CREATE)))
        self._system = "/keeper" if manners.is_keeper else "/zookeeper"
        self._events.clear()

    def __len__(self) -> int:
        """Return the number of znodes."""
        return len(self._znodes)

    def ephemerals(self) -> int:
        """Return the number of ephemeral znodes."""
        return sum(map(len, self._ephemerals.values()))

    def read(self, request: Request, identities: Identities) -> Answer:
        """Answer one read."""
        znode = self._znodes.get(request.path)
        if znode is None:
            return Answer(NO_NODE)
        if request.kind == EXISTS and (self._manners.is_keeper or may(znode, READ, identities)):
            return Answer(0, znode.stat)
        wanted = READ | ADMIN if request.kind == GET_ACL else READ
        if not may(znode, wanted, identities):
            return Answer(NO_AUTH)
        if request.kind == GET_DATA:
            return Answer(0, data_bytes(znode.data) + znode.stat)
        if request.kind == GET_ACL:
            return Answer(0, acl_bytes(znode.acl) + znode.stat)
        names = self._names(request, znode)
        return Answer(0, names_bytes(names) + (b"" if request.kind == GET_CHILDREN else znode.stat))

    def write(self, transaction: Transaction) -> tuple[Answer, list[Event]]:
        """Apply a transaction as a whole or not at all; return its answer, and what fires watches."""
        self._events, self._undo = [], []
        request = transaction.request
        parts = request.parts if request.kind == MULTI else (request,)
        answers: list[Answer | None] = []
        body = b""
        for part in parts:
            try:
                body = self._apply(part, transaction)
                answers.append(Answer(0, body))
            except Refused as refused:
                for undo in reversed(self._undo):
                    undo()
                if request.kind != MULTI:
                    return Answer(refused.code), []
                later = [Answer(INCONSISTENT)] * (len(parts) - len(answers) - 1)
                answers = [*[None] * len(answers), Answer(refused.code), *later]
                self._events = []
                break
        if request.kind != MULTI:
            return Answer(0, body), self._events
        kinds = [part.kind for part in parts]
        return Answer(0, multi_bytes(kinds, answers, errors_have_a_body=True)), self._events

    def end_session(self, session_id: int, zxid: int, time: int) -> list[Event]:
        """Delete the ephemeral znodes of a session; return what fires watches."""
        self._events, self._undo = [], []
        for path in sorted(self._ephemerals.pop(session_id, ()), reverse=True):
            self._delete(path, Transaction(zxid, time, session_id, (), Request(DELETE)))
        return self._events

    def _apply(self, request: Request, transaction: Transaction) -> bytes:
        path, system = request.path, self._system
        if system and (path == system or path.startswith(f"{system}/")):
            raise Refused(BAD_ARGUMENTS if self._manners.is_keeper else NO_AUTH)
        apply = _OPERATIONS.get(request.kind)
        if apply is None:
            raise Refused(UNIMPLEMENTED)
        return apply(self, request, transaction)

    def _check(self, request: Request, transaction: Transaction) -> bytes:
        require(self._there(request.path), READ, transaction)
        self._at_version(request)
        return b""

    def _check_not_exists(self, request: Request, _transaction: Transaction) -> bytes:
        if request.path in self._znodes:
            raise Refused(NODE_EXISTS)
        return b""

    def _remove(self, request: Request, transaction: Transaction) -> bytes:
        require(self._there(parent_of(request.path)), DELETION, transaction)
        if self._at_version(request).children:
            raise Refused(NOT_EMPTY)
        self._delete(request.path, transaction)
        return b""

    def _at_version(self, request: Request) -> Znode:
        znode = self._there(request.path)
        if request.version not in (-1, znode.version):
            raise Refused(BAD_VERSION)
        return znode

    def _create(self, request: Request, transaction: Transaction) -> bytes:
        path = request.path
        parent_path = parent_of(path)
        parent = self._there(parent_path)
        require(parent, CREATION, transaction)
        if parent.owner:
            raise Refused(OF_EPHEMERAL)
        if request.flags & _SEQUENTIAL:
            path = f"{path}{parent.sequence:010d}"
        elif path in self._znodes:
            if request.kind == CREATE_IF_NOT_EXISTS:
                return text_bytes(path)
            raise Refused(NODE_EXISTS)
        owner = transaction.session_id if request.flags & _EPHEMERAL else 0
        acl = fixed(request.acl, transaction)
        znode = Znode(request.data, acl, owner, transaction.zxid, transaction.time)
        self._count(parent, transaction.zxid)
        parent.sequence += 1
        self._undo.append(lambda: setattr(parent, "sequence", parent.sequence - 1))
        self._put(path, znode)
        self._undo.append(lambda: self._take(path))
        self._events += [Event(CREATED, path, znode), Event(CHILD, parent_path, parent)]
        return text_bytes(path) + (znode.stat if request.kind == CREATE2 else b"")

    def _delete(self, path: str, transaction: Transaction) -> None:
        parent_path = parent_of(path)
        # Keeper counts a deleted child, and does not remember when.
        parent = self._there(parent_path)
        self._count(parent, 0 if self._manners.is_keeper else transaction.zxid)
        znode = self._take(path)
        self._undo.append(lambda: self._put(path, znode))
        self._events += [Event(DELETED, path, znode), Event(CHILD, parent_path, parent)]

    def _remove_recursively(self, request: Request, transaction: Transaction) -> bytes:
        require(self._there(parent_of(request.path)), DELETION, transaction)
        paths = list(self._below(request.path))
        if len(paths) > request.limit & 0xFFFFFFFF:
            raise Refused(NOT_EMPTY)
        for path in reversed(paths):
            self._delete(path, transaction)
        return b""

    def _set_data(self, request: Request, transaction: Transaction) -> bytes:
        require(self._there(request.path), WRITE, transaction)
        znode = self._at_version(request)
        former = (znode.data, znode.version, znode.mzxid, znode.mtime)
        self._undo.append(lambda: set_fields(znode, *former))
        set_fields(znode, request.data, znode.version + 1, transaction.zxid, transaction.time)
        if self._manners.is_keeper and request.path != "/":
            self._count(self._there(parent_of(request.path)), 0)
        self._events.append(Event(CHANGED, request.path, znode))
        return znode.stat

    def _set_acl(self, request: Request, transaction: Transaction) -> bytes:
        znode = self._there(request.path)
        require(znode, ADMIN, transaction)
        if request.version not in (-1, znode.aversion):
            raise Refused(BAD_VERSION)
        znode.acl = fixed(request.acl, transaction)
        znode.aversion += 1
        return znode.stat

    def _count(self, parent: Znode, zxid: int) -> None:
        """Count a change of a child; ``zxid``: 0 if the parent does not remember which one it was."""
        former = (parent.cversion, parent.pzxid)

        def undo() -> None:
            parent.cversion, parent.pzxid = former

        self._undo.append(undo)
        parent.cversion += 1
        parent.pzxid = zxid or parent.pzxid

    def _put(self, path: str, znode: Znode) -> None:
        self._znodes[path] = znode
        self._there(parent_of(path)).children.add(path.rpartition("/")[2])
        if znode.owner:
            self._ephemerals.setdefault(znode.owner, set()).add(path)

    def _take(self, path: str) -> Znode:
        znode = self._znodes.pop(path)
        self._there(parent_of(path)).children.remove(path.rpartition("/")[2])
        self._ephemerals.get(znode.owner, set()).discard(path)
        return znode

    def _names(self, request: Request, znode: Znode) -> list[str]:
        if request.kind != FILTERED_LIST or not request.filter:
            return list(znode.children)
        is_ephemeral = request.filter == 2
        prefix = request.path.rstrip("/")
        return [
            name for name in znode.children if bool(self._znodes[f"{prefix}/{name}"].owner) == is_ephemeral
        ]

    def _below(self, path: str) -> Iterator[str]:
        """The znode and all below it, parents first."""
        yield path
        for name in sorted(self._there(path).children):
            yield from self._below(f"{path}/{name}")

    def _there(self, path: str) -> Znode:
        znode = self._znodes.get(path)
        if znode is None:
            raise Refused(NO_NODE)
        return znode


_OPERATIONS: dict[int, Callable[[Tree, Request, Transaction], bytes]] = {
    CREATE: Tree._create,
    CREATE2: Tree._create,
    CREATE_IF_NOT_EXISTS: Tree._create,
    DELETE: Tree._remove,
    SET_DATA: Tree._set_data,
    SET_ACL: Tree._set_acl,
    CHECK: Tree._check,
    CHECK_NOT_EXISTS: Tree._check_not_exists,
    REMOVE_RECURSIVE: Tree._remove_recursively,
}
