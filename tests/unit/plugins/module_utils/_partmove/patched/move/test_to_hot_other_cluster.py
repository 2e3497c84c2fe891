# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""No run that brings back touches parts in cold below the marker of another cluster or a former table."""

from __future__ import annotations

from contextlib import suppress

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import PartMoveError
from support.memory.arrange import mark_former, mark_of_other_cluster
from support.memory.bench import PATH, Bench


@pytest.mark.parametrize("is_hot", [False, True], ids=["cold here", "hot here, with equal copies"])
def test_parts_of_another_cluster_stay_as_they_are(is_hot: bool) -> None:
    bench = Bench()
    bench.move()
    if is_hot:
        bench.reheat()
        bench.clock.sleep(600)
    mark_of_other_cluster(bench)
    before = {path: data for path, data in bench.cold_ensemble.data().items() if path.startswith(PATH)}
    hot = {path: data for path, data in bench.hot_ensemble.data().items() if path.startswith(PATH)}

    with suppress(PartMoveError):
        report = bench.reheat()
        assert not report.moved
        assert not report.copies_removed

    after = {path: data for path, data in bench.cold_ensemble.data().items() if path.startswith(PATH)}
    assert after == before
    assert {p: data for p, data in bench.hot_ensemble.data().items() if p.startswith(PATH)} == hot


def test_the_marker_of_a_former_table_stays_where_nothing_is_brought_back() -> None:
    """With the marker of this table, the parts would count as its own."""
    bench = Bench()
    bench.move()
    mark_former(bench)
    marker = bench.cold.get(PATH)[0]

    assert not bench.reheat().moved

    assert bench.cold.get(PATH)[0] == marker
