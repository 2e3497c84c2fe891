# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The watch that tests of moves rely on finds what must never be."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from kazoo.client import KazooClient

from support.memory.synthetic import SyntheticTable
from support.servers.watch import Watch
from support.servers.zookeeper import Ensemble

PART = "20191201_0_0_0"

Tables = tuple[SyntheticTable, SyntheticTable]


@pytest.fixture
def tables(hot: Ensemble, cold: Ensemble, connect: Callable[[str], KazooClient], base: str) -> Tables:
    """One table with one part in hot, and the same table in cold, where it has no part yet."""
    tables = tuple(SyntheticTable(connect(each.connect_string), base) for each in (hot, cold))
    first, second = tables
    first.create().add_part("r1", PART)
    second.client.ensure_path(f"{base}/replicas/r1/parts")
    return first, second


@pytest.fixture
def look(hot: Ensemble, cold: Ensemble, base: str) -> Callable[[], list[str]]:
    """Return a function that looks once at every member, and returns what it found."""

    def run() -> list[str]:
        members = [member.address for member in cold.members]
        with Watch(hot.connect_string, members, base, {"r1": {"20191201": [PART]}}) as watch:
            pass
        assert watch.rounds >= len(members)
        return sorted(set(watch.problems))

    return run


def test_part_in_hot_is_no_problem(tables: Tables, look: Callable[[], list[str]]) -> None:
    assert look() == []
    tables[0].set_state("20191201", b"HOT")
    tables[1].add_part("r1", PART)
    assert look() == []


def test_part_in_cold_is_no_problem_when_state_says_so(
    tables: Tables, look: Callable[[], list[str]], base: str
) -> None:
    tables[1].add_part("r1", PART)
    tables[0].set_state("20191201", b"COLD")
    tables[0].client.delete(f"{base}/replicas/r1/parts/{PART}")
    assert look() == []


@pytest.mark.parametrize("state", [None, b"HOT", b"COLD\n"])
def test_part_in_cold_only_without_the_state_is_found(
    tables: Tables, look: Callable[[], list[str]], base: str, state: bytes | None
) -> None:
    tables[1].add_part("r1", PART)
    if state is not None:
        tables[0].set_state("20191201", state)
    tables[0].client.delete(f"{base}/replicas/r1/parts/{PART}")
    (problem,) = look()
    assert problem.startswith(f"['{PART}'] of r1 is not in hot while State is ")


def test_lost_part_is_found(tables: Tables, look: Callable[[], list[str]], base: str) -> None:
    tables[0].set_state("20191201", b"COLD")
    tables[0].client.delete(f"{base}/replicas/r1/parts/{PART}")
    assert look() == [f"['{PART}'] of r1 is in neither ensemble"]


def test_cold_partition_with_parts_in_hot_is_found(tables: Tables, look: Callable[[], list[str]]) -> None:
    tables[0].set_state("20191201", b"COLD")
    assert look() == ["20191201 of r1 is COLD and has parts in hot"]


def test_name_that_is_no_part_is_found(tables: Tables, look: Callable[[], list[str]]) -> None:
    tables[1].add_part("r1", "journal")
    assert look() == ["r1 has ['journal'] among its parts"]
