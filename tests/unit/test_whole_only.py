# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What `make test` leaves to `make test WHOLE=1` is what the table says, and nothing else."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest

from support.servers.ladder.newest_only import NEWEST
from support.servers.ladder.table import files_of_the_ladder
from support.whole_only import SHARES, Share, is_left_out

ROOT = Path(__file__).resolve().parents[2]
_CASE = re.compile(r"tests/(?P<file>.+?)::(?P<test>\w+)(?:\[(?P<case>.*)\])?")


def collected(**variables: str) -> set[tuple[str, str, str]]:
    """File, test and case of all tests of the files in the table."""
    environment = {name: each for name, each in os.environ.items() if name not in ("RUNGS", "WHOLE")}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
        + [f"tests/{file}" for file in SHARES],
        cwd=ROOT,
        env={**environment, **variables},
        capture_output=True,
        text=True,
        check=True,
    )
    found = map(_CASE.fullmatch, done.stdout.splitlines())
    return {(each["file"], each["test"], each["case"] or "") for each in found if each}


def is_of_another_version(file: str, case: str) -> bool:
    """Whether newest_only.py chooses the case."""
    if f"tests/{file}" not in files_of_the_ladder():
        return False
    version = re.match(r"\d\d\.\d+(?=-|$)", case)
    return version is not None and version[0] != NEWEST


def test_a_run_leaves_out_cases_of_the_tests_in_the_table() -> None:
    short, whole = collected(), collected(WHOLE="1")
    assert short < whole
    left_out = {each for each in whole - short if not is_of_another_version(each[0], each[2])}
    assert {each[:2] for each in left_out} == {(file, test) for file in SHARES for test in SHARES[file]}
    for file, tests in SHARES.items():
        for test, share in tests.items():
            cases = {
                case for *at, case in whole if at == [file, test] and not is_of_another_version(file, case)
            }
            ran = {
                case for *at, case in short if at == [file, test] and not is_of_another_version(file, case)
            }
            assert {*share.stay} <= ran
            if share.one_of:
                assert 0 < len(ran) <= len(cases) * 0.6
            else:
                assert ran == {*share.stay}


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
