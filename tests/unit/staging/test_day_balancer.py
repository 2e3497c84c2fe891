# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Replicas of a day get queries in turn, but not while they are drained or could not be reached."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from staging.day.balancer import Balancer


@pytest.fixture
def balancer(tmp_path: Path) -> Balancer:
    """Two replicas of one shard."""
    rows = [{"shard": "1", "name": name, "address": f"{name}:8123"} for name in ("r1", "r2")]
    (tmp_path / "replicas.json").write_text(json.dumps(rows))
    return Balancer(tmp_path)


def chosen(balancer: Balancer) -> list[str]:
    names = []
    for _query in range(4):
        with balancer.next("1") as found:
            names.append(found[0].name if found else "")
    return names


def test_replicas_in_turn(balancer: Balancer) -> None:
    assert chosen(balancer) in (["r1", "r2"] * 2, ["r2", "r1"] * 2)


def test_a_drained_replica_is_left_once_its_queries_have_ended(balancer: Balancer, tmp_path: Path) -> None:
    with balancer.next("1") as found:
        assert found is not None
        name = found[0].name
        (tmp_path / "drained" / name).touch()
        balancer.refresh()
        assert not (tmp_path / "left" / name).exists()
    balancer.refresh()
    assert (tmp_path / "left" / name).exists()
    assert name not in chosen(balancer)
    (tmp_path / "drained" / name).unlink()
    balancer.refresh()
    assert not (tmp_path / "left" / name).exists()
    assert name in chosen(balancer)


def test_a_host_that_is_no_replica_yet_can_be_drained(balancer: Balancer, tmp_path: Path) -> None:
    (tmp_path / "drained" / "r3").touch()
    balancer.refresh()
    assert (tmp_path / "left" / "r3").exists()


def test_a_replica_that_could_not_be_reached_is_avoided(balancer: Balancer) -> None:
    with balancer.next("1") as found:
        assert found is not None
        balancer.avoid(found[0])
    assert found[0].name not in chosen(balancer)


def test_no_replica_may_be_in_use(balancer: Balancer, tmp_path: Path) -> None:
    for name in ("r1", "r2"):
        (tmp_path / "drained" / name).touch()
    assert chosen(balancer) == [""] * 4
