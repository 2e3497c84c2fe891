# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The library of the patched server starts in the server it was made for, and in no other program."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from clickhouse.patched_server import compile as patch
from clickhouse.patched_server.compile import PatchedServerError, patched_library

LIBRARY = "libclickhouse.so.18.16"
FILE_NAME = f"{LIBRARY}.1"

MakeLibrary = Callable[..., Mapping[str, str]]

pytestmark = pytest.mark.clickhouse


@pytest.fixture
def other_library(tmp_path: Path) -> MakeLibrary:
    """Return a function that changes a copy of libclickhouse.so and returns the variable that selects it."""

    def make(replaced: bytes = b"", by: bytes = b"", name: str = FILE_NAME) -> Mapping[str, str]:
        assert len(replaced) == len(by)
        original = next(Path("/usr/lib").glob(f"*/{FILE_NAME}")).read_bytes()
        assert not replaced or original.count(replaced) == 1
        (tmp_path / name).write_bytes(original.replace(replaced, by) if replaced else original)
        (tmp_path / LIBRARY).symlink_to(name)
        return {"LD_LIBRARY_PATH": str(tmp_path)}

    return make


def run(*command: str, variables: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, **(variables or {}), "LD_PRELOAD": str(patched_library())}
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)


def comes_to_its_options(done: subprocess.CompletedProcess[str]) -> bool:
    return "Unknown option specified: wrong" in done.stderr and "Cold ZooKeeper" not in done.stderr


def test_the_server_starts(clickhouse: str) -> None:
    assert comes_to_its_options(run(clickhouse, "--wrong"))


def test_the_server_starts_on_a_copy_of_its_library(clickhouse: str, other_library: MakeLibrary) -> None:
    assert comes_to_its_options(run(clickhouse, "--wrong", variables=other_library()))


def test_a_server_of_another_version_does_not_start(clickhouse: str, other_library: MakeLibrary) -> None:
    done = run(
        clickhouse, "--wrong", variables=other_library(b"\0ClickHouse 18.16.1\0", b"\0ClickHouse 18.16.2\0")
    )

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "Cold ZooKeeper: fatal: this server is ClickHouse 18.16.2, "
        "the patch was made for ClickHouse 18.16.1\n"
    )


def test_a_server_with_another_library_does_not_start(clickhouse: str, other_library: MakeLibrary) -> None:
    done = run(clickhouse, "--wrong", variables=other_library(name=f"{LIBRARY}.2"))

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "Cold ZooKeeper: fatal: this server does not run on libclickhouse.so.18.16.1 "
        "but on libclickhouse.so.18.16.2\n"
    )


@pytest.mark.parametrize(
    "function",
    [
        b"_ZN2DB26StorageReplicatedMergeTree10checkPartsEb",
        b"_ZN2DB26StorageReplicatedMergeTree12getZooKeeperEv",
        b"_ZN2DB26StorageReplicatedMergeTree16executeDropRangeERKNS_27ReplicatedMergeTreeLogEntryE",
        b"_ZNK2DB7Context12getConfigRefEv",
    ],
)
def test_a_server_without_one_of_the_functions_does_not_start(
    clickhouse: str, other_library: MakeLibrary, function: bytes
) -> None:
    variables = other_library(b"\0" + function + b"\0", b"\0" + function[:-1] + b"?\0")

    done = run(clickhouse, "--wrong", variables=variables)

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "Cold ZooKeeper: fatal: this server is not the ClickHouse 18.16.1 that the patch was made for: "
        f"it has no {function.decode()}\n"
    )


def test_a_server_without_clickhouse_does_not_start(tmp_path: Path) -> None:
    program = tmp_path / "clickhouse-server"
    program.write_bytes(Path("/bin/true").read_bytes())
    program.chmod(0o755)

    done = run(str(program))

    assert done.returncode == 1
    assert "but on no libclickhouse.so at all" in done.stderr


@pytest.mark.parametrize("command", [("clickhouse-client", "--version"), ("sh", "-c", "echo 18.16.1")])
def test_other_programs_do_not_notice(clickhouse: str, command: tuple[str, ...]) -> None:
    done = run(*command)

    assert (done.returncode, done.stderr) == (0, "")
    assert "18.16.1" in done.stdout


def test_the_library_shows_no_function_to_other_programs() -> None:
    listed = subprocess.run(
        ["nm", "--dynamic", "--defined-only", str(patched_library())],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )

    assert [line for line in listed.stdout.splitlines() if " T " in line] == []


def test_it_is_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    before = patched_library()
    monkeypatch.setenv("PATH", "/nonexistent")

    assert patched_library() == before


def test_a_machine_without_a_compiler(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.setattr(patch, "BUILD_DIR", tmp_path)

    with pytest.raises(PatchedServerError, match=r"no g\+\+ here: run `make setup`"):
        patched_library()
