# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What `make test` leaves to the newest real server is what the table says, and nothing else."""

from __future__ import annotations

import re

import pytest

from support.collected import collected_ids
from support.servers.ladder.newest_only import NEWEST, NEWEST_ONLY, USUAL, is_left_out, is_whole
from support.servers.ladder.table import files_of_the_ladder

FOLDER = "tests/integration"
_CASE = re.compile(rf"{FOLDER}/(?P<file>.+?)::(?P<test>\w+)\[(?P<version>\d+\.\d+)-?(?P<case>.*)\]")


def collected(**variables: str) -> set[tuple[str, str, str, str]]:
    """File, test, version and case of all tests of the files in the table."""
    files = [f"{FOLDER}/{file}" for file in NEWEST_ONLY]
    found = map(_CASE.fullmatch, collected_ids(files, **variables))
    return {(each["file"], each["test"], each["version"], each["case"]) for each in found if each}


def test_a_run_leaves_out_what_the_table_says(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RUNGS", "WHOLE"):
        monkeypatch.delenv(name, raising=False)
    short, whole = collected(), collected(WHOLE="1")
    left_out = {each for each in whole if each[2] in USUAL[:-1] and is_in_the_table(*each)}
    # Of the newest version, support/whole_only.py leaves out cases.
    assert {each for each in whole - short if each[2] != NEWEST} == left_out
    assert short <= whole
    for file, tests in NEWEST_ONLY.items():
        for test, once in tests.items():
            cases = {each[3] for each in whole if each[:3] == (file, test, NEWEST)}
            assert cases, f"{file} has no {test}"
            assert {*once.stay} < cases, f"{file} {test} has cases {sorted(cases)}"
            for version in USUAL:
                ran = {each[3] for each in short if each[:3] == (file, test, version)}
                if version == NEWEST:
                    assert ran
                    assert ran <= cases
                else:
                    assert ran == {*once.stay}


def is_in_the_table(file: str, test: str, _version: str, case: str) -> bool:
    once = NEWEST_ONLY.get(file, {}).get(test)
    return once is not None and case not in once.stay


def test_other_versions_and_runs_that_name_versions_are_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    file, test = "test_twin_hold.py", "test_a_move_respects_a_hold"
    for name in ("RUNGS", "WHOLE"):
        monkeypatch.delenv(name, raising=False)
    assert is_left_out(file, test, USUAL[0], USUAL[0])
    assert not is_left_out(file, test, NEWEST, NEWEST)
    assert not is_left_out(file, test, "22.12", "22.12")
    assert not is_left_out(file, "test_another", USUAL[0], USUAL[0])
    for name in ("RUNGS", "WHOLE"):
        with monkeypatch.context() as patch:
            patch.setenv(name, USUAL[0])
            assert is_whole(USUAL[0])
            assert not is_left_out(file, test, USUAL[0], USUAL[0])


def test_the_table_is_about_the_ladder_and_has_reasons() -> None:
    assert {f"{FOLDER}/{each}" for each in NEWEST_ONLY} <= {*files_of_the_ladder()}
    assert all(once.reason for tests in NEWEST_ONLY.values() for once in tests.values())
