# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The targets of the Makefile: their kinds, the files that they run, and what they install."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[2]
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
KINDS = {
    target: kinds.split() for target, kinds in re.findall(r"^KINDS_(\w+) := (.+)$", MAKEFILE, re.MULTILINE)
}
FILES = {
    "bench": "tests/benchmark/bench_{}.py",
    "compat": "tests/compat/test_{}.py",
    "demo": "tests/demo/{}.py",
}


def dry_run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Return the commands that make would run if nothing were there yet."""
    command = ["make", "--always-make", "--dry-run", "--no-print-directory", *arguments]
    # `make test` hands its own options to every make below it.
    clean = {
        name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL", "WHAT")
    }
    return subprocess.run(command, cwd=ROOT, env=clean, capture_output=True, text=True, check=False)


def last_command(*arguments: str) -> str:
    """Return the last command that make would run."""
    return dry_run(*arguments).stdout.splitlines()[-1]


@pytest.mark.parametrize("target", KINDS)
def test_a_wrong_kind_fails_with_the_known_ones_before_anything_is_installed(target: str) -> None:
    done = dry_run(target, "WHAT=nothing")
    assert done.returncode == 2
    assert "setup_host" not in done.stdout
    assert done.stderr.endswith(
        f"make {target} WHAT=nothing: unknown. WHAT is one of: {' '.join(KINDS[target])}.  Stop.\n"
    )


@pytest.mark.parametrize("target", FILES)
def test_every_kind_runs_a_file_of_its_own_and_the_first_is_the_default(target: str) -> None:
    for kind in KINDS[target]:
        assert (ROOT / FILES[target].format(kind)).is_file()
    default = last_command(target)
    commands = [last_command(target, f"WHAT={kind}") for kind in KINDS[target]]
    assert commands[0] == default
    assert len(set(commands)) == len(commands)


def test_files_that_recipes_name_exist() -> None:
    for name in re.findall(r"\btests/[\w/.*]+\.(?:py|sh)\b", MAKEFILE):
        assert list(ROOT.glob(name)), name


@pytest.mark.parametrize(
    ("target", "installed"),
    [(["sandbox"], "patched"), (["demo"], "patched"), (["demo", "WHAT=twin"], "twin"), (["setup"], "tests")],
)
def test_a_demo_installs_less_than_tests_need(target: list[str], installed: str) -> None:
    assert re.findall(r"setup_host\.sh (\w+)", dry_run(*target).stdout) == [installed]


def test_every_package_for_development_has_an_exact_version() -> None:
    names = {
        Requirement(line).name.lower()
        for file in ("requirements.txt", "requirements-dev.txt")
        for line in (ROOT / file).read_text(encoding="utf-8").splitlines()
        if line[:1].isalpha()
    }
    pins = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    assert names <= {name.lower() for name in re.findall(r"^([\w.-]+)==[\w.]+$", pins, re.MULTILINE)}


@pytest.mark.parametrize("file", ["requirements.txt", "meta/ee-requirements.txt"])
def test_what_users_install_is_limited_to_the_releases_up_to_the_tested_ones(file: str) -> None:
    pins = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    tested = dict(re.findall(r"^([\w.-]+)==([\w.]+)$", pins, re.MULTILINE))
    for line in (ROOT / file).read_text(encoding="utf-8").splitlines():
        if line[:1].isalpha():
            needed = Requirement(line)
            assert {each.operator for each in needed.specifier} == {">=", "<"}, line
            assert tested[needed.name] in needed.specifier, line
