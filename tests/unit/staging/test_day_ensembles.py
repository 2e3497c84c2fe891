# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the comparison of both ensembles with the disks calls wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from kazoo.client import KazooClient

from staging.day import ensembles
from staging.day.ensembles import Expected, Parts, check

DISK = {"1_0_0_0": ("1", True), "2_0_0_0": ("2", True), "2_1_1_0": ("2", False)}


def wrong(
    hot: set[str], cold: set[str], expected: tuple[str, ...] = (), either: tuple[str, ...] = ()
) -> dict[str, set[str]]:
    """Return the kinds that have something wrong."""
    parts = Parts("1", "hits", "r1", DISK, frozenset(hot), frozenset(cold))
    return {what: set(names) for what, names in parts.wrong(expected, either).items() if names}


def test_parts_in_the_ensemble_where_they_should_be_are_right() -> None:
    assert wrong({"1_0_0_0", "2_0_0_0", "2_1_1_0"}, set()) == {}
    assert wrong({"2_0_0_0"}, {"1_0_0_0"}, expected=("1",)) == {}
    assert wrong({"1_0_0_0", "2_0_0_0"}, {"1_0_0_0"}, either=("1",)) == {}


def test_each_kind_of_fault() -> None:
    assert wrong({"2_0_0_0"}, set()) == {"in neither ensemble": {"1_0_0_0"}}
    assert wrong({"1_0_0_0", "2_0_0_0"}, {"1_0_0_0"}, expected=("1",)) == {"in both ensembles": {"1_0_0_0"}}
    assert wrong({"1_0_0_0", "2_0_0_0", "3_0_0_0"}, set()) == {"not on disk": {"3_0_0_0"}}
    assert wrong({"1_0_0_0"}, {"2_0_0_0", "2_1_1_0"}, expected=("2",)) == {
        "cold, and not active": {"2_1_1_0"}
    }
    assert wrong({"1_0_0_0", "2_0_0_0"}, set(), expected=("1",)) == {"hot in place of cold": {"1"}}
    assert wrong({"2_0_0_0"}, {"1_0_0_0"}) == {"cold in place of hot": {"1"}}


def test_a_table_that_a_server_lacks_is_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "replicas.json").write_text(
        json.dumps([{"shard": "1", "name": name, "address": "localhost:1"} for name in ("r1", "r2")])
    )
    table = {"name": "hits", "read": "", "insert": "", "row": "", "partition": "%Y"}
    (tmp_path / "config.json").write_text(json.dumps({"tables": [table]}))
    (tmp_path / "rows.jsonl").touch()
    found = [Parts("1", "hits", "r1", {}, frozenset(), frozenset())]
    monkeypatch.setattr(ensembles, "read_parts", lambda *_arguments: iter(found))
    clients = KazooClient(), KazooClient()
    assert check(tmp_path, *clients, Expected(None, (), ())) == (
        ["hits on r2: the server has no such replicated table"],
        {"hits on r1": {"hot": 0, "cold": 0}},
    )
