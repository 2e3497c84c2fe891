# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the benchmark measures, with a few parts."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from benchmark.pair import REPLICAS, Pair, running_pair


@pytest.fixture(scope="module")
def pair() -> Iterator[Pair]:
    with running_pair(cold_members=1) as pair:
        yield pair


@pytest.mark.parametrize("legacy", [False, True])
def test_a_move_is_measured_by_phase(pair: Pair, legacy: bool) -> None:
    measured = pair.measure(pair.build(f"legacy_is_{legacy}", 20, legacy=legacy))

    assert measured.parts == 60
    assert list(measured.phases) == ["read", "gates", "copy", "verify", "switch", "aftermath", "other"]
    assert all(phase.seconds > 0 for phase in measured.phases.values())
    assert sum(phase.seconds for phase in measured.phases.values()) == pytest.approx(measured.seconds)
    assert all(measured.phases[name].client_seconds > 0 for name in ("read", "copy", "verify", "switch"))
    assert 0 < measured.idle_rss_mb < measured.peak_rss_mb


def test_the_other_way_moves_what_it_says(pair: Pair) -> None:
    table = pair.build("baseline", 20)

    measured = pair.measure_baseline(table, 5)

    assert measured.parts == 15
    assert measured.seconds > 0
    for number, partition in enumerate(table.options.partitions):
        parts = {replica: [f"{partition}_0_0_0"] for replica in REPLICAS}
        nothing: dict[str, list[str]] = {replica: [] for replica in REPLICAS}
        assert table.registered(pair.cold_client, partition) == (parts if number < 5 else nothing)
        assert table.registered(pair.hot_client, partition) == (nothing if number < 5 else parts)
