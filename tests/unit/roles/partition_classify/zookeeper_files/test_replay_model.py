# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A snapshot that is taken while transactions go on, and their log, give the tree after the last of them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings, strategies as st

from support.files import log_files as log
from support.files.log_files import TIME, LogWriter
from support.files.member_files import tree_of
from support.files.snapshot_files import Trailers, snapshot_file
from support.servers.busy_znodes import SeenZnode

Tree = dict[str, SeenZnode]

PATHS = ["/a/x", "/a/y", "/a/x/p", "/a/x/q", "/a/y/p"]
CLIENTS = [0, 1]
CREATES = [log.CREATE, log.CREATE2, log.CREATE_TTL, log.CREATE_CONTAINER]
KINDS = [
    *CREATES,
    log.CREATE,
    log.CREATE2,
    log.DELETE,
    log.DELETE,
    log.SET_DATA,
    log.SET_ACL,
    log.CLOSE_SESSION,
    log.MULTI,
]


@dataclass
class History:
    """A server's tree after each transaction, and what it wrote to its log.

    lists_paths: a record of a closed session says which znodes go with it, as from 3.6 on.
    """

    lists_paths: bool
    trees: list[Tree] = field(default_factory=lambda: [{"": znode(0), "/a": znode(0)}])
    records: list[tuple[int, int, bytes]] = field(default_factory=list)
    """Session, type and content."""
    sessions: list[int] = field(default_factory=lambda: [0x101, 0x102])
    """The session that each client has now."""

    def step(self, kind: int, path: str, client: int, ephemeral: bool) -> None:
        """Apply the change if possible; a server logs an error for an impossible one."""
        tree = dict(self.trees[-1])
        session = self.sessions[client]
        if kind == log.CLOSE_SESSION:
            body = self._close(tree, session)
            self.sessions[client] = max(self.sessions) + 1
        elif kind == log.MULTI:
            kind, body = self._multi(tree, path)
        else:
            body = self._apply(tree, kind, path, session if ephemeral else 0)
        if not body and kind != log.CLOSE_SESSION:
            kind, body = log.ERROR, log.error()
        self.trees.append(tree)
        self.records.append((session, kind, body))

    @property
    def zxid(self) -> int:
        return len(self.trees)

    def _apply(self, tree: Tree, kind: int, path: str, owner: int) -> bytes:
        """The content of the record; empty for an impossible change."""
        if kind in CREATES:
            return self._create(tree, kind, path, owner)
        if path not in tree or (kind == log.DELETE and any(each.startswith(f"{path}/") for each in tree)):
            return b""
        old, data = tree.pop(path), f"{self.zxid}".encode()
        if kind == log.DELETE:
            return log.delete(path)
        if kind == log.SET_ACL:
            tree[path] = old._replace(aversion=old.aversion + 1)
            return log.set_acl(path, old.aversion + 1)
        new = znode(self.zxid, data)
        tree[path] = old._replace(data=data, mzxid=new.mzxid, mtime=new.mtime, version=old.version + 1)
        return log.set_data(path, data, old.version + 1)

    def _create(self, tree: Tree, kind: int, path: str, owner: int) -> bytes:
        parent = tree.get(path.rpartition("/")[0])
        if path in tree or parent is None or parent.ephemeral_owner:
            return b""
        data = f"{self.zxid}".encode()
        tree[path] = znode(self.zxid, data)
        if kind == log.CREATE_TTL:
            return log.create_ttl(path, data, 1000)
        if kind == log.CREATE_CONTAINER:
            return log.create_container(path, data)
        tree[path] = tree[path]._replace(ephemeral_owner=owner)
        return log.create(path, data, ephemeral=bool(owner))

    def _multi(self, tree: Tree, path: str) -> tuple[int, bytes]:
        """Delete the znode, create it anew and set the data of its parent; all, or an error for each."""
        parent = path.rpartition("/")[0]
        kinds = [(log.DELETE, path), (log.CREATE, path), (log.SET_DATA, parent)]
        done = dict(tree)
        operations = [(kind, self._apply(done, kind, each, 0)) for kind, each in kinds]
        if not all(body for _kind, body in operations):
            return log.MULTI, log.multi([(log.ERROR, log.error(0))] * len(kinds))
        tree.clear()
        tree.update(done)
        return log.MULTI, log.multi([(log.CHECK, log.set_acl(path, 0)), *operations])

    def _close(self, tree: Tree, session: int) -> bytes:
        paths = [path for path, each in tree.items() if each.ephemeral_owner == session]
        for path in paths:
            del tree[path]
        return log.close_session(paths) if self.lists_paths else b""


def znode(zxid: int, data: bytes = b"") -> SeenZnode:
    time = TIME + 1000 * zxid
    return SeenZnode(data, zxid, zxid, time, time, 0, 0, 0)


def fuzzy(history: History, first: int, last: int, chance: random.Random) -> Iterator[tuple[str, SeenZnode]]:
    """The records of a snapshot that begins after ``first`` transactions and ends after ``last``.

    As a server does it: one znode after the other, with its children of that moment; a child that is gone
    when its turn comes is left out.
    """
    moment = first

    def below(path: str) -> Iterator[tuple[str, SeenZnode]]:
        nonlocal moment
        moment = min(last, moment + chance.choice([0, 0, 1, 2]))
        tree = history.trees[moment]
        if path in tree:
            yield path, tree[path]
            children = [each for each in tree if each.rpartition("/")[0] == path and each != path]
            for child in chance.sample(children, len(children)):
                yield from below(child)

    yield from below("")


def write_files(data_dir: Path, history: History, first: int, last: int, chance: random.Random) -> None:
    compression = chance.choice(["", "gz", "snappy"])
    with snapshot_file(data_dir, first, compression) as snapshot:
        snapshot.begin()
        for path, each in fuzzy(history, first, last, chance):
            snapshot.record(path, each)
        snapshot.end(chance.choice([None, Trailers(digest=last), Trailers(last, last)]))
    begin = chance.randint(0, first)
    writer = LogWriter(begin + 1, digest=chance.random() < 0.5)
    for number, (session, kind, body) in enumerate(history.records[begin:], begin):
        if number > begin and chance.random() < 0.1:
            writer.write(data_dir, chance.choice([0, 100]))
            writer = LogWriter(number + 1, digest=writer.digest)
        writer.add(kind, body, session=session)
    if len(history.records) > begin:
        # A server's last file has zeros.
        writer.write(data_dir, 100)


STEPS = st.lists(
    st.tuples(st.sampled_from(KINDS), st.sampled_from(PATHS), st.sampled_from(CLIENTS), st.booleans()),
    min_size=20,
    max_size=60,
)


@settings(max_examples=300)
@given(steps=STEPS, lists_paths=st.booleans(), seed=st.integers(0, 1000))
def test_any_history(steps: list[tuple[int, str, int, bool]], lists_paths: bool, seed: int) -> None:
    history = History(lists_paths)
    for step in steps:
        history.step(*step)
    chance = random.Random(seed)
    last = chance.randint(0, len(history.records))
    with TemporaryDirectory() as folder:
        write_files(Path(folder), history, chance.randint(0, last), last, chance)
        found = tree_of(Path(folder), "/a")
    assert found == {path: each for path, each in history.trees[-1].items() if path}
