# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs with another root, chroot or cold ensemble are refused with a message that names the difference."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.binding.binding import (
    Binding,
    marked_cold,
    read_binding,
    read_binding_of_any_cold,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.binding.identity import (
    BoundHot,
    Identity,
    hots_path,
    identity_path,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.binding.marker import (
    ColdMarker,
    HotSide,
    TableId,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import BindingConflict
from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.layout import ShardLayout
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.paths import DEFAULT_ROOT
from support.memory.arrange import (
    identify,
    mark_of_other_cluster,
    mark_without_id,
    mark_without_path,
)
from support.memory.bench import DAY, OTHER, PATH, Bench
from support.memory.client import MemoryClient
from support.memory.memory import MemoryEnsemble

LAYOUT = ShardLayout(PATH)


@pytest.fixture
def bench() -> Bench:
    return Bench()


def binding_of(bench: Bench, root: str = DEFAULT_ROOT) -> Binding:
    return read_binding(bench.hot_store, bench.cold_store, root, LAYOUT)


def another_cold(bench: Bench) -> MemoryEnsemble:
    """Return another ensemble with a copy of all znodes of cold."""
    other = MemoryEnsemble("cold", bench.clock)
    client = MemoryClient(other.open())
    client.create("/something")
    for path, data in bench.cold_ensemble.data().items():
        if path != "/":
            client.create(path, data)
    return other


def test_a_table_without_moves_is_unbound(bench: Bench) -> None:
    found = binding_of(bench)
    assert (found.cold, found.marker, found.known) == (None, None, None)
    assert found.own_side == HotSide(PATH, DEFAULT_ROOT)
    assert not found.is_proven
    assert not found.is_known


def test_a_table_with_moves_is_bound_on_both_sides(bench: Bench) -> None:
    bench.move()
    found = binding_of(bench)
    assert found.is_proven
    assert found.is_known
    stat = bench.hot.get(PATH)[1]
    table = TableId(found.pair.hot_id, stat.czxid, stat.ctime)
    assert found.marker == ColdMarker(table, HotSide(PATH, DEFAULT_ROOT))
    assert found.pair.bound_hots == (found.pair.hot_id,)
    assert found.pair.cold_id not in ("", found.pair.hot_id)


def test_another_coordination_root_is_refused_by_name(bench: Bench) -> None:
    bench.move()
    with pytest.raises(BindingConflict, match=f"Runs on {PATH} meet at /partmove of the hot") as refused:
        binding_of(bench, "/other")
    assert "at /other" in refused.value.message
    assert "coordination_root" in refused.value.remedy


def test_another_chroot_of_hot_is_another_root(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.move()
    monkeypatch.setattr(bench.hot_store, "chroot", "/clickhouse", raising=False)
    with pytest.raises(BindingConflict, match=f"for {PATH} of the hot ensemble, not for /clickhouse{PATH}"):
        binding_of(bench)


def test_another_cold_ensemble_is_refused_while_a_partition_is_cold(bench: Bench) -> None:
    """Also a copy of the first cold ensemble with the same znodes."""
    bench.move(DAY)
    bench.cold_store.ensemble = another_cold(bench)
    with pytest.raises(BindingConflict, match="went to the cold ensemble cold.example:2181") as refused:
        binding_of(bench)
    assert f"State of {DAY} is COLD" in refused.value.message
    assert "has it from another transaction" in refused.value.message


def test_a_cold_ensemble_without_the_table_is_refused(bench: Bench) -> None:
    bench.move(DAY)
    bench.cold_store.ensemble = MemoryEnsemble("cold", bench.clock)
    with pytest.raises(BindingConflict, match="the one given does not have it"):
        binding_of(bench)


def test_a_table_without_cold_partitions_may_use_another_cold_ensemble(bench: Bench) -> None:
    bench.move(DAY)
    assert bench.reheat(DAY).moved
    bench.cold_store.ensemble = another_cold(bench)
    assert not binding_of(bench).is_known
    assert bench.move(OTHER).moved.keys() == {OTHER}
    assert binding_of(bench).is_known


def test_a_partition_dropped_while_cold_stays_marked(bench: Bench) -> None:
    assert marked_cold(bench.hot_store, LAYOUT) == ()
    bench.move(OTHER, DAY)
    bench.servers.drop(OTHER)
    assert marked_cold(bench.hot_store, LAYOUT) == (DAY, OTHER)
    bench.hot.set(f"{PATH}/block_numbers/{DAY}/State", b"COLD\n")
    assert marked_cold(bench.hot_store, LAYOUT) == (OTHER,)


@pytest.mark.parametrize(
    ("side", "chroot", "sentence"),
    [
        # The coordination root is the same, as hot was given with another chroot each time.
        (HotSide(f"/x{PATH}", DEFAULT_ROOT), "", f"for /x{PATH} of the hot ensemble, not for {PATH}"),
        (HotSide(f"/x{PATH}", DEFAULT_ROOT), "/x", "meet at /partmove of the hot ensemble, and this one"),
        (HotSide(PATH, "/x/partmove"), "", "meet at /x/partmove of the hot ensemble, and this one would"),
    ],
    ids=["another path", "another root by the chroot", "another root"],
)
def test_path_and_root_are_both_bound(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, side: HotSide, chroot: str, sentence: str
) -> None:
    bench.cold.create(PATH, ColdMarker(TableId("", 1, 0), side).encode(), makepath=True)
    monkeypatch.setattr(bench.hot_store, "chroot", chroot, raising=False)
    with pytest.raises(BindingConflict, match=sentence):
        binding_of(bench)


def test_a_marker_of_version_1_proves_nothing(bench: Bench) -> None:
    bench.cold.create(PATH, ColdMarker(TableId("", 1, 0), None).encode(), makepath=True)
    assert not binding_of(bench).is_proven


@pytest.mark.parametrize("arrange", [mark_of_other_cluster, mark_without_id, mark_without_path])
def test_a_marker_of_this_path_alone_proves_nothing(bench: Bench, arrange: Callable[[Bench], object]) -> None:
    bench.cold.create(PATH, b"", makepath=True)
    identify(bench)
    arrange(bench)
    found = read_binding_of_any_cold(bench.hot_store, bench.cold_store, DEFAULT_ROOT, LAYOUT)
    assert not found.is_proven


@pytest.mark.parametrize(
    ("side", "chroot"),
    [
        (HotSide(f"/x{PATH}", DEFAULT_ROOT), ""),
        (HotSide(f"/x{PATH}", DEFAULT_ROOT), "/x"),
        (HotSide(PATH, "/x/partmove"), ""),
        (HotSide(PATH, DEFAULT_ROOT), "/x"),
        (HotSide(PATH, "/x/partmove"), "/x"),
    ],
)
@pytest.mark.parametrize("is_identified", [False, True])
def test_another_root_or_path_of_this_hot_ensemble_is_a_conflict(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, side: HotSide, chroot: str, is_identified: bool
) -> None:
    """Also for those who would accept the table of another cluster."""
    hot_id = "a" * 32 if is_identified else ""
    for root in {side.root, f"{chroot}{DEFAULT_ROOT}"}:
        bench.hot.create(identity_path(root), Identity("a" * 32).encode(), makepath=True)
    bench.cold.create(PATH, ColdMarker(TableId(hot_id, 1, 0), side).encode(), makepath=True)
    monkeypatch.setattr(bench.hot_store, "chroot", chroot, raising=False)
    with pytest.raises(BindingConflict):
        read_binding_of_any_cold(bench.hot_store, bench.cold_store, DEFAULT_ROOT, LAYOUT)


def test_a_table_that_both_sides_know_needs_no_place_in_the_list(bench: Bench) -> None:
    """It was bound before ensembles had identities, and another hot ensemble was listed first."""
    bench.move(DAY)
    hots = hots_path(DEFAULT_ROOT)
    bench.cold.delete(f"{hots}/{identify(bench)}", recursive=True)
    bench.cold.create(f"{hots}/{'c' * 32}", BoundHot("another").encode())
    mark_without_id(bench)
    assert not binding_of(bench).pair.is_bound
    assert bench.move(OTHER).moved
    assert binding_of(bench).pair.is_bound


@pytest.mark.parametrize("there", ["b" * 32, None])
def test_the_id_at_another_root_is_compared(bench: Bench, there: str | None) -> None:
    """With another id at the root that the marker names, the table is another cluster's."""
    if there is not None:
        bench.hot.create(identity_path("/other"), Identity(there).encode(), makepath=True)
    marker = ColdMarker(TableId("a" * 32, 1, 0), HotSide(PATH, "/other"))
    bench.cold.create(PATH, marker.encode(), makepath=True)
    found = read_binding_of_any_cold(bench.hot_store, bench.cold_store, DEFAULT_ROOT, LAYOUT)
    assert found.marker == marker
