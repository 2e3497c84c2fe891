# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What `make test` leaves to `make test WHOLE=1` is what the table says, and nothing else."""

from __future__ import annotations

import re
from itertools import product

import pytest

from support.collected import collected_ids
from support.servers.ladder.newest_only import NEWEST
from support.servers.ladder.table import files_of_the_ladder
from support.whole_only import SHARES, Share, is_left_out

_CASE = re.compile(r"tests/(?P<file>.+?)::(?P<test>\w+)(?:\[(?P<case>.*)\])?")
_VERSION = re.compile(r"\d\d\.\d+(?=-|$)")


def collected(**variables: str) -> set[tuple[str, str, str]]:
    """File, test and case of all tests of the files in the table."""
    found = map(_CASE.fullmatch, collected_ids([f"tests/{file}" for file in SHARES], **variables))
    return {(each["file"], each["test"], each["case"] or "") for each in found if each}


def cases_by_test(found: set[tuple[str, str, str]]) -> dict[tuple[str, str], set[str]]:
    """File and test → its cases, without those of versions that newest_only.py chooses."""
    of_the_ladder = {*files_of_the_ladder()}
    cases: dict[tuple[str, str], set[str]] = {}
    for file, test, case in found:
        version = _VERSION.match(case) if f"tests/{file}" in of_the_ladder else None
        if version is None or version[0] == NEWEST:
            cases.setdefault((file, test), set()).add(case)
    return cases


def test_a_run_leaves_out_cases_of_the_tests_in_the_table() -> None:
    short, whole = cases_by_test(collected()), cases_by_test(collected(WHOLE="1"))
    for (file, test), cases in whole.items():
        ran = short.get((file, test), set())
        share = SHARES[file].get(test)
        if share is None:
            assert ran == cases
        elif share.one_of:
            # The first case always runs, however few a machine has.
            assert ran
            assert len(ran) <= max(1, len(cases) * 0.6)
            assert ran < cases or len(cases) == 1
        else:
            assert ran == {*share.stay}
            assert ran < cases
    assert {(file, test) for file in SHARES for test in SHARES[file]} <= whole.keys()


@pytest.mark.parametrize("one_of", [2, 3])
def test_a_share_has_each_value_of_each_parameter(one_of: int) -> None:
    every = [{"run": run, "act": act} for run, act in product(range(6), range(20))]
    share = [each for each in every if Share("", one_of).has(each, "")]
    assert len(share) == len(every) // one_of
    assert {each["run"] for each in share} == {*range(6)}
    assert {each["act"] for each in share} == {*range(20)}


def test_runs_with_versions_and_whole_runs_have_all_cases(monkeypatch: pytest.MonkeyPatch) -> None:
    file, test = "compat/test_cores.py", "test_playbooks_and_inventories"
    for name in ("RUNGS", "WHOLE"):
        monkeypatch.delenv(name, raising=False)
    assert is_left_out(file, test, {"core": 1}, "2.21")
    assert not is_left_out(file, test, {"core": 0}, "2.18")
    assert not is_left_out(file, "test_another", {"core": 1}, "2.21")
    for name in ("RUNGS", "WHOLE"):
        with monkeypatch.context() as patch:
            patch.setenv(name, "1")
            assert not is_left_out(file, test, {"core": 1}, "2.21")


def test_the_table_has_reasons() -> None:
    assert all(share.reason for tests in SHARES.values() for share in tests.values())
