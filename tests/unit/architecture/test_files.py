# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which files there are: every module has its task, every file of the domain its test, and none is long."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path, PurePosixPath

import pytest

from support.source import DOMAIN, PLUGINS, ROOT, UTILS, Breach, domain_files, product_files, told

TESTS = ROOT / "tests" / "unit" / "plugins" / "module_utils" / "_partmove"

MOST_LINES = 300
"""Of a file, with its comments, without the texts that are for users and the docstring of the module."""
DOCUMENTATION = ("DOCUMENTATION", "EXAMPLES", "RETURN")
LONG: dict[str, str] = {}
"""Files that are longer today, and why."""

NOTHING_TO_RUN = {
    "patched/move/direction.py": "a protocol, and what its implementations say",
    "gates/probe.py": "a protocol, and the row that it answers with",
    "journal/port.py": "a protocol, which has no code",
    "tree/ports.py": "protocols, which have no code",
    "tree/znodes.py": "plain values, which compute nothing",
}
"""Files of the domain that need no test, and why."""
UNTESTED: set[str] = set()
"""Files of the domain that have no test of their name today; tests of others run them."""


def code_lines(source: str) -> int:
    """Lines of a file without its documentation for users and the docstring of the module."""
    tree = ast.parse(source)
    texts = {line for node in _documentation(tree) for line in range(node.lineno, (node.end_lineno or 0) + 1)}
    return len(source.splitlines()) - len(texts)


def _documentation(tree: ast.Module) -> Iterator[ast.stmt]:
    if ast.get_docstring(tree) is not None:
        yield tree.body[0]
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
            names = {target.id for target in node.targets if isinstance(target, ast.Name)}
            if names & set(DOCUMENTATION):
                yield node


def too_long(path: Path, source: str) -> Breach | None:
    lines = code_lines(source)
    rule = f"has {lines} lines without its documentation; split it by meaning at {MOST_LINES}"
    return Breach(path, 0, rule) if lines > MOST_LINES else None


def modules_without_task(modules: Iterable[Path], tasks: Collection[str]) -> Iterator[Breach]:
    for path in modules:
        if path.stem not in tasks:
            yield Breach(path, 0, f"has no task; what it does belongs into module_utils/_tasks/{path.name}")


def without_test(files: Iterable[str], tests: Collection[str]) -> Iterator[Breach]:
    """Files of the domain without a test of the mirrored name."""
    for file in files:
        place = PurePosixPath(file)
        expected = (place.parent / f"test_{place.name}").as_posix()
        if expected not in tests and file not in NOTHING_TO_RUN and file not in UNTESTED:
            place_of_test = (TESTS / expected).relative_to(ROOT)
            yield Breach(DOMAIN / file, 0, f"has no test; what it promises is shown in {place_of_test}")


def without_file(tests: Iterable[str], files: Collection[str]) -> Iterator[Breach]:
    """Tests named after no file of the domain; what follows its name says which of its tests they are."""
    for test in tests:
        place = PurePosixPath(test)
        stems = {PurePosixPath(file).stem for file in files if PurePosixPath(file).parent == place.parent}
        about = place.stem.removeprefix("test_")
        if not any(about == stem or about.startswith(f"{stem}_") for stem in stems):
            yield Breach(TESTS / test, 0, "is named after no file of the domain; name it test_<file>.py")


FILES = [path.relative_to(DOMAIN).as_posix() for path in domain_files()]
TEST_FILES = [path.relative_to(TESTS).as_posix() for path in sorted(TESTS.rglob("test_*.py"))]


def test_every_module_has_its_task() -> None:
    tasks = {path.stem for path in (UTILS / "_tasks").glob("*.py")}
    breaches = list(modules_without_task((PLUGINS / "modules").glob("*.py"), tasks))
    assert not breaches, told(breaches)


def test_no_file_is_long() -> None:
    found = (too_long(path, path.read_text(encoding="utf-8")) for path in product_files())
    long = [each for each in found if each is not None]
    breaches = [each for each in long if each.path.relative_to(ROOT).as_posix() not in LONG]
    assert not breaches, told(breaches)
    short = LONG.keys() - {each.path.relative_to(ROOT).as_posix() for each in long}
    assert not short, f"not long any more, or gone; take them out of LONG: {sorted(short)}"


def test_every_file_of_the_domain_has_its_test() -> None:
    breaches = list(without_test(FILES, TEST_FILES))
    assert not breaches, told(breaches)


def test_every_test_of_the_domain_has_its_file() -> None:
    breaches = list(without_file(TEST_FILES, FILES))
    assert not breaches, told(breaches)


def test_no_exception_outlives_its_reason() -> None:
    gone = (NOTHING_TO_RUN.keys() | UNTESTED) - set(FILES)
    assert not gone, f"no file of the domain any more; take them out of the lists: {sorted(gone)}"
    tested = [
        file
        for file in sorted(UNTESTED)
        if (PurePosixPath(file).parent / f"test_{PurePosixPath(file).name}").as_posix() in TEST_FILES
    ]
    assert not tested, f"have tests now; take them out of UNTESTED: {tested}"


def test_a_module_without_task_is_seen() -> None:
    modules = [PLUGINS / "modules" / f"{name}.py" for name in ("part_move", "part_audit")]
    assert told(modules_without_task(modules, {"part_move"})) == (
        "plugins/modules/part_audit.py: has no task;"
        " what it does belongs into module_utils/_tasks/part_audit.py"
    )


def test_a_file_without_test_and_a_test_without_file_are_seen() -> None:
    files = ["text.py", "patched/parts/copies.py", "tree/ports.py"]
    assert told(without_test(files, {"test_text.py", "test_copies.py"})) == (
        "plugins/module_utils/_partmove/patched/parts/copies.py: has no test; what it promises is shown in"
        " tests/unit/plugins/module_utils/_partmove/patched/parts/test_copies.py"
    )
    tests = [
        "test_text.py",
        "patched/parts/test_copies.py",
        "patched/parts/test_copies_again.py",
        "patched/parts/test_text.py",
    ]
    assert told(without_file(tests, files)) == (
        "tests/unit/plugins/module_utils/_partmove/patched/parts/test_text.py: is named after no file of"
        " the domain; name it test_<file>.py"
    )


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("x = 1\n" * 301, 301),
        ("# comment\n" * 301, 301),
        ('"""One.\n\nTwo.\n"""\n' + "x = 1\n" * 300, None),
        ('DOCUMENTATION = """\na: 1\n"""\n\nEXAMPLES = r"""\nb: 2\n"""\n' + "x = 1\n" * 299, None),
        ('class Fragment:\n    DOCUMENTATION = r"""\na: 1\n"""\n' + "x = 1\n" * 299, None),
        ('TEXT = """\na: 1\n"""\n' + "x = 1\n" * 298, 301),
    ],
    ids=["code", "comments", "a docstring", "documentation", "a fragment", "another text"],
)
def test_a_long_file_is_seen(source: str, lines: int | None) -> None:
    breach = too_long(PLUGINS / "x.py", source)
    assert (None if breach is None else breach.rule.split()[1]) == (None if lines is None else str(lines))
