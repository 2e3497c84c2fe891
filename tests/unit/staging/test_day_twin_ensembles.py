# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the comparison of znodes and disk calls wrong, while parts come and go."""

from __future__ import annotations

from staging.day.config import Replica
from staging.day.twin_ensembles import Registered

DISK = {"1_0_0_0": ("1", True), "1_1_1_0": ("1", True), "2_0_0_0": ("2", False)}


def registered(
    before: set[str], after: set[str], *, path: str = "/t/hits", is_twin: bool = False
) -> Registered:
    replica = Replica("1", "r1", "localhost:1")
    return Registered(
        replica, path, f"{path}/replicas/r1", is_twin, frozenset(before), DISK, frozenset(after)
    )


def test_each_active_part_has_a_znode_before_or_after() -> None:
    found = registered({"1_0_0_0"}, {"1_0_0_0", "1_1_1_0"})
    assert [*found.wrong().values()] == [set(), set()]
    assert registered({"1_0_0_0"}, {"1_0_0_0"}).wrong()["active without a znode"] == {"1_1_1_0"}


def test_a_znode_that_stays_has_a_part_on_disk() -> None:
    every = {"1_0_0_0", "1_1_1_0", "2_0_0_0"}
    assert registered(every | {"3_0_0_0"}, every).wrong()["znodes without a part on disk"] == set()
    assert registered(every | {"3_0_0_0"}, every | {"3_0_0_0"}).wrong()["znodes without a part on disk"] == {
        "3_0_0_0"
    }


def test_only_active_parts_make_a_partition() -> None:
    assert registered(set(), set()).partitions() == {"1"}


def test_a_twin_has_the_name_of_its_table() -> None:
    assert registered(set(), set(), path="/t/hits_cold", is_twin=True).table == "hits"
    assert registered(set(), set(), path="/t/hits_cold").table == "hits_cold"
