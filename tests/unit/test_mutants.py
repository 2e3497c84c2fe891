# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A part of `make mutants`: every mutant fits the code and the tests, and some of them are judged."""

from __future__ import annotations

from pathlib import Path

import pytest

from mutants.catalogue import MUTANTS
from mutants.mutant import Mutant, Stale, applied
from mutants.run import check_texts, judge

EVERY = 12
"""Of so many mutants one is judged here."""

_HARMLESS = Mutant(
    "a harmless change",
    "patched/parts/operations.py",
    "removals = [",
    "removals = [][:] + [",
    ("patched/parts/test_operations.py",),
)
_CRASH = _HARMLESS._replace(name="a crash", new="removals = unknown + [")


def test_every_mutant_fits_the_code() -> None:
    check_texts(MUTANTS)
    assert len(MUTANTS) >= 120


def test_every_test_is_there_and_a_sample_is_killed(tmp_path: Path) -> None:
    verdicts = judge(MUTANTS[::EVERY], tmp_path, known=MUTANTS)
    assert not [verdict for verdict in verdicts if verdict.survived]


def test_what_does_no_harm_and_what_is_no_program_survive(tmp_path: Path) -> None:
    harmless, crash = judge((_HARMLESS, _CRASH), tmp_path)
    assert harmless.why == "its tests pass all the same"
    assert crash.why.startswith("it is no program that could do harm")


@pytest.mark.parametrize(
    ("mutant", "reason"),
    [
        (_HARMLESS._replace(old="no such text"), "what it replaces is 0 times in"),
        (
            _HARMLESS._replace(old="part"),
            "times in plugins/module_utils/_partmove/patched/parts/operations.py",
        ),
        (_HARMLESS._replace(new=_HARMLESS.old), "changes nothing"),
    ],
)
def test_a_mutant_that_does_not_fit_the_code(mutant: Mutant, reason: str) -> None:
    with pytest.raises(Stale, match=reason):
        check_texts([mutant])


def test_two_mutants_of_one_name() -> None:
    with pytest.raises(Stale, match="more than one mutant"):
        check_texts([_HARMLESS, _HARMLESS])


@pytest.mark.parametrize("known", [True, False])
def test_a_test_that_is_not_there(tmp_path: Path, known: bool) -> None:
    mutants = [_HARMLESS._replace(tests=("patched/parts/test_operations.py::test_no_such_thing",))]
    with pytest.raises(Stale, match="test_no_such_thing"):
        judge([] if known else mutants, tmp_path, known=mutants if known else ())


def test_a_change_stands_where_the_text_was() -> None:
    source = "before\nremovals = [1]\nafter\n"
    assert applied(_HARMLESS, source) == "before\nremovals = [][:] + [1]\nafter\n"
