# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs something else between two operations of a mover, each of which a watch judges."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from typing import Protocol

from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.reading import (
    ask_one_by_one,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import (
    Multi,
    Outcome,
    Query,
    QueryAnswer,
    Unknown,
    Znode,
)
from support.memory.memory import MemoryStore

Action = Callable[[], None]


class Died(BaseException):
    """The process of the mover is gone; nothing of it may catch this."""


class Lost(Enum):
    """What became of a multi whose answer was lost."""

    APPLIED = "applied"
    NOT_APPLIED = "not applied"


class Script:
    """Counts the operations of one run, and says what happens before which of them.

    actions: number of an operation → what is done before it.
    lost: number of a multi → what becomes of it while its answer is lost.
    lose_next: what becomes of the next multi, whichever that is, while its answer is lost.
    """

    def __init__(self, lost: Mapping[int, Lost] | None = None) -> None:
        self.trace: list[str] = []
        self.actions: dict[int, Action] = {}
        self.lost = lost or {}
        self.lose_next: Lost | None = None
        self._dead = False

    def step(self, operation: str) -> int:
        """Note an operation that is about to be done, and return its number. Raises Died."""
        number = len(self.trace)
        self.trace.append(operation)
        action = self.actions.get(number)
        if action is not None:
            action()
        if self._dead:
            raise Died
        return number

    def lost_at(self, number: int) -> Lost | None:
        """What becomes of the multi that is the operation of that number."""
        lost, self.lose_next = self.lost.get(number, self.lose_next), None
        return lost

    def die(self) -> None:
        """Let this operation and every later one fail: the process is gone."""
        self._dead = True

    def last(self, pattern: str) -> int:
        """Number of the last operation that the pattern is found in; -1 for none."""
        return max((number for number, each in enumerate(self.trace) if re.search(pattern, each)), default=-1)

    def last_look(self, pattern: str, *, behind: bool) -> int:
        """Number of the last operation that shows what was so before it to one that the pattern is found in.

        behind: whether that is not the operation itself, but a sync with hot before it, or what follows the
        last write to hot.
        """
        looked = self.last(pattern)
        if not behind:
            return looked
        before = list(enumerate(self.trace[: max(0, looked)]))
        shown = [number for number, each in before if each.startswith("hot sync")]
        shown += [number + 1 for number, each in before if each.startswith("hot commit")]
        return max(shown, default=-1)


class Watching(Protocol):
    """What a watched store tells what its run does."""

    def commit(self, run: Script, store: MemoryStore, multi: Multi, *, answered: bool = True) -> Outcome:
        """Apply a multi and judge it."""

    def check(self) -> None:
        """Look at everything."""

    def look_at_members(self) -> None:
        """Look at everything if a member has caught up."""


class WatchedStore:
    """Implements ZnodeStore: every operation is a step of the script, every multi is watched."""

    chroot = ""
    server_id = 1

    def __init__(self, store: MemoryStore, script: Script, watch: Watching) -> None:
        self._store = store
        self._script = script
        self._watch = watch

    @property
    def name(self) -> str:
        """As of the store below."""
        return self._store.name

    @property
    def addresses(self) -> tuple[str, ...]:
        """As of the store below."""
        return self._store.addresses

    @property
    def session_id(self) -> int:
        """As of the store below."""
        return self._store.session_id

    @property
    def ops_at_once(self) -> int:
        """As of the store below."""
        return self._store.ops_at_once

    def expire(self) -> None:
        """End the session; the next request begins a new one."""
        self._store.expire()
        self._watch.check()

    def replace_session(self) -> None:
        """Begin a new session while the former one lives on."""
        self._store.replace_session()

    def end_former_sessions(self) -> None:
        """End the sessions that were replaced."""
        self._store.end_former_sessions()
        self._watch.check()

    def connect_to(self, member: int) -> None:
        """Move the session to another member."""
        self._store.connect_to(member)
        self._watch.look_at_members()

    def read(self, paths: Sequence[str], *, absolute: bool = False) -> list[Znode | None]:
        """One step."""
        self._step("read", paths)
        return self._store.read(paths)

    def children(self, paths: Sequence[str]) -> list[tuple[str, ...] | None]:
        """One step."""
        self._step("children", paths)
        return self._store.children(paths)

    def ask(self, queries: Sequence[Query]) -> list[QueryAnswer]:
        """A step for the znodes of each query, and one for the children."""
        return ask_one_by_one(self, queries)

    def sync(self, path: str) -> None:
        """One step."""
        self._step("sync", [path])
        self._store.sync(path)
        self._watch.look_at_members()

    def members(self) -> Sequence[WatchedStore]:
        """A session with each member."""
        return [WatchedStore(each, self._script, self._watch) for each in self._store.members()]

    def commit(self, multis: Iterable[Multi]) -> list[Outcome]:
        """One step a multi; after a lost answer nothing more is sent."""
        outcomes: list[Outcome] = []
        is_lost = False
        for multi in multis:
            if not is_lost:
                number = self._step("commit", [op.path for op in multi[-1:]])
                lost = self._script.lost_at(number)
                is_lost = lost is not None
                if lost is not Lost.NOT_APPLIED:
                    outcome = self._watch.commit(self._script, self._store, multi, answered=not is_lost)
            outcomes.append(Unknown("the answer was lost") if is_lost else outcome)
        return outcomes

    def _step(self, kind: str, paths: Sequence[str]) -> int:
        return self._script.step(f"{self.name} {kind} {paths[0] if paths else ''}")
