# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Generated mutants: which changes are made of a source, and which tests judge them."""

from __future__ import annotations

import ast

import pytest

from mutants.generated import ROOMS, applied_to, changes, files_of_tests, generated
from mutants.mutant import Stale
from mutants.run import Verdict, check_texts
from mutants.survivors import EFFECTS, Survivor, check_survivors, survivors, wrong_judgements


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("x = a < b", ["x = (a <= b)", "x = (a >= b)"]),
        ("x = a == b", ["x = (a != b)"]),
        ("x = a is None", ["x = (a is not None)"]),
        ("x = a in b", ["x = (a not in b)"]),
        ("x = a and b", ["x = (b)", "x = (a)", "x = (a or b)"]),
        ("x = a or (b and c)", None),
        ("x = not a", ["x = (a)"]),
        ("x = any(a)", ["x = all(a)"]),
        ("x = max(a)", ["x = min(a)"]),
        ("x = True", ["x = False"]),
        ("x = 3", ["x = 4"]),
        ("x: int = 3", ["x: int = 4"]),
        ("do(a)", ["pass"]),
        ("x = [a for a in b if a]", ["x = [a for a in b if (True)]"]),
        ('x = f"{a == b}"', []),
        ('x = "text"', []),
        ("x = 'ä', a is b", ["x = 'ä', (a is not b)"]),
    ],
)
def test_the_changes_of_a_line(line: str, expected: list[str] | None) -> None:
    changed = [applied_to(line, change) for change in changes(line)]

    for each in changed:
        ast.parse(each)
    if expected is not None:
        assert sorted(changed) == sorted(expected)


FUNCTION = """\
def f(a):
    for each in a:
        if each:
            continue
        return 5
    raise ValueError
"""


def test_early_ends_are_left_out() -> None:
    what = [change.what for change in changes(FUNCTION)]

    assert "without `continue`" in what
    assert "without `return 5`" in what
    assert "without `raise ValueError`" in what
    assert "`each` → `(False)`" in what


def test_the_last_return_stays() -> None:
    assert [change.what for change in changes("def f():\n    return 5\n")] == ["`5` → `6`"]


def test_the_files_of_tests_a_file_begin_with_its_own() -> None:
    tests = files_of_tests("patched/move/to_cold.py")

    assert tests[0] == "patched/move/test_to_cold.py"
    assert tests[1].startswith("patched/move/test_to_cold_")
    assert "patched/move/test_to_hot.py" in tests
    assert not any("interleavings" in test for test in tests)


def test_all_generated_mutants_are_programs_of_names_of_their_own() -> None:
    rooms = ROOMS[:2]
    mutants = generated(rooms)

    check_texts(mutants)
    assert len(mutants) >= 200
    assert [mutant.name for mutant in mutants] == [mutant.name for mutant in generated(rooms)]
    for mutant in mutants:
        ast.parse(mutant.new)


def test_every_judged_survivor_is_still_generated() -> None:
    judged = survivors()

    check_survivors(judged, (mutant.name for mutant in generated(ROOMS)))
    assert {each.effect for each in judged.values()} <= set(EFFECTS)
    assert all(each.why for each in judged.values())


def test_a_judgement_ends_with_its_code() -> None:
    name = "lease/lease.py: if held: :: `held` → `(False)`"
    check_survivors([], [name])
    check_survivors([name], [name])
    with pytest.raises(Stale, match="1 judged survivors are stale.*if held:"):
        check_survivors([name], [name.replace("if held", "if is_held")])


def test_a_change_is_named_by_the_text_of_its_line() -> None:
    """A number would change with every line above it."""
    names = [mutant.name for mutant in generated(["lease/held_lease.py"])]

    assert all(" :: " in name for name in names)
    assert len(set(names)) == len(names)


def test_judgements_are_compared_with_what_tests_do() -> None:
    (mutant,) = generated(["lease/held_lease.py"])[:1]
    killed, by_text = Verdict(mutant, "a test", ""), Verdict(mutant, "a test", "by text alone", by_text=True)
    unnoticed = Verdict(mutant, "", "its tests pass all the same")
    text, safe = ({mutant.name: Survivor(effect, "why")} for effect in ("text", "safe"))

    assert not wrong_judgements([killed, by_text, unnoticed], {})
    assert not wrong_judgements([by_text], text)
    assert not wrong_judgements([unnoticed], safe)
    assert "a test kills" in wrong_judgements([killed], safe)[0]
    assert "no test compares" in wrong_judgements([unnoticed], text)[0]
