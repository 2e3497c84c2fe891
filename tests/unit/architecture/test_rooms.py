# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The rooms of the domain stand on floors, and a room imports only what lies on lower floors.

A room is a package of ``_partmove``, or a file beside the packages.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from support.source import (
    DOMAIN,
    MODULE_UTILS,
    UTILS,
    Breach,
    domain_files,
    imports_in,
    imports_of,
    product_files,
    told,
)

WINGS = ("patched", "twin")
"""Packages whose sub-packages are rooms: the two ways of separating cold partitions."""

FLOORS: tuple[tuple[str, ...], ...] = (
    ("errors", "zip_strict", "concurrent"),
    ("text", "tree", "envelope"),
    ("formats", "records", "findings", "rollout"),
    ("binding", "journal", "lease"),
    ("shard",),
    ("census", "gates", "patched/audit"),
    ("patched/ledger", "run", "plan"),
    ("health", "patched/parts", "twin/move"),
    ("twin/ledger", "twin/readers"),
    ("patched/move", "twin/audit", "twin/table", "twin/alter"),
    ("patched/repair", "twin/repair"),
)
"""The rooms from the ground up; those of one floor do not know each other."""

ONLY: Mapping[str, frozenset[str]] = {"formats": frozenset({"errors", "text"})}
"""Rooms that may import less than what lies below them."""

KNOWN_TO_NOBODY = frozenset({"plan", "health", "patched/repair", "census", "twin/repair"})
"""Rooms that the rest of the domain does not need to work."""

MAY_COMMIT = (
    "_partmove/tree",
    "_partmove/lease",
    "_partmove/patched/ledger",
    "_partmove/patched/move",
    "_partmove/patched/parts",
    "_partmove/patched/repair",
    "_partmove/twin/alter",
    "_partmove/twin/ledger",
    "_partmove/twin/move",
    "_partmove/twin/repair",
    "_partmove/twin/table",
    "_zookeeper",
)
"""The folders of module_utils that may write to an ensemble."""


class Arrow(NamedTuple):
    """A room that imports another, and where."""

    room: str
    other: str
    path: Path
    line: int


def room_of(path: Path) -> str:
    """The first name below the domain, of a file or a package; in a wing, the first two."""
    return _room_named(path.relative_to(DOMAIN).with_suffix("").parts)


def _room_named(names: Sequence[str]) -> str:
    return "/".join(names[:2]) if names[0] in WINGS else names[0]


def _wing_of(room: str) -> str:
    """Return the wing that the room is in, or an empty text."""
    wing = room.partition("/")[0]
    return wing if wing in WINGS else ""


def arrows_from(path: Path, source: str | None = None) -> Iterator[Arrow]:
    """The arrows from the room of a file, were the source in it where one is given."""
    prefix = f"{MODULE_UTILS}._partmove."
    room = room_of(path)
    for each in imports_of(path) if source is None else imports_in(source, path):
        other = _room_named(each.name.removeprefix(prefix).split("."))
        if each.name.startswith(prefix) and other != room:
            yield Arrow(room, other, path, each.line)


def all_arrows() -> list[Arrow]:
    return [arrow for path in domain_files() for arrow in arrows_from(path)]


def known_by_room(arrows: Iterable[Arrow]) -> dict[str, set[str]]:
    known: dict[str, set[str]] = {}
    for arrow in arrows:
        known.setdefault(arrow.room, set()).add(arrow.other)
    return known


def shape_of(arrows: Iterable[Arrow]) -> str:
    """How many rooms and arrows there are, and which; for the message of a test that fails."""
    known = known_by_room(arrows)
    rooms = known.keys() | set[str]().union(*known.values())
    head = f"{len(rooms)} rooms, {sum(map(len, known.values()))} arrows:"
    return "\n".join([head, *(f"  {room} -> {', '.join(sorted(known[room]))}" for room in sorted(known))])


def floor_of(room: str) -> int | None:
    """The number of the floor that the room is on, 0 for the ground; None if it is on none."""
    return next((number for number, rooms in enumerate(FLOORS) if room in rooms), None)


def breach_of(arrow: Arrow) -> Breach | None:
    room, other, path, line = arrow
    here, there = floor_of(room), floor_of(other)
    rule = None
    if here is None or there is None:
        rule = f"{other if there is None else room} is on no floor; give it one in FLOORS"
    elif there >= here:
        where = "beside it" if there == here else "above it"
        rule = f"{room} imports {other}, which is {where}; a room imports only what is on lower floors"
    elif _wing_of(room) and _wing_of(other) and _wing_of(room) != _wing_of(other):
        rule = f"{room} imports {other}; the wings do not know each other"
    elif other in KNOWN_TO_NOBODY:
        rule = f"{room} imports {other}; nothing else in the domain may need {other}"
    elif other not in ONLY.get(room, {other}):
        rule = f"{room} imports {other}; it may import only {' and '.join(sorted(ONLY[room]))}"
    return None if rule is None else Breach(path, line, rule)


def circle_in(known: Mapping[str, Collection[str]]) -> list[str]:
    """Rooms of which each knows the next, and the last is the first again; empty where there is no circle."""
    done: set[str] = set()

    def walk(way: list[str]) -> list[str]:
        for other in sorted(known.get(way[-1], ())):
            if other in way:
                return [*way[way.index(other) :], other]
            found = [] if other in done else walk([*way, other])
            if found:
                return found
        done.add(way[-1])
        return []

    return next((found for room in sorted(known) if (found := walk([room]))), [])


