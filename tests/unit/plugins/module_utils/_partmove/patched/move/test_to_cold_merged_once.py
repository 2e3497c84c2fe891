# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A partition that is merged once between its copies and its switch is copied again, and then moves."""

from __future__ import annotations

from support.memory.bench import DAY, PART, PATH, Bench


def test_the_merged_part_is_copied_and_switched() -> None:
    bench = Bench()

    def merge() -> None:
        bench.servers.assign_merge(DAY)
        bench.servers.catch_up()

    bench.before_switch(merge)
    originals: dict[str, bytes] = {}
    bench.cold_store.before = lambda _multi: originals.update(
        {path: data for path, data in bench.hot_ensemble.data(PATH).items() if f"/parts/{DAY}_" in path}
    )

    report = bench.move()

    assert report.moved.keys() == {DAY}
    cold = {path: data for path, data in bench.cold_ensemble.data(PATH).items() if f"/parts/{DAY}_" in path}
    assert cold
    assert not any(path.endswith(PART) for path in cold)
    assert cold.items() <= originals.items()
    assert not any(f"/parts/{DAY}_" in path for path in bench.hot_ensemble.data(PATH))
