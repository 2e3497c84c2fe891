# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The model of the rows of a day judges answers."""

from __future__ import annotations

import json
import time
from datetime import date
from pathlib import Path

import pytest

from staging.day.config import Config, Table
from staging.day.model import Model

OLD, NEW = date(2019, 12, 1), date(2026, 1, 1)
CONFIG = Config(
    [
        Table("hits", "SELECT", "INSERT INTO hits VALUES", "('{date}', {id})", "%Y%m%d"),
        Table("by_parity", "SELECT", partition="%Y%m", modulus=2, source="hits"),
    ]
)


@pytest.fixture
def model(tmp_path: Path) -> Model:
    """Three rows of hits that r1 has confirmed, ids 1 to 3, and a row whose insert failed, id 4."""
    model = Model(tmp_path, CONFIG)
    model.confirm("1", "hits", "r1", model.send("1", "hits", [OLD, OLD, NEW]))
    model.send("1", "hits", [NEW])
    return model


def answer_of(model: Model, replica: str, *ids: int, table: str = "hits", in_use_since: float = 0.0) -> str:
    question = model.ask("1", table, replica, in_use_since=in_use_since)
    return model.check(question, ids)


def write(folder: Path, state: str) -> None:
    (folder / state).mkdir(exist_ok=True)
    rows = [{"shard": "1", "table": "hits", "partitions": ["20191201"]}]
    (folder / state / "one.json").write_text(json.dumps(rows))


@pytest.mark.parametrize("ids", [(1, 2, 3), (4, 3, 2, 1)])
def test_confirmed_rows_are_there_and_others_may_be(model: Model, ids: tuple[int, ...]) -> None:
    assert answer_of(model, "r1", *ids) == ""


def test_rows_that_are_missing_twice_or_never_sent_are_wrong(model: Model) -> None:
    assert answer_of(model, "r1", 1, 3) == "missing: 2 (1)"
    assert answer_of(model, "r1", 1, 2, 3, 3) == "twice: 3 (1)"
    assert answer_of(model, "r1", 1, 2, 3, 5) == "never sent: 5 (1)"


def test_another_replica_may_lag_until_it_has_shown_a_row(model: Model) -> None:
    assert answer_of(model, "r2", 1) == ""
    assert answer_of(model, "r2", 2) == "missing: 1 (1)"


def test_a_replica_that_was_in_use_long_enough_must_have_all_rows(
    model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    later = time.time() + 2 * CONFIG.lag
    monkeypatch.setattr(time, "time", lambda: later)
    assert answer_of(model, "r2", 1, in_use_since=later - 1) == ""
    assert answer_of(model, "r2", 1) == "missing: 2, 3 (2)"


def test_rows_of_a_partition_may_go_while_it_is_dropped_and_must_not_come_back(
    model: Model, tmp_path: Path
) -> None:
    write(tmp_path, "dropping")
    assert answer_of(model, "r1", 3) == ""
    assert answer_of(model, "r1", 1, 2, 3) == ""
    before = model.ask("1", "hits", "r1", in_use_since=0.0)
    write(tmp_path, "gone")
    assert model.check(before, [1, 2, 3]) == ""
    assert answer_of(model, "r1", 1, 3) == "dropped, and still there: 1 (1)"


def test_a_view_has_the_rows_of_its_source_in_its_own_partitions(model: Model) -> None:
    assert answer_of(model, "r1", 1, 2, table="by_parity") == "missing: 3 (1)"
    rows = model.rows("1", "by_parity")
    assert rows.partitions == {1: "201912-1", 2: "201912-0", 3: "202601-1", 4: "202601-0"}
    assert rows.newest["201912-0"] == OLD


def test_another_process_reads_the_same_rows(model: Model, tmp_path: Path) -> None:
    assert Model(tmp_path, CONFIG).rows("1", "hits") == model.rows("1", "hits")
