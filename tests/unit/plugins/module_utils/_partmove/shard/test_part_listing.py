# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Listing again, or using the cache: only if no other client can have changed the folder."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import combinations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import FormatError
from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.layout import ShardLayout
from ansible_collections.olap.partmove.plugins.module_utils._partmove.shard.facts import RegisteredPart
from ansible_collections.olap.partmove.plugins.module_utils._partmove.shard.listing_cache import ListingCache
from ansible_collections.olap.partmove.plugins.module_utils._partmove.shard.part_listing import (
    ListedParts,
    PartListing,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.shard.parts import PartNames
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.reading import read_alone
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import (
    Create,
    Delete,
    Op,
    Query,
    QueryAnswer,
    SetData,
)
from support.memory.bench import Listing
from support.memory.client import MemoryClient
from support.memory.memory import MemoryEnsemble

PATH = "/t"
FOLDER = f"{PATH}/replicas/r1/parts"
OLD, OTHER = "20190101_0_0_0", "20190102_0_0_0"
LATE, MERGED = "20190101_1_1_0", "20190101_0_1_1"
IDS = ("20190101", "20190102")


class Scene:
    """The parts of one replica, and a run that lists them."""

    def __init__(self) -> None:
        ensemble = MemoryEnsemble("hot")
        self.client = MemoryClient(ensemble.open())
        self.store = Listing(ensemble)
        self.known = ListingCache()
        self.lists = self.next_run()
        self.listed: list[str] = []
        self.store.listed = self.listed.extend
        for name in (OLD, OTHER):
            self.client.create(f"{FOLDER}/{name}", b"", makepath=True)

    def next_run(self, format_version: int = 1) -> PartListing:
        """Return the listings of another run over the same shard path."""
        return PartListing(self.store, PartNames(ShardLayout(PATH), format_version), self.known.hot)

    def read_listing(self, partition_ids: Collection[str] = IDS) -> list[str]:
        """List the names of the parts, as a run does."""
        found = read_alone(self.store, self.lists.steps(["r1"], partition_ids))
        return [name.text for name in found.parts["r1"]]

    def read(self, *, reread: bool = True) -> dict[str, bytes]:
        """Read the parts: name → data, by a first read or by a later read without ``reread``."""
        listed = read_alone(self.store, self.lists.steps(["r1"], IDS))
        found = self.registered(listed, reread=reread)
        return {part.name.text: part.znode.data for parts in found["r1"].values() for part in parts}

    def registered(
        self, listed: ListedParts, partition_ids: Collection[str] = IDS, *, reread: bool = True
    ) -> dict[str, dict[str, list[RegisteredPart]]]:
        """Read the listed parts, as a run does."""
        return read_alone(self.store, self.lists.registered_steps(listed, partition_ids, reread=reread))

    def write(self, *ops: Op, told: bool = True) -> None:
        """Write as the run does, with a report to the listings."""
        self.lists.begin_write()
        self.client.apply(ops)
        self.lists.end_write([ops] if told else [])

    def now(self) -> list[str]:
        """Return the names in the ensemble."""
        return self.client.get_children(FOLDER)


@pytest.fixture
def scene() -> Scene:
    return Scene()


def created(name: str) -> Create:
    return Create(f"{FOLDER}/{name}", b"")


def deleted(name: str) -> Delete:
    return Delete(f"{FOLDER}/{name}", 0)


def test_an_unchanged_folder_is_not_listed_again(scene: Scene) -> None:
    assert scene.read_listing() == [OLD, OTHER]
    assert scene.read_listing() == [OLD, OTHER]
    assert scene.read_listing(["20190102"]) == [OTHER]
    assert scene.listed == [FOLDER]


PREFIXES = ("0", "01", "1", "1-2", "10", "2", "2019", "201901", "20190101", "A", "a", "all", "z", "zz")


@pytest.mark.parametrize(
    ("format_version", "ids", "names"),
    [
        (1, PREFIXES, {each: [f"{each}_{number}_{number}_0" for number in (0, 1, 10)] for each in PREFIXES}),
        (
            0,
            ("201901", "201902"),
            {f"2019{m}": [f"2019{m}01_2019{m}{d}_0_0_0" for d in (27, 28)] for m in ("01", "02", "03")},
        ),
    ],
    ids=["names of today", "names of tables with a date column"],
)
def test_names_are_selected_by_their_partition(
    scene: Scene, format_version: int, ids: Sequence[str], names: Mapping[str, list[str]]
) -> None:
    """Also if an id is a prefix of another id, or lies between two requested ids."""
    scene.client.apply([deleted(OLD), deleted(OTHER)])
    scene.client.apply([created(name) for texts in names.values() for name in texts])
    for wanted in [*map(tuple, combinations(ids, 2)), *((each,) for each in ids), ids, (), ("nowhere",)]:
        scene.lists = scene.next_run(format_version)
        assert scene.read_listing(wanted) == sorted(name for each in wanted for name in names.get(each, ()))


def test_a_part_created_by_the_run_before_other_names_is_selected(scene: Scene) -> None:
    scene.read_listing()
    early = [f"20180101_{number}_{number}_0" for number in range(3)]
    scene.write(*map(created, early))
    assert scene.read_listing(["20180101"]) == early
    assert scene.read_listing(["20190102"]) == [OTHER]
    assert scene.read_listing([*IDS, "20180101"]) == [*early, OLD, OTHER]
    assert scene.listed == [FOLDER]


def test_writes_of_the_run_are_cached(scene: Scene) -> None:
    scene.read_listing()
    scene.write(deleted(OTHER), created(MERGED))
    scene.write(created("20190109_0_0_0"), Create(f"{FOLDER}/{MERGED}/columns", b""))
    assert scene.read_listing() == [OLD, MERGED]
    assert scene.listed == [FOLDER]
    assert scene.read_listing(["20190109"]) == ["20190109_0_0_0"]
    assert scene.read_listing() == [OLD, MERGED]
    scene.write(Delete(f"{FOLDER}/{MERGED}/columns", 0), deleted(MERGED))
    assert scene.read_listing(["20190102"]) == []
    assert scene.read_listing(["20190101"]) == [OLD]
    assert scene.listed == [FOLDER]


def late(scene: Scene) -> None:
    scene.client.apply([created(LATE)])


def merge(scene: Scene) -> None:
    """There are as many parts as before."""
    scene.client.apply([created(MERGED)])
    scene.client.apply([deleted(OLD)])


def make_again(scene: Scene) -> None:
    """There are as many parts as before, and as many changes."""
    scene.client.delete(f"{PATH}/replicas/r1", recursive=True)
    scene.client.create(f"{FOLDER}/{MERGED}", b"", makepath=True)
    scene.client.create(f"{FOLDER}/{LATE}", b"")


def switched_and_late(scene: Scene) -> None:
    """As many changes as deletions, if a deletion was not applied."""
    scene.write(deleted(OLD))
    scene.client.apply([created(LATE)])


def lost(scene: Scene) -> None:
    scene.write(deleted(OLD), told=False)


def gone(scene: Scene) -> None:
    scene.client.delete(f"{PATH}/replicas/r1", recursive=True)


@pytest.mark.parametrize("act", [late, merge, make_again, switched_and_late, lost])
def test_a_folder_changed_by_another_client_is_listed_again(
    scene: Scene, act: Callable[[Scene], None]
) -> None:
    scene.read_listing()
    act(scene)
    assert scene.read_listing() == scene.now()
    assert scene.listed == [FOLDER, FOLDER]
    assert scene.read_listing() == scene.now()
    assert scene.listed == [FOLDER, FOLDER]


def test_a_removed_replica(scene: Scene) -> None:
    scene.read_listing()
    gone(scene)
    assert scene.read_listing() == []
    assert not read_alone(scene.store, scene.lists.steps(["r1"], IDS)).has_parts
    scene.client.create(f"{FOLDER}/{LATE}", b"", makepath=True)
    assert scene.read_listing() == [LATE]


def test_another_server_that_counts_creations_only(scene: Scene) -> None:
    """A created and a deleted part then look like a part removed by the run, except for their number."""
    scene.read_listing()
    known = scene.store.ensemble.read([FOLDER])[0]
    assert known is not None
    scene.write(deleted(OLD))
    late(scene)
    scene.store.ensemble.history.replace_stat(FOLDER, cversion=known.stat.cversion + 1)
    assert scene.read_listing() == [LATE, OTHER]


def test_a_part_created_while_the_folder_is_listed_for_the_first_time(scene: Scene) -> None:
    """The part is missing in the listing, so the cached stat must be older than the part."""
    acts = [lambda: late(scene)]
    scene.store.listed = lambda _paths: acts.pop()() if acts else None
    assert scene.read_listing() == [OLD, OTHER]
    assert scene.read_listing() == scene.now()


def test_a_part_created_while_the_folder_is_listed_again(scene: Scene) -> None:
    scene.read_listing()
    merge(scene)
    acts = [lambda: late(scene)]
    scene.store.listed = lambda _paths: acts.pop()() if acts else None
    scene.read_listing()
    assert scene.read_listing() == scene.now()


def test_parts_of_other_partitions_are_cached_too(scene: Scene) -> None:
    assert scene.read_listing(["20190101"]) == [OLD]
    assert scene.read_listing() == [OLD, OTHER]
    assert scene.listed == [FOLDER]


def test_the_next_run_uses_the_listing_of_this_run(scene: Scene) -> None:
    scene.read_listing(["20190101"])
    scene.write(created(LATE), deleted(OTHER))
    scene.lists = scene.next_run()
    assert scene.read_listing() == [OLD, LATE]
    assert scene.listed == [FOLDER]
    merge(scene)
    scene.lists = scene.next_run()
    assert scene.read_listing() == scene.now()


def test_the_next_run_does_not_use_the_listing_of_a_former_table(scene: Scene) -> None:
    scene.known.renew(1)
    scene.read_listing()
    scene.known.renew(1)
    scene.read_listing()
    assert scene.listed == [FOLDER]
    scene.known.renew(2)
    scene.read_listing()
    assert scene.listed == [FOLDER, FOLDER]


def test_a_write_in_progress_while_the_folder_is_listed(scene: Scene) -> None:
    """The stat includes operations reported later: a change of another client could go unnoticed."""
    scene.lists.begin_write()
    scene.client.apply([created(LATE)])
    assert scene.read_listing() == [OLD, LATE, OTHER]
    scene.lists.end_write([(created(LATE),)])
    scene.client.apply([created(MERGED)])
    assert scene.read_listing() == scene.now()


def begin_before(scene: Scene) -> None:
    scene.lists.begin_write()


def begin_after(_scene: Scene) -> None:
    pass


@pytest.mark.parametrize("begin", [begin_before, begin_after])
def test_a_write_that_ends_while_the_stat_is_read(scene: Scene, begin: Callable[[Scene], None]) -> None:
    """The stat has a change of another client, but not the write reported right after the read."""
    scene.read_listing()
    late(scene)
    begin(scene)
    steps = scene.lists.steps(["r1"], IDS)
    (found,) = scene.store.ask([next(steps)])
    if begin is begin_after:
        scene.lists.begin_write()
    scene.client.apply([created("20190102_5_5_0")])
    scene.lists.end_write([(created("20190102_5_5_0"),)])
    again = steps.send(found)
    assert again.children == [FOLDER]


def test_a_write_that_ends_while_the_folder_is_listed_again(scene: Scene) -> None:
    """The write is in the listing, but not in the earlier stat."""
    scene.read_listing()
    late(scene)
    steps = scene.lists.steps(["r1"], IDS)
    (found,) = scene.store.ask([next(steps)])
    listing = steps.send(found)
    scene.write(created("20190102_5_5_0"))
    with pytest.raises(StopIteration):
        steps.send(scene.store.ask([listing])[0])
    scene.client.apply([created(MERGED)])
    assert scene.read_listing() == scene.now()


def test_an_invalid_part_name_is_refused_each_time(scene: Scene) -> None:
    """The name is not cached as valid."""
    scene.client.apply([created("tmp_insert")])
    for _each in range(2):
        with pytest.raises(FormatError, match=f"{FOLDER}/tmp_insert"):
            scene.read_listing()


def test_a_write_that_was_not_applied_changes_nothing(scene: Scene) -> None:
    scene.read_listing()
    scene.lists.begin_write()
    scene.lists.end_write([])
    assert scene.read_listing() == [OLD, OTHER]
    assert scene.listed == [FOLDER]


def test_data_of_an_existing_znode_are_not_read_again(scene: Scene) -> None:
    """The second read has the old version, so a multi that checks the version is refused."""
    scene.read()
    scene.write(deleted(OTHER))
    scene.client.apply([SetData(f"{FOLDER}/{OLD}", b"another", 0)])
    assert scene.read(reread=False) == {OLD: b""}
    assert scene.read() == {OLD: b"another"}
    assert scene.read(reread=False) == {OLD: b"another"}


def replaced(scene: Scene) -> None:
    """Replace the znode by a znode with the same name and version."""
    scene.client.apply([deleted(OLD)])
    scene.client.apply([Create(f"{FOLDER}/{OLD}", b"new")])


def replaced_by_the_run(scene: Scene) -> None:
    scene.write(deleted(OLD))
    scene.write(Create(f"{FOLDER}/{OLD}", b"new"))


def replaced_and_listed(scene: Scene) -> None:
    replaced(scene)
    scene.read_listing()


def of_another_replica(scene: Scene) -> None:
    scene.client.delete(f"{PATH}/replicas/r1", recursive=True)
    for name, data in ((OLD, b"new"), (OTHER, b"")):
        scene.client.create(f"{FOLDER}/{name}", data, makepath=True)


def replaced_during_a_write(scene: Scene) -> None:
    scene.lists.begin_write()
    replaced(scene)


@pytest.mark.parametrize(
    "act", [replaced, replaced_by_the_run, replaced_and_listed, of_another_replica, replaced_during_a_write]
)
def test_data_of_a_replaced_znode_are_read_again(scene: Scene, act: Callable[[Scene], None]) -> None:
    scene.read()
    act(scene)
    assert scene.read(reread=False) == {OLD: b"new", OTHER: b""}


def test_data_read_while_the_part_was_replaced_are_read_again(scene: Scene) -> None:
    """The part was listed before the replacement, and read after it."""
    scene.read_listing()
    listed = read_alone(scene.store, scene.lists.steps(["r1"], IDS))
    scene.registered(listed)
    replaced(scene)
    assert scene.read(reread=False)[OLD] == b"new"


COLUMNS = f"{FOLDER}/{OLD}/columns"


def children_replaced(scene: Scene) -> None:
    """Replace the znodes by znodes with the same names and versions."""
    scene.client.apply([Delete(COLUMNS, 0)])
    scene.client.apply([Create(COLUMNS, b"2")])


def another_child(scene: Scene) -> None:
    scene.client.apply([Delete(COLUMNS, 0), Create(f"{FOLDER}/{OLD}/checksums", b"2")])


def part_and_child_replaced(scene: Scene) -> None:
    scene.client.apply([Delete(COLUMNS, 0), deleted(OLD)])
    scene.client.apply([Create(f"{FOLDER}/{OLD}", b""), Create(COLUMNS, b"2")])


def part_and_child_replaced_by_the_run(scene: Scene) -> None:
    scene.write(Delete(COLUMNS, 0), deleted(OLD))
    scene.write(Create(f"{FOLDER}/{OLD}", b""), Create(COLUMNS, b"2"))


def children_of(scene: Scene, *, reread: bool) -> list[bytes]:
    listed = read_alone(scene.store, scene.lists.steps(["r1"], IDS))
    (part,) = scene.registered(listed, reread=reread)["r1"]["20190101"]
    return [child.data for child in part.children]


@pytest.mark.parametrize(
    "act", [children_replaced, another_child, part_and_child_replaced, part_and_child_replaced_by_the_run]
)
def test_other_children_are_read_again(scene: Scene, act: Callable[[Scene], None]) -> None:
    scene.client.apply([Create(COLUMNS, b"1")])
    assert children_of(scene, reread=True) == [b"1"]
    act(scene)
    assert children_of(scene, reread=False) == [b"2"]


def test_existing_children_are_not_read_again(scene: Scene) -> None:
    """As for parts, the second read has the old versions."""
    scene.client.apply([Create(COLUMNS, b"1")])
    assert children_of(scene, reread=True) == [b"1"]
    scene.client.apply([SetData(COLUMNS, b"2", 0)])
    assert children_of(scene, reread=False) == [b"1"]
    assert children_of(scene, reread=True) == [b"2"]


def test_children_replaced_during_the_read_are_read_again(scene: Scene) -> None:
    """They are replaced after the read of the part, so the part's stat does not show the replacement."""
    scene.client.apply([Create(COLUMNS, b"1")])
    ask = scene.store.ask

    def replace(queries: Sequence[Query]) -> list[QueryAnswer]:
        if any(COLUMNS in each.znodes for each in queries):
            scene.store.ask = ask  # type: ignore[method-assign]
            found = ask(queries)
            children_replaced(scene)
            return found
        return ask(queries)

    scene.store.ask = replace  # type: ignore[method-assign]
    assert children_of(scene, reread=True) == [b"1"]
    assert children_of(scene, reread=False) == [b"2"]


def test_parts_without_a_cached_payload_are_read(scene: Scene) -> None:
    listed = read_alone(scene.store, scene.lists.steps(["r1"], ["20190102"]))
    scene.registered(listed, ["20190102"])
    assert scene.read(reread=False) == {OLD: b"", OTHER: b""}


def test_parts_merged_during_the_read_are_listed_again(scene: Scene) -> None:
    listed = read_alone(scene.store, scene.lists.steps(["r1"], ["20190102"]))
    scene.registered(listed, ["20190102"])
    listed = read_alone(scene.store, scene.lists.steps(["r1"], IDS))
    merge(scene)
    found = scene.registered(listed, reread=False)
    assert [part.name.text for parts in found["r1"].values() for part in parts] == [MERGED, OTHER]


def test_data_read_before_the_listing_are_not_cached(scene: Scene) -> None:
    """Parts disappear again and again during the read, so the listing is newer than the parts read."""
    extra = [f"20190102_{number}_{number}_0" for number in range(1, 6)]
    scene.client.apply([created(name) for name in extra])
    ask = scene.store.ask

    def go_away(queries: Sequence[Query]) -> list[QueryAnswer]:
        of_parts = any(f"{FOLDER}/{OLD}" in each.znodes for each in queries)
        if of_parts and extra:
            scene.client.apply([deleted(extra.pop())])
            found = ask(queries)
            if not extra:
                replaced(scene)
            return found
        return ask(queries)

    scene.store.ask = go_away  # type: ignore[method-assign]
    assert scene.read() == {OLD: b"", OTHER: b""}
    assert scene.read(reread=False) == {OLD: b"new", OTHER: b""}
