# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The demo with ClickHouse servers."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from support.demo_run import play


@pytest.mark.long(minutes=4)
@pytest.mark.clickhouse
def test_the_demo_holds_what_it_claims(clickhouse: str, tmp_path: Path) -> None:
    shown = play(tmp_path)

    assert "jason.live_events       ready  ready" in shown
    assert "Every row is there. Both know their cold parts again" in shown
    # The restart lets merges go on, so that there may be one part or two.
    assert re.search(r"20191213   HOT    r1 \d, r2 \d     -             -               -\n", shown)
    assert "20191214   COLD   -              -             r1 1, r2 1      -" in shown
    assert "jason.table_test_local on r2   3,500  1,000" in shown
