# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The demo without ClickHouse servers, and the recording that it plays from."""

from __future__ import annotations

import re
import sys
from contextlib import nullcontext
from pathlib import Path
from unittest import mock

import pytest

from clickhouse.patched_server.compile import NoCompilerError
from demo import patched, recording
from demo.recording import RECORDING, read, write
from demo.screen import Screen, Surprise
from demo.tables import REPLICAS, TABLES
from support.demo_run import play_here
from support.servers.spark import kept_spark, spark

__all__ = ["kept_spark", "spark"]

PART = re.compile(r"(/.*)/replicas/(.*)/parts/([^/_]+)_[^/]*")


@pytest.mark.usefixtures("kept_spark")
def test_the_recorded_demo_holds_what_it_claims(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = play_here(tmp_path, monkeypatch, capsys)

    assert "WITHOUT CLICKHOUSE SERVERS" in shown
    assert shown.count("Not shown: this is the demo without ClickHouse servers") == 3


def test_a_surprise_ends_the_demo_with_status_1(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def perform(_screen: Screen, _logs: Path, *, recorded: bool) -> None:
        raise Surprise(f"recorded is {recorded}")

    monkeypatch.setattr(patched, "perform", perform)
    monkeypatch.setattr(sys, "argv", ["demo", "--recorded", "--logs", str(tmp_path)])

    assert patched.main() == 1
    assert capsys.readouterr().err == "\nThe demo failed: recorded is True\n"


def test_without_a_compiler_the_stage_is_the_recorded_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_library() -> Path:
        raise NoCompilerError("no g++ here")

    monkeypatch.setattr(patched, "clickhouse_program", lambda: "clickhouse-server")
    monkeypatch.setattr(patched, "patched_library", no_library)
    monkeypatch.setattr(recording, "recorded_stage", lambda *_: nullcontext("recorded"))

    with patched.stage_on(tmp_path, ensembles=mock.sentinel.ensembles, recorded=False) as stage:
        assert stage == "recorded"  # type: ignore[comparison-overlap]


def test_the_recording_has_the_partitions_that_the_demo_speaks_of() -> None:
    found = {match.groups() for znode in read().znodes if (match := PART.fullmatch(znode.path))}

    assert found == {
        (table.shard_path, replica, partition)
        for table in TABLES
        for replica in REPLICAS
        for partition in table.outcome
    }


def test_a_recording_is_written_as_it_was_read(tmp_path: Path) -> None:
    copy = tmp_path / "znodes.json"

    write(read(), copy)

    assert copy.read_bytes() == RECORDING.read_bytes()
