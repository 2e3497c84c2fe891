# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What `make test` leaves to `make test WHOLE=1` is what the table says, and nothing else."""

from __future__ import annotations

import re
from functools import cache
from itertools import product

import pytest

from support.collected import collected_ids
from support.servers.ladder.rungs import NEWEST
from support.servers.ladder.table import files_of_the_ladder
from support.share import EVERY, Share, places
from support.shares import SHARES
from support.whole_only import every_other, is_left_out, share_of

_CASE = re.compile(r"tests/(?P<file>.+?)::(?P<test>\w+)(?:\[(?P<case>.*)\])?")
_VERSION = re.compile(r"\d\d\.\d+(?=-|$)")


@cache
def collected(whole: str) -> set[tuple[str, str, str]]:
    """File, test and case of all tests of the files in the table, with a value of WHOLE."""
    found = map(_CASE.fullmatch, collected_ids([f"tests/{file}" for file in SHARES], WHOLE=whole))
    return {(each["file"], each["test"], each["case"] or "") for each in found if each}


def cases_by_test(
    found: set[tuple[str, str, str]], *, any_version: bool = False
) -> dict[tuple[str, str], set[str]]:
    """File and test → its cases; those of other versions than the newest only with any_version."""
    of_the_ladder = {*files_of_the_ladder()}
    cases: dict[tuple[str, str], set[str]] = {}
    for file, test, case in found:
        version = _VERSION.match(case) if f"tests/{file}" in of_the_ladder else None
        if any_version or version is None or version[0] == NEWEST:
            cases.setdefault((file, test), set()).add(case)
    return cases


def test_a_run_leaves_out_cases_of_the_tests_in_the_table() -> None:
    short, whole = (cases_by_test(collected(whole), any_version=True) for whole in ("", "1"))
    newest = [cases_by_test(collected(whole)) for whole in ("", "1")]
    for (file, test), cases in whole.items():
        ran = short.get((file, test), set())
        share = share_of(file, test)
        if share is None or share.one_of == 1:
            assert newest[0][file, test] == newest[1][file, test]
        elif share.one_of:
            # The first case always runs, however few a machine has.
            assert ran
            assert len(ran) <= max(1, len(cases) * 0.6)
            assert ran < cases or len(cases) == 1
        else:
            assert ran == {*share.stay}
            assert ran < cases
    tests = {(file, test) for file in SHARES for test in SHARES[file] if test != EVERY}
    assert tests <= whole.keys()
    assert {*SHARES} == {file for file, _test in whole}


@pytest.mark.parametrize("one_of", [2, 3])
def test_a_share_has_each_value_of_each_parameter(one_of: int) -> None:
    # A third parameter that changes with the second one would otherwise make all places even.
    runs, acts = [object() for _ in range(6)], [object() for _ in range(20)]
    every = [{"run": run, "act": act, "name": act} for run, act in product(runs, acts)]
    share = [
        case for case, place in zip(every, places(every), strict=True) if Share("", one_of).has(place, "")
    ]
    assert len(share) == len(every) // one_of
    assert {id(case["run"]) for case in share} == {*map(id, runs)}
    assert {id(case["act"]) for case in share} == {*map(id, acts)}


def test_a_share_of_a_real_test_has_each_value_of_each_parameter() -> None:
    file, test = next(iter(SHARES)), "test_a_server_that_acts_while_an_answer_is_lost"
    assert share_of(file, test)
    short, whole = (cases_by_test(collected(whole))[file, test] for whole in ("", "1"))
    assert len(short) < len(whole) / 2
    for parameter in range(3):
        assert {each.split("-")[parameter] for each in short} == {
            each.split("-")[parameter] for each in whole
        }


def test_runs_with_versions_and_whole_runs_have_all_cases(monkeypatch: pytest.MonkeyPatch) -> None:
    file, test = "integration/test_twin.py", "test_killed_run_is_taken_up"
    for name in ("RUNGS", "WHOLE"):
        monkeypatch.delenv(name, raising=False)
    assert is_left_out(file, test, 1, "25.8")
    assert not is_left_out(file, test, 0, "25.8")
    assert not is_left_out(file, "test_another", 1, "25.8")
    for name in ("RUNGS", "WHOLE"):
        with monkeypatch.context() as patch:
            patch.setenv(name, "1")
            assert not is_left_out(file, test, 1, "25.8")


def test_operations_of_two_runs_are_all_operations(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RUNGS", "WHOLE"):
        monkeypatch.delenv(name, raising=False)
    assert [*every_other(5, 2), *every_other(5, 7)] == [0, 2, 4, 1, 3]
    monkeypatch.setenv("WHOLE", "1")
    assert [*every_other(5, 7)] == [0, 1, 2, 3, 4]


def test_the_table_has_reasons() -> None:
    assert all(share.reason for tests in SHARES.values() for share in tests.values())
