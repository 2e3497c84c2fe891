# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The demo without a patch, on servers of a modern ClickHouse."""

from __future__ import annotations

from pathlib import Path

import pytest

from demo import twin
from demo.screen import Screen, Surprise
from support.demo_run import play_twin_here
from support.servers.spark import kept_spark, spark

__all__ = ["kept_spark", "spark"]


@pytest.mark.usefixtures("modern_engine")
@pytest.mark.usefixtures("kept_spark")
def test_the_demo_without_a_patch_holds_what_it_claims(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = play_twin_here(tmp_path, monkeypatch, capsys)

    # By replica, hot and cold: before the first move, and after it.
    assert "202401        3        3         0         0" in shown
    assert "202401        0        0         3         3" in shown
    assert "The table had 36 znodes in the hot ensemble, and has 12 now." in shown
    assert "All of that held" in shown


def test_a_surprise_ends_it_with_status_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def perform(_screen: Screen, _logs: Path) -> None:
        raise Surprise("A merge has changed the rows")

    monkeypatch.setattr(twin, "perform", perform)

    assert twin.main() == 1
    assert capsys.readouterr().err == "\nThe demo failed: A merge has changed the rows\n"
