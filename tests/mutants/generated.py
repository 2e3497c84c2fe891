# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Makes mutants of all code of a room, beside the written ones: most are unsafe, and some change nothing.

Each comparison is negated and its bound moved, each `and` becomes `or`, each `not` goes, each early end of a
function or loop goes, `any` becomes `all`, a number grows by one, a truth value is turned, and a call whose
result nobody takes goes. A person judges each survivor: it needs a test, or a line in `mutants.survivors`.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from mutants.mutant import DOMAIN, TESTS, Mutant
from mutants.working_copy import ROOT

ROOMS = (
    "binding",
    "lease",
    "gates",
    "patched/repair",
    "patched/ledger",
    "patched/audit",
    "patched/move",
    "patched/parts",
    "run",
)
"""The rooms of the protocol, below `DOMAIN`."""

_OTHER: dict[type[ast.cmpop], tuple[str, ...]] = {
    ast.Eq: ("!=",),
    ast.NotEq: ("==",),
    ast.Lt: ("<=", ">="),
    ast.LtE: ("<", ">"),
    ast.Gt: (">=", "<="),
    ast.GtE: (">", "<"),
    ast.Is: ("is not",),
    ast.IsNot: ("is",),
    ast.In: ("not in",),
    ast.NotIn: ("in",),
}
_SLOW = ("_interleavings", "_reconnects")
"""Ends of the names of tests with a disturbance at each step."""
_SWAPPED = {"any": "all", "all": "any", "min": "max", "max": "min"}


class _Change(NamedTuple):
    """One change: the place in bytes of UTF-8, the text that comes there, and what it does."""

    line: int
    start: int
    end: int
    text: str
    what: str


def generated(rooms: Sequence[str]) -> tuple[Mutant, ...]:
    """Return the mutants of rooms or files below `DOMAIN`, by file and line."""
    return tuple(mutant for path in _files(rooms) for mutant in _of_file(path))


def _files(rooms: Sequence[str]) -> list[Path]:
    roots = [ROOT / DOMAIN / room for room in rooms]
    found = {path for root in roots for path in ([root] if root.is_file() else root.rglob("*.py"))}
    return sorted(path for path in found if path.stat().st_size)


def _of_file(path: Path) -> Iterator[Mutant]:
    name = str(path.relative_to(ROOT / DOMAIN))
    source = path.read_text(encoding="utf-8")
    tests = files_of_tests(name)
    lines = source.splitlines()
    names: Counter[str] = Counter()
    for change in changes(source):
        # By its text: the number of a line changes with every line above it.
        title = f"{name}: {lines[change.line - 1].strip()} :: {change.what}"
        names[title] += 1
        title += f" ({names[title]})" if names[title] > 1 else ""
        yield Mutant(title, name, source, applied_to(source, change), tests, line=change.line)


def files_of_tests(file: str) -> tuple[str, ...]:
    """Return the test files that may notice a change of a file: its own first, then those of its folder.

    Those with a disturbance at each step are left out: they take minutes.
    """
    folder = ROOT / TESTS / Path(file).parent
    own = f"test_{Path(file).stem}"
    paths = (path for path in folder.glob("test_*.py") if not path.stem.endswith(_SLOW))
    ordered = sorted(paths, key=lambda path: (_rank(path.stem, own), path.name))
    return tuple(str(path.relative_to(ROOT / TESTS)) for path in ordered)


def _rank(name: str, own: str) -> int:
    if name == own:
        return 0
    return 1 if name.startswith(f"{own}_") else 2


def applied_to(source: str, change: _Change) -> str:
    """Return the source with the change."""
    text = source.encode()
    return (text[: change.start] + change.text.encode() + text[change.end :]).decode()


def changes(source: str) -> list[_Change]:
    """Return all changes of a source, by place."""
    maker = _Maker(source)
    maker.visit(ast.parse(source))
    return sorted(maker.changes, key=lambda change: (change.start, change.end, change.text))


