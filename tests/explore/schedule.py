# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Schedules: what is run on a table, and what goes wrong at which operation of it, made from a seed."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import NamedTuple

from support.memory.scene import (
    BEHIND,
    MODERN,
    OLD,
    OLD_BEHIND,
    TWO_PARTS,
    TWO_PARTS_BEHIND,
    WANTED,
    Kind,
)

KINDS = {
    "modern": MODERN,
    "old": OLD,
    "two parts": TWO_PARTS,
    "modern, behind": BEHIND,
    "old, behind": OLD_BEHIND,
    "two parts, behind": TWO_PARTS_BEHIND,
}
STARTS = ("hot", "cold", "back", "back for ten minutes")
GOALS = (
    *("move", "move", "move", "reheat", "reheat", "reheat"),
    *("repair", "repair", "repair", "restore", "restore", "guard", "guard", "guard"),
    *("state HOT", "state COLD", "downgrade"),
    *("other cluster", "other cluster", "copied cluster", "copied cluster"),
)
"""What runs are for. The other cluster has a table at the same path, and is given the same cold ensemble."""

ON_A_PARTITION = (
    "insert",
    "insert on r2",
    "begin an insert",
    "begin a merge",
    "begin a drop",
    "merge",
    "mutate",
    "drop",
    "detach",
    "attach",
    "replace",
    "move away",
    "insert with a quorum",
)
ON_THE_TABLE = (
    "catch up",
    "catch up",
    "catch up",
    "end what was begun",
    "restart",
    "stop",
    "start",
    "lose",
    "add",
    "add again",
    "remove",
    "alter",
    "lose the session with cold",
    "enter in the ledger",
    "drop the table",
    "make the table again",
)
_RARE = frozenset({"drop the table", "make the table again", "lose", "remove"})
ON_THE_RUN = (
    "die",
    "lose an answer, applied",
    "lose an answer, not applied",
    "expire",
    "expire",
    "get a new session",
    "end the former sessions",
    "go to another member",
    "go back",
    "copy hot",
    "a member catches up",
    "a member catches up",
    "time passes",
    "another run",
    "another run",
    "another run",
)
SECONDS = (1, 30, 59, 61, 300, 599, 600, 601)

_OPERATIONS = 200
"""About so many has a run; what comes later is done after it."""


class Settings(NamedTuple):
    """How a run is configured, where that is not as for every other one."""

    other_root: bool = False
    other_cold: bool = False
    seconds_ahead: float = 0.0
    min_age: float = 0.0
    more_parts: int = 0
    goes_back: bool = False
    """Whether its members accept a connection whatever the run has seen."""


class Fault(NamedTuple):
    """Something that happens before an operation of a run. What is not used of it is ignored."""

    at: int
    what: str
    partition: str
    replica: str
    number: float
    """Between 0 and 1: how far, which member, how long, as the fault needs."""
    run: Run | None = None


class Run(NamedTuple):
    """One run in a process of its own."""

    goal: str
    partition: str
    settings: Settings
    faults: tuple[Fault, ...]


class Schedule(NamedTuple):
    """What is explored at once; the same seed makes the same schedule."""

    seed: int
    kind: str
    by_ledger: bool
    start: str
    is_keeper: bool
    """Whether the ensembles count children as ClickHouse Keeper does."""
    runs: tuple[Run, ...]

    @property
    def table(self) -> Kind:
        """What the table is like."""
        return KINDS[self.kind]


def make_schedule(seed: int) -> Schedule:
    """Make the schedule of a seed: one to three runs, with one to five faults in all."""
    random = Random(seed)
    by_ledger = random.random() < 0.3
    kind = random.choice(sorted(KINDS))
    runs = random.choice((1, 1, 2, 2, 3))
    faults = random.randint(1, 5)
    split = sorted(random.randint(0, faults) for _each in range(runs - 1))
    counts = [end - begin for begin, end in zip([0, *split], [*split, faults])]
    return Schedule(
        seed,
        kind,
        by_ledger,
        random.choice(STARTS),
        random.random() < 0.5,
        tuple(_run(random, count, by_ledger=by_ledger) for count in counts),
    )


def _run(random: Random, faults: int, *, by_ledger: bool, depth: int = 0) -> Run:
    goal = random.choice(GOALS)
    settings = _settings(random, by_ledger=by_ledger) if depth or random.random() < 0.2 else Settings()
    settings = settings._replace(goes_back=random.random() < 0.3)
    found = [_fault(random, by_ledger=by_ledger, depth=depth) for _each in range(faults)]
    return Run(goal, random.choice(WANTED), settings, tuple(sorted(found, key=lambda each: each.at)))


def _settings(random: Random, *, by_ledger: bool) -> Settings:
    """Without a ledger nothing tells that another cold ensemble is not the one of the servers.

    Where both root and cold are others, no znode tells it of State in hot, but the servers do (ADR 19).
    """
    other_root = random.random() < 0.15
    return Settings(
        other_root=other_root,
        other_cold=by_ledger and not other_root and random.random() < 0.15,
        seconds_ahead=random.choice((0.0, 0.0, 660.0, -660.0)),
        min_age=random.choice((0.0, 0.0, 0.0, 30.0)),
        more_parts=random.choice((0, 0, 1)),
    )


def _fault(random: Random, *, by_ledger: bool, depth: int) -> Fault:
    what = _what(random)
    at = random.randrange(_OPERATIONS)
    run = None
    if what == "another run":
        run = _run(random, random.choice((0, 1)) if depth < 1 else 0, by_ledger=by_ledger, depth=depth + 1)
    return Fault(at, what, random.choice(WANTED), random.choice(("r1", "r2", "r2")), random.random(), run)


def _what(random: Random) -> str:
    kinds: Sequence[Sequence[str]] = (ON_A_PARTITION, ON_THE_TABLE, ON_THE_RUN, ON_THE_RUN)
    while True:
        what = random.choice(random.choice(kinds))
        if what not in _RARE or random.random() < 0.3:
            return what


def told(schedule: Schedule) -> str:
    """The schedule as people read it."""
    ledger = ", by the ledger" if schedule.by_ledger else ""
    lines = [f"seed {schedule.seed}: {schedule.kind}{ledger}, partitions at first: {schedule.start}"]
    for run in schedule.runs:
        lines += _told(run, 1)
    return "\n".join(lines)


def _told(run: Run, depth: int) -> list[str]:
    indent = "  " * depth
    other = {name: value for name, value in run.settings._asdict().items() if value}
    lines = [f"{indent}{run.goal} ({run.partition}) {other or ''}".rstrip()]
    for fault in run.faults:
        what = f"{fault.what} [{fault.partition} {fault.replica} {fault.number:.3f}]"
        lines.append(f"{indent}  before operation {fault.at}: {what}")
        lines += _told(fault.run, depth + 2) if fault.run is not None else []
    return lines
