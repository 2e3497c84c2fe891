# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A binding is refused for each reason alone: a copy of hot, another cluster, a list without this hot."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.binding.binding import (
    Binding,
    marked_cold,
    other_cluster,
    read_binding,
    read_binding_of_any_cold,
    refuse_copied_hot,
    refuse_unlisted_hot,
    settled,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.binding.identity import (
    BoundHot,
    Identity,
    Pair,
    PairZnodes,
    hots_path,
    identity_path,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.binding.marker import (
    ColdMarker,
    HotSide,
    TableId,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.binding.tokens import (
    Token,
    TokenChain,
    encode_chains,
    token_path,
    tokens_path,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import BindingConflict
from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.layout import ShardLayout
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.paths import DEFAULT_ROOT
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import Stat, Znode
from support.memory.arrange import identify
from support.memory.behind import Chrooted
from support.memory.bench import DAY, OTHER, PATH, Bench
from support.memory.client import MemoryClient
from support.memory.copied import Copied, fresh
from support.memory.memory import MemoryEnsemble, MemoryStore
from support.memory.two_clusters import TwoClusters

LAYOUT = ShardLayout(PATH)
A, B, C = ("a" * 32, "b" * 32, "c" * 32)
HOT_ID, COLD_ID = ("d" * 32, "e" * 32)


def strictly(bench: Bench) -> Binding:
    return read_binding(bench.hot_store, bench.cold_store, DEFAULT_ROOT, LAYOUT)


def of_any_cold(bench: Bench) -> Binding:
    return read_binding_of_any_cold(bench.hot_store, bench.cold_store, DEFAULT_ROOT, LAYOUT)


def test_a_copy_of_hot_is_refused() -> None:
    """Marker, list and record in hot are all those of the original."""
    copied = Copied.build()
    assert strictly(copied.copy.bench).is_proven
    assert fresh(copied.original).bench.move(OTHER).moved
    assert strictly(copied.original.bench).is_proven
    found = of_any_cold(copied.copy.bench)
    assert found.is_known
    assert not found.is_proven
    with pytest.raises(BindingConflict):
        refuse_copied_hot(found.pair)
    with pytest.raises(BindingConflict):
        strictly(copied.copy.bench)


def test_the_marker_of_another_cluster_is_refused() -> None:
    """Also where cold lists both hot ensembles."""
    ours = TwoClusters.build(is_listed=True).ours.bench
    assert of_any_cold(ours).pair.is_bound
    with pytest.raises(BindingConflict):
        strictly(ours)


def test_the_marker_of_another_cluster_is_refused_before_hot_has_an_identity() -> None:
    bench = Bench()
    marker = ColdMarker(TableId("a" * 32, 1, 0), HotSide(PATH, DEFAULT_ROOT))
    bench.cold.create(PATH, marker.encode(), makepath=True)
    assert not of_any_cold(bench).pair.bound_hots
    of = f"of another cluster, ensemble {'a' * 32}; this hot ensemble is without an identity"
    with pytest.raises(BindingConflict, match=of):
        strictly(bench)


@pytest.mark.parametrize("marker", [None, ColdMarker(TableId("", 1, 0), None)])
def test_another_cluster_without_an_id(marker: ColdMarker | None) -> None:
    error = other_cluster(LAYOUT, marker, "b" * 32)
    assert f"of another cluster; this hot ensemble is {'b' * 32}" in error.message


def test_a_cold_ensemble_that_lists_only_others_is_refused() -> None:
    """Also for a table that it does not have."""
    clusters = TwoClusters.build()
    clusters.theirs.bench.cold.delete(PATH, recursive=True)
    assert of_any_cold(clusters.ours.bench).marker is None
    with pytest.raises(BindingConflict):
        strictly(clusters.ours.bench)


def test_a_listed_hot_ensemble_that_is_gone_meanwhile_does_not_hide_the_others() -> None:
    bench = Bench()
    found = strictly(bench)
    pair = found.pair._replace(bound_hots=("a" * 32, "b" * 32))
    bench.cold.create(f"{hots_path(DEFAULT_ROOT)}/{'b' * 32}", BoundHot("theirs").encode(), makepath=True)
    with pytest.raises(BindingConflict):
        refuse_unlisted_hot(found._replace(pair=pair), bench.cold_store, DEFAULT_ROOT)


def test_a_marker_with_our_id_and_another_root_proves_nothing() -> None:
    bench = Bench()
    bench.move(DAY)
    found = strictly(bench)
    assert found.is_proven
    for side in (HotSide(PATH, "/other"), HotSide(f"{PATH}x", DEFAULT_ROOT)):
        assert not found._replace(own_side=side).is_proven


def test_ensembles_with_an_identity_and_without_a_list() -> None:
    """A run ended before it wrote the list."""
    bench = Bench()
    identify(bench)
    bench.cold.create(identity_path(DEFAULT_ROOT), Identity.new().encode(), makepath=True)
    pair = strictly(bench).pair
    assert pair.bound_hots == ()
    assert not pair.is_bound


def test_a_shard_path_without_block_numbers_has_no_cold_partition() -> None:
    bench = Bench()
    bench.hot.delete(LAYOUT.block_numbers, recursive=True)
    assert marked_cold(bench.hot_store, LAYOUT) == ()


def test_a_table_of_another_tool_is_read() -> None:
    """Its partitions are cold, and hot has no record of a cold ensemble."""
    bench = Bench()
    bench.hot.create(LAYOUT.state(DAY), b"COLD", makepath=True)
    assert marked_cold(bench.hot_store, LAYOUT) == (DAY,)
    assert strictly(bench).known is None


def test_the_root_in_a_marker_counts_from_the_root_of_the_ensemble() -> None:
    """And not from the chroot of the connection."""
    bench = Bench()
    hot = Chrooted(bench.hot_ensemble)
    bench.hot.create(identity_path("/app/other"), Identity("a" * 32).encode(), makepath=True)
    marker = ColdMarker(TableId("a" * 32, 1, 0), HotSide(f"/app{PATH}", "/app/other"))
    bench.cold.create(PATH, marker.encode(), makepath=True)
    with pytest.raises(BindingConflict):
        read_binding_of_any_cold(hot, bench.cold_store, DEFAULT_ROOT, LAYOUT)


def test_a_pair_that_is_no_copy_is_not_read_again() -> None:
    """Without an identity there is no path of a token, either."""

    class NoStore(MemoryStore):
        def read(self, paths: Sequence[str], *, absolute: bool = False) -> list[Znode | None]:
            raise AssertionError(paths)

        def sync(self, path: str) -> None:
            raise AssertionError(path)

    store = NoStore(MemoryEnsemble("neither"))
    assert settled(store, store, DEFAULT_ROOT, PairZnodes(None, None, None, None, ())) == Pair("", "", ())


def behind(name: str, path: str, before: bytes, newest: bytes) -> MemoryStore:
    """Return a connection with a member that does not have the newest data of the znode yet."""
    ensemble = MemoryEnsemble(name, members=2)
    client = MemoryClient(ensemble.open())
    client.create(path, before, makepath=True)
    ensemble.settle()
    client.set(path, newest)
    return ensemble.open(1)


@pytest.mark.parametrize(("newest", "is_copied"), [(Token(2, B), False), (Token(3, C), True)])
def test_a_pair_that_looks_copied_is_read_from_members_that_caught_up(newest: Token, is_copied: bool) -> None:
    """Hot had not got our token yet that cold showed; by now, a copy may have written to cold."""
    chains = [encode_chains({COLD_ID: chain}) for chain in (TokenChain(1, (A,)), TokenChain(2, (B, A)))]
    hot = behind("hot", tokens_path(DEFAULT_ROOT), *chains)
    cold = behind("cold", token_path(DEFAULT_ROOT, HOT_ID), Token(2, B).encode(), newest.encode())
    znodes = PairZnodes(
        _znode(Identity(HOT_ID).encode()),
        hot.read([tokens_path(DEFAULT_ROOT)])[0],
        _znode(Identity(COLD_ID).encode()),
        cold.read([token_path(DEFAULT_ROOT, HOT_ID)])[0],
        (HOT_ID,),
    )
    assert znodes.pair.is_copied
    assert settled(hot, cold, DEFAULT_ROOT, znodes).is_copied is is_copied


def _znode(data: bytes) -> Znode:
    return Znode("/", data, Stat(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))