class _Maker(ast.NodeVisitor):
    """Collects changes; annotations, decorators, defaults and messages are left as they are."""

    def __init__(self, source: str) -> None:
        self.changes: list[_Change] = []
        self._source = source.encode()
        self._ends: set[int] = set()
        """The last statements of functions, whose result the first test notices."""
        lines = self._source.splitlines(keepends=True)
        self._starts = [0]
        for line in lines:
            self._starts.append(self._starts[-1] + len(line))

    def _place(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        start = self._starts[node.lineno - 1] + node.col_offset
        return start, self._starts[node.end_lineno - 1] + node.end_col_offset

    def _text(self, node: ast.expr | ast.stmt) -> str:
        start, end = self._place(node)
        return self._source[start:end].decode()

    def _replace(self, node: ast.expr | ast.stmt, text: str, what: str = "") -> None:
        title = what or f"`{_short(self._text(node))}` → `{_short(text)}`"
        self.changes.append(_Change(node.lineno, *self._place(node), text, title))

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        """Leave annotations."""
        if node.value is not None:
            self.visit(node.value)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        """Leave decorators and bases."""
        for each in node.body:
            self.visit(each)

    def _visit_function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self._ends.add(id(node.body[-1]))
        for each in node.body:
            self.visit(each)

    visit_FunctionDef = _visit_function  # noqa: N815
    visit_AsyncFunctionDef = _visit_function  # noqa: N815

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Leave messages."""

    def visit_Compare(self, node: ast.Compare) -> None:
        """Negate a comparison, and move its bound."""
        if len(node.ops) == 1:
            left, right = self._text(node.left), self._text(node.comparators[0])
            for other in _OTHER[type(node.ops[0])]:
                self._replace(node, f"({left} {other} {right})")
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        """Exchange `and` and `or`, and leave out each operand; not where a message is chosen."""
        if any(isinstance(each, ast.JoinedStr) or _is_text(each) for each in node.values):
            return
        texts = [self._operand(each) for each in node.values]
        other = " or " if isinstance(node.op, ast.And) else " and "
        self._replace(node, f"({other.join(texts)})")
        same = " and " if isinstance(node.op, ast.And) else " or "
        for number, text in enumerate(texts):
            left = same.join(texts[:number] + texts[number + 1 :])
            self._replace(node, f"({left})", f"without `{_short(text)}` in `{_short(self._text(node))}`")
        self.generic_visit(node)

    def _operand(self, node: ast.expr) -> str:
        text = self._text(node)
        return f"({text})" if isinstance(node, (ast.BoolOp, ast.IfExp, ast.NamedExpr, ast.Lambda)) else text

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        """Leave out a `not`."""
        if isinstance(node.op, ast.Not):
            self._replace(node, f"({self._text(node.operand)})")
        self.generic_visit(node)

    def visit_If(self, node: ast.If) -> None:
        """Let a condition never hold; and always, where it is neither a comparison nor a `not`."""
        self._replace(node.test, "(False)")
        if not isinstance(node.test, (ast.Compare, ast.UnaryOp)):
            self._replace(node.test, "(True)")
        self.generic_visit(node)

    def visit_comprehension(self, node: ast.comprehension) -> None:
        """Leave out a condition of a comprehension."""
        for each in node.ifs:
            self._replace(each, "(True)")
        self.generic_visit(node)

    def _visit_end(self, node: ast.Return | ast.Continue | ast.Break | ast.Raise) -> None:
        if not (isinstance(node, ast.Return) and id(node) in self._ends):
            self._replace(node, "pass", f"without `{_short(self._text(node))}`")
        self.generic_visit(node)

    visit_Return = _visit_end  # noqa: N815
    visit_Continue = _visit_end  # noqa: N815
    visit_Break = _visit_end  # noqa: N815
    visit_Raise = _visit_end  # noqa: N815

    def visit_Expr(self, node: ast.Expr) -> None:
        """Leave out a call whose result nobody takes."""
        if isinstance(node.value, ast.Constant):
            return
        if not isinstance(node.value, (ast.Yield, ast.YieldFrom)):
            self._replace(node, "pass", f"without `{_short(self._text(node))}`")
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        """Exchange `any` and `all`."""
        if isinstance(node.func, ast.Name) and node.func.id in _SWAPPED:
            self._replace(node.func, _SWAPPED[node.func.id], f"`{node.func.id}` → `{_SWAPPED[node.func.id]}`")
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        """Turn a truth value, and add one to a number."""
        if isinstance(node.value, bool):
            self._replace(node, str(not node.value))
        elif isinstance(node.value, int):
            self._replace(node, str(node.value + 1))


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _short(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= 70 else f"{words[:67]}…"