def commits_in(path: Path, source: str) -> Iterator[Breach]:
    """Calls of ``.commit(`` where nothing is written to an ensemble."""
    if any(path.is_relative_to(UTILS / folder) for folder in MAY_COMMIT):
        return
    rule = f"calls .commit(), which only {', '.join(MAY_COMMIT)} may: who writes to an ensemble is fenced"
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "commit":
            yield Breach(path, node.lineno, rule)


def test_every_room_is_on_one_floor() -> None:
    rooms = [room for floor in FLOORS for room in floor]
    lost = [path for path in domain_files() if floor_of(room_of(path)) is None]
    assert not lost, told(Breach(path, 0, "its room is on no floor; give it one in FLOORS") for path in lost)
    assert len(rooms) == len(set(rooms))


def test_a_room_imports_only_rooms_below_it() -> None:
    arrows = all_arrows()
    breaches = [breach for arrow in arrows if (breach := breach_of(arrow)) is not None]
    assert not breaches, f"{told(breaches)}\n{shape_of(arrows)}"


def test_no_circle_leads_through_rooms() -> None:
    arrows = all_arrows()
    circle = circle_in(known_by_room(arrows))
    assert not circle, f"rooms import each other in a circle: {' -> '.join(circle)}\n{shape_of(arrows)}"


def test_only_some_rooms_write_to_an_ensemble() -> None:
    breaches = [
        breach for path in product_files() for breach in commits_in(path, path.read_text(encoding="utf-8"))
    ]
    assert not breaches, told(breaches)


@pytest.mark.parametrize(
    ("file", "text", "rule"),
    [
        ("formats/x.py", "from ..tree.paths import parent_of", "formats imports tree; it may import only"),
        ("tree/x.py", "from ..formats import names", "tree imports formats, which is above it"),
        (
            "patched/move/x.py",
            "from ...twin.audit.kind import TwinKind",
            "patched/move imports twin/audit, which is beside it",
        ),
        (
            "patched/ledger/x.py",
            "from ..move.report import ShardReport",
            "patched/ledger imports patched/move, which is above it",
        ),
        (
            "shard/x.py",
            "def late():\n    from ..gates.gate import Gate",
            "shard imports gates, which is above",
        ),
        ("text.py", "from .tree.paths import parent_of", "text imports tree, which is beside it"),
        ("errors.py", "from . import text", "errors imports text, which is above it"),
        (
            "formats/x.py",
            "from ..zip_strict import zip_strict",
            "formats imports zip_strict; it may import only",
        ),
        ("health/x.py", "from ..plan.file import Plan", "health imports plan; nothing else in the domain"),
        ("gates/x.py", "from ..plan.file import Plan", "gates imports plan, which is above it"),
        (
            "twin/audit/x.py",
            "from ...patched.parts.copies import ColdCopies",
            "twin/audit imports patched/parts; the wings do not know each other",
        ),
        ("cellar/x.py", "from ..text import few", "cellar is on no floor"),
        ("plan/x.py", "from ..attic.text import few", "attic is on no floor"),
    ],
)
def test_an_arrow_that_must_not_be_is_seen(file: str, text: str, rule: str) -> None:
    (arrow,) = arrows_from(DOMAIN / file, text)
    breach = breach_of(arrow)
    assert breach is not None
    assert breach.line == len(text.splitlines())
    assert breach.rule.startswith(rule)


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("patched/move/x.py", "from ...gates.gate import Gate"),
        ("health/x.py", "from ..patched.ledger.ledger import Ledger"),
        ("formats/x.py", "from ..text import few"),
        ("text.py", "from .errors import FormatError"),
    ],
)
def test_an_arrow_down_is_let_be(file: str, text: str) -> None:
    (arrow,) = arrows_from(DOMAIN / file, text)
    assert breach_of(arrow) is None


def test_a_room_may_import_itself_and_the_standard_library() -> None:
    text = "from ..move.report import ShardReport\nfrom . import report\nimport text\nimport json\n"
    assert list(arrows_from(DOMAIN / "patched" / "move" / "x.py", text)) == []


@pytest.mark.parametrize(
    ("known", "circle"),
    [
        ({}, []),
        ({"a": {"b", "c"}, "b": {"c"}}, []),
        ({"a": {"b"}, "b": {"a"}}, ["a", "b", "a"]),
        ({"a": {"b"}, "b": {"c", "d"}, "c": {"d"}, "d": {"b"}}, ["b", "c", "d", "b"]),
    ],
)
def test_a_circle_is_seen(known: Mapping[str, Collection[str]], circle: list[str]) -> None:
    assert circle_in(known) == circle


def test_rooms_and_arrows_are_counted() -> None:
    text = "from ..errors import FormatError\nfrom ..errors import PlanError\nfrom ..text import few\n"
    arrows = [*arrows_from(DOMAIN / "plan" / "x.py", text), *arrows_from(DOMAIN / "text.py")]
    assert shape_of(arrows) == "3 rooms, 3 arrows:\n  plan -> errors, text\n  text -> errors"


@pytest.mark.parametrize(
    ("file", "lines"),
    [
        ("_partmove/gates/x.py", [3]),
        ("_partmove/shard/x.py", [3]),
        ("_tasks/x.py", [3]),
        ("_clickhouse/x.py", [3]),
        ("_partmove/patched/move/x.py", []),
        ("_partmove/patched/audit/x.py", [3]),
        ("_zookeeper/x.py", []),
    ],
)
def test_a_write_that_must_not_be_is_seen(file: str, lines: list[int]) -> None:
    source = "def commit(store, multi):\n    commit = store.commit\n    return store.commit([multi])\n"
    breaches = list(commits_in(UTILS / file, source))
    assert [breach.line for breach in breaches] == lines
    assert all("only _partmove/tree, _partmove/lease" in breach.rule for breach in breaches)
