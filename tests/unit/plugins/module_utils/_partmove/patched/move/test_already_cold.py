# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is found cold by a look at many shard paths, a run over each of them finds unchanged; never more."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import EnsembleError
from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.layout import ShardLayout
from ansible_collections.olap.partmove.plugins.module_utils._partmove.lease.bars import Bar, path_of_bar
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.move import already_cold
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.move.already_cold import (
    find_cold,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.paths import DEFAULT_ROOT
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import Query, QueryAnswer
from support.memory.arrange import (
    Arrange,
    create,
    create_cold,
    delete,
    forget_id,
    mark_of_other_cluster,
    write,
)
from support.memory.bench import DAY, OTHER, PART, PATH, Bench, Listing
from support.memory.tables import TableOptions, build_table

LAYOUT = ShardLayout(PATH)
STATE = f"block_numbers/{DAY}/State"


def found(bench: Bench, *ids: str) -> set[str]:
    return find_cold(bench.hot_store, bench.cold_store, DEFAULT_ROOT, {PATH: ids or (DAY,)})


@pytest.fixture
def bench() -> Bench:
    """One of two partitions is cold."""
    bench = Bench()
    assert bench.move(DAY).moved
    return bench


def test_a_cold_partition(bench: Bench) -> None:
    assert found(bench) == {PATH}
    assert bench.move(DAY).unchanged == {DAY}


def test_partitions_that_are_not_all_cold(bench: Bench) -> None:
    assert found(bench, OTHER) == set()
    assert found(bench, DAY, OTHER) == set()
    assert bench.move(OTHER).moved
    assert found(bench, DAY, OTHER) == {PATH}


def test_a_partition_whose_name_begins_with_that_of_another_is_left_to_the_run() -> None:
    """The look does not tell them apart in hot, and a run does."""
    bench = Bench(TableOptions(partitions=("1", "12")))
    assert bench.move("1", "12").moved
    assert found(bench, "1") == {PATH}
    assert bench.reheat("12").moved
    assert found(bench, "1") == set()


def of_another_replica(bench: Bench) -> None:
    bench.cold.delete(f"{PATH}/replicas/r2/parts/{PART}")


def copy_of_another_part(bench: Bench) -> None:
    create_cold(f"replicas/r1/parts/{DAY}_7_7_0")(bench)


def nothing_in_cold(bench: Bench) -> None:
    for replica in ("r1", "r2"):
        bench.cold.delete(f"{PATH}/replicas/{replica}/parts/{PART}")


def statement(bench: Bench) -> None:
    bench.hot.create(path_of_bar(DEFAULT_ROOT, Bar.ALTER, PATH), b"a statement", makepath=True)


def no_marker(bench: Bench) -> None:
    bench.cold.set(PATH, b"")


def known_elsewhere(bench: Bench) -> None:
    (name,) = bench.hot.get_children(f"{DEFAULT_ROOT}/cold")
    bench.hot.delete(f"{DEFAULT_ROOT}/cold/{name}")


def unlisted(bench: Bench) -> None:
    (name,) = bench.cold.get_children(f"{DEFAULT_ROOT}/hots")
    bench.cold.delete(f"{DEFAULT_ROOT}/hots/{name}", recursive=True)


def other_tokens(bench: Bench) -> None:
    """As if another ensemble with a copy of the files of hot had used cold."""
    bench.hot.delete(f"{DEFAULT_ROOT}/tokens")


def unreadable_marker(bench: Bench) -> None:
    bench.cold.set(PATH, b"{}")


def unreadable_identity(bench: Bench) -> None:
    bench.hot.set(f"{DEFAULT_ROOT}/identity", b"{}")


def unreadable_identity_in_cold(bench: Bench) -> None:
    bench.cold.set(f"{DEFAULT_ROOT}/identity", b"{}")


DOUBTS: dict[str, Arrange] = {
    "a late part": create(f"replicas/r2/parts/{DAY}_9_9_0"),
    "State is HOT": write(STATE, b"HOT"),
    "State is nearly COLD": write(STATE, b"COLD\n"),
    "no State": delete(STATE),
    "no table": delete("metadata"),
    "unknown metadata": write("metadata", b"?"),
    "no replicas": delete("replicas"),
    "a new replica": create("replicas/r3/parts"),
    "copies of one replica alone": of_another_replica,
    "another part of one replica": copy_of_another_part,
    "a name in cold that is no part": create_cold(f"replicas/r1/parts/{DAY}_x"),
    "nothing in cold": nothing_in_cold,
    "an unfinished statement": statement,
    "no marker": no_marker,
    "another cluster": mark_of_other_cluster,
    "hot without an id": forget_id,
    "hot does not know cold": known_elsewhere,
    "cold does not list hot": unlisted,
    "a token that hot does not know": other_tokens,
    "an unreadable marker": unreadable_marker,
    "an unreadable identity": unreadable_identity,
    "an unreadable identity in cold": unreadable_identity_in_cold,
}


@pytest.mark.parametrize("arrange", DOUBTS.values(), ids=DOUBTS)
def test_a_partition_in_doubt_is_left_to_the_run(bench: Bench, arrange: Arrange) -> None:
    arrange(bench)
    assert found(bench) == set()


def test_a_partition_brought_back_and_moved_during_the_look(bench: Bench) -> None:
    """What was read of hot and of cold is of different times, so State is read again."""
    hot, cold = Listing(bench.hot_ensemble), Listing(bench.cold_ensemble)
    cold.listed = lambda paths: bench.hot.set(LAYOUT.state(DAY), b"COLD") if paths else None
    assert find_cold(hot, cold, DEFAULT_ROOT, {PATH: [DAY]}) == set()


def test_a_member_that_lags_behind_shows_nothing_old(bench: Bench) -> None:
    for store, ensemble in ((bench.hot_store, bench.hot_ensemble), (bench.cold_store, bench.cold_ensemble)):
        store.connect_to(ensemble.members[-1])
    bench.hot.create(f"{PATH}/replicas/r2/parts/{DAY}_9_9_0")
    assert found(bench) == set()
    bench.hot.delete(f"{PATH}/replicas/r2/parts/{DAY}_9_9_0")
    bench.cold.delete(f"{PATH}/replicas/r2/parts/{PART}")
    assert found(bench) == set()


@pytest.mark.parametrize(("limit", "value"), [("MOST_NAMES", 1), ("MOST_NAMES", 3), ("MOST_PARTITIONS", 0)])
def test_large_shard_paths_are_left_to_the_run(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, limit: str, value: int
) -> None:
    monkeypatch.setattr(already_cold, limit, value)
    assert found(bench) == set()


def test_a_read_that_is_denied_is_an_error(bench: Bench) -> None:
    bench.cold_store.denied.add(LAYOUT.replica("r2").parts)
    with pytest.raises(EnsembleError):
        found(bench)


class Counting(Listing):
    """Counts the requests."""

    requests = 0

    def ask(self, queries: Sequence[Query]) -> list[QueryAnswer]:
        self.requests += 1
        return super().ask(queries)


def test_many_shard_paths_share_the_requests(bench: Bench) -> None:
    others = [f"{PATH}_{number}" for number in range(20)]
    for path in others:
        build_table(bench.hot, path, TableOptions(partitions=(DAY,)))
    hot, cold = Counting(bench.hot_ensemble), Counting(bench.cold_ensemble)
    missing = f"{PATH}_missing"
    requested = {path: [DAY] for path in (*others[:10], PATH, *others[10:], missing)}
    assert find_cold(hot, cold, DEFAULT_ROOT, requested) == {PATH}
    assert (hot.requests, cold.requests) == (3, 2)
