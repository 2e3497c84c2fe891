# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a run reads back after it has bound a table, or given it away, is synced with first."""

from __future__ import annotations

from ansible_collections.olap.partmove.plugins.module_utils._partmove.binding.marker import parse_marker
from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.layout import ShardLayout
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.parts.bind import bind
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.parts.leased_shard import (
    LeasedShard,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.parts.pair import bind_pair
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.repair.take_over import give
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.paths import DEFAULT_ROOT
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import Multi, SetData
from support.memory.behind import lose_answer
from support.memory.bench import DAY, PATH, Bench

TO = "f" * 32


def writes_marker(multi: Multi) -> bool:
    """Whether the multi writes the marker of the table."""
    return any(isinstance(op, SetData) and op.path == PATH for op in multi)


def lag_and_lose(bench: Bench) -> None:
    """Let the run read cold from a member that has not heard of the marker, whose answer is lost."""
    bench.cold_store.connect_to(bench.cold_ensemble.members[-1])
    lose_answer(bench.cold_store, bench.cold_ensemble, writes_marker)


def test_a_marker_whose_answer_was_lost_is_written_once() -> None:
    """A run that reads the former marker relies on its version, and takes the lease for lost."""
    bench = Bench()
    bind_pair(bench.hot_store, bench.cold_store, DEFAULT_ROOT, "ours", may_join=False)
    lease = bench.context.leases.acquire(PATH)
    lag_and_lose(bench)
    shard = bench.reader().shard()
    leased = LeasedShard(bench.hot_store, bench.cold_store, bench.reader(), ShardLayout(PATH), lease)
    bind(leased, shard)
    marker = bench.cold_ensemble.read([PATH])[0]
    assert marker is not None
    assert marker.stat.version == 1
    assert bench.reader().binding().is_known


def test_a_consent_whose_answer_was_lost_is_found_out_about() -> None:
    """A member that lags behind shows the marker without it, as if another run had written in between."""
    bench = Bench()
    assert bench.move(DAY).moved
    lag_and_lose(bench)
    assert give(bench.hot_store, bench.cold_store, bench.context.leases, PATH, TO)
    znode = bench.cold_ensemble.read([PATH])[0]
    assert znode is not None
    marker = parse_marker(znode)
    assert marker is not None
    assert marker.given_to == TO
