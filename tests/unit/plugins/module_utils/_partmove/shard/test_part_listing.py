# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is listed again, and what is known without: only what nothing but this run can have changed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import combinations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import FormatError
from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.layout import ShardLayout
from ansible_collections.olap.partmove.plugins.module_utils._partmove.shard.listing_cache import ListingCache
from ansible_collections.olap.partmove.plugins.module_utils._partmove.shard.part_listing import PartListing
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
    """The parts of one replica, and a run that looks at them."""

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
        """What another run over the shard path looks with."""
        return PartListing(self.store, PartNames(ShardLayout(PATH), format_version), self.known.hot)

    def look(self, partition_ids: Collection[str] = IDS) -> list[str]:
        """The names of the parts, as a look has them."""
        found = read_alone(self.store, self.lists.steps(["r1"], partition_ids))
        return [name.text for name in found.parts["r1"]]

    def read(self, *, reread: bool = True) -> dict[str, bytes]:
        """Name of each part → its data, as a look has them, or one that comes after it."""
        listed = read_alone(self.store, self.lists.steps(["r1"], IDS))
        found = self.lists.registered(listed, IDS, reread=reread)
        return {part.name.text: part.znode.data for parts in found["r1"].values() for part in parts}

    def write(self, *ops: Op, told: bool = True) -> None:
        """Write as the run does, which says so."""
        self.lists.begin_write()
        self.client.apply(ops)
        self.lists.end_write([ops] if told else [])

    def now(self) -> list[str]:
        """What is really there."""
        return self.client.get_children(FOLDER)


@pytest.fixture
def scene() -> Scene:
    return Scene()


def created(name: str) -> Create:
    return Create(f"{FOLDER}/{name}", b"")


def deleted(name: str) -> Delete:
    return Delete(f"{FOLDER}/{name}", 0)


def test_what_nothing_happened_to_is_not_listed_again(scene: Scene) -> None:
    assert scene.look() == [OLD, OTHER]
    assert scene.look() == [OLD, OTHER]
    assert scene.look(["20190102"]) == [OTHER]
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
def test_names_are_picked_by_their_partition(
    scene: Scene, format_version: int, ids: Sequence[str], names: Mapping[str, list[str]]
) -> None:
    """Also where one id begins with another one, or lies between two that are asked for."""
    scene.client.apply([deleted(OLD), deleted(OTHER)])
    scene.client.apply([created(name) for texts in names.values() for name in texts])
    for wanted in [*map(tuple, combinations(ids, 2)), *((each,) for each in ids), ids, (), ("nowhere",)]:
        scene.lists = scene.next_run(format_version)
        assert scene.look(wanted) == sorted(name for each in wanted for name in names.get(each, ()))


def test_what_the_run_created_before_others_is_picked(scene: Scene) -> None:
    scene.look()
    early = [f"20180101_{number}_{number}_0" for number in range(3)]
    scene.write(*map(created, early))
    assert scene.look(["20180101"]) == early
    assert scene.look(["20190102"]) == [OTHER]
    assert scene.look([*IDS, "20180101"]) == [*early, OLD, OTHER]
    assert scene.listed == [FOLDER]


def test_what_the_run_itself_wrote_is_known(scene: Scene) -> None:
    scene.look()
    scene.write(deleted(OTHER), created(MERGED))
    scene.write(created("20190109_0_0_0"), Create(f"{FOLDER}/{MERGED}/columns", b""))
    assert scene.look() == [OLD, MERGED]
    assert scene.listed == [FOLDER]
    assert scene.look(["20190109"]) == ["20190109_0_0_0"]
    assert scene.look() == [OLD, MERGED]
    scene.write(Delete(f"{FOLDER}/{MERGED}/columns", 0), deleted(MERGED))
    assert scene.look(["20190102"]) == []
    assert scene.look(["20190101"]) == [OLD]
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
    """As many changes as there were deletions, if one of these was not applied."""
    scene.write(deleted(OLD))
    scene.client.apply([created(LATE)])


def lost(scene: Scene) -> None:
    scene.write(deleted(OLD), told=False)


def gone(scene: Scene) -> None:
    scene.client.delete(f"{PATH}/replicas/r1", recursive=True)


@pytest.mark.parametrize("act", [late, merge, make_again, switched_and_late, lost])
def test_what_others_may_have_changed_is_listed_again(scene: Scene, act: Callable[[Scene], None]) -> None:
    scene.look()
    act(scene)
    assert scene.look() == scene.now()
    assert scene.listed == [FOLDER, FOLDER]
    assert scene.look() == scene.now()
    assert scene.listed == [FOLDER, FOLDER]


def test_a_replica_that_is_gone(scene: Scene) -> None:
    scene.look()
    gone(scene)
    assert scene.look() == []
    assert not read_alone(scene.store, scene.lists.steps(["r1"], IDS)).has_parts
    scene.client.create(f"{FOLDER}/{LATE}", b"", makepath=True)
    assert scene.look() == [LATE]


def test_another_server_that_counts_creations_only(scene: Scene) -> None:
    """Then a part that came and one that went pass for one that the run removed, but for their number."""
    scene.look()
    known = scene.store.ensemble.read([FOLDER])[0]
    assert known is not None
    scene.write(deleted(OLD))
    late(scene)
    scene.store.ensemble.history.replace_stat(FOLDER, cversion=known.stat.cversion + 1)
    assert scene.look() == [LATE, OTHER]


def test_a_part_that_comes_while_the_list_is_read_for_the_first_time(scene: Scene) -> None:
    """It is not in the list; the stat that it is kept with must not be one that has it."""
    acts = [lambda: late(scene)]
    scene.store.listed = lambda _paths: acts.pop()() if acts else None
    assert scene.look() == [OLD, OTHER]
    assert scene.look() == scene.now()


def test_a_part_that_comes_while_the_list_is_read_again(scene: Scene) -> None:
    scene.look()
    merge(scene)
    acts = [lambda: late(scene)]
    scene.store.listed = lambda _paths: acts.pop()() if acts else None
    scene.look()
    assert scene.look() == scene.now()


def test_what_other_partitions_have_is_known_too(scene: Scene) -> None:
    assert scene.look(["20190101"]) == [OLD]
    assert scene.look() == [OLD, OTHER]
    assert scene.listed == [FOLDER]


def test_the_next_run_knows_what_this_one_does(scene: Scene) -> None:
    scene.look(["20190101"])
    scene.write(created(LATE), deleted(OTHER))
    scene.lists = scene.next_run()
    assert scene.look() == [OLD, LATE]
    assert scene.listed == [FOLDER]
    merge(scene)
    scene.lists = scene.next_run()
    assert scene.look() == scene.now()


def test_the_next_run_knows_nothing_of_another_table(scene: Scene) -> None:
    scene.known.renew(1)
    scene.look()
    scene.known.renew(1)
    scene.look()
    assert scene.listed == [FOLDER]
    scene.known.renew(2)
    scene.look()
    assert scene.listed == [FOLDER, FOLDER]


def test_a_write_that_is_under_way_while_the_list_is_read(scene: Scene) -> None:
    """Its operations are in the stat, and are told afterwards: another change would pass for them."""
    scene.lists.begin_write()
    scene.client.apply([created(LATE)])
    assert scene.look() == [OLD, LATE, OTHER]
    scene.lists.end_write([(created(LATE),)])
    scene.client.apply([created(MERGED)])
    assert scene.look() == scene.now()


def begin_before(scene: Scene) -> None:
    scene.lists.begin_write()


def begin_after(_scene: Scene) -> None:
    pass


@pytest.mark.parametrize("begin", [begin_before, begin_after])
def test_a_write_that_ends_while_the_stat_is_read(scene: Scene, begin: Callable[[Scene], None]) -> None:
    """The stat has what somebody else did, and does not have what is told right after it was read."""
    scene.look()
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


def test_a_write_that_ends_while_the_list_is_read_again(scene: Scene) -> None:
    """It is in the list, and not in the stat that was read before."""
    scene.look()
    late(scene)
    steps = scene.lists.steps(["r1"], IDS)
    (found,) = scene.store.ask([next(steps)])
    listing = steps.send(found)
    scene.write(created("20190102_5_5_0"))
    with pytest.raises(StopIteration):
        steps.send(scene.store.ask([listing])[0])
    scene.client.apply([created(MERGED)])
    assert scene.look() == scene.now()


def test_a_name_that_is_no_part_is_refused_each_time(scene: Scene) -> None:
    """It is not taken for something that was looked at and found to be good."""
    scene.client.apply([created("tmp_insert")])
    for _each in range(2):
        with pytest.raises(FormatError, match=f"{FOLDER}/tmp_insert"):
            scene.look()


def test_a_write_that_was_not_applied_changes_nothing(scene: Scene) -> None:
    scene.look()
    scene.lists.begin_write()
    scene.lists.end_write([])
    assert scene.look() == [OLD, OTHER]
    assert scene.listed == [FOLDER]


def test_data_of_a_znode_that_is_there_still_is_not_read_again(scene: Scene) -> None:
    """Who looks again has the version that it had, so that a multi which checks that is refused."""
    scene.read()
    scene.write(deleted(OTHER))
    scene.client.apply([SetData(f"{FOLDER}/{OLD}", b"another", 0)])
    assert scene.read(reread=False) == {OLD: b""}
    assert scene.read() == {OLD: b"another"}
    assert scene.read(reread=False) == {OLD: b"another"}


def replaced(scene: Scene) -> None:
    """By a znode of the same name, which has the same version."""
    scene.client.apply([deleted(OLD)])
    scene.client.apply([Create(f"{FOLDER}/{OLD}", b"new")])


def replaced_by_the_run(scene: Scene) -> None:
    scene.write(deleted(OLD))
    scene.write(Create(f"{FOLDER}/{OLD}", b"new"))


def replaced_and_listed(scene: Scene) -> None:
    replaced(scene)
    scene.look()


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
def test_data_of_another_znode_is_read_again(scene: Scene, act: Callable[[Scene], None]) -> None:
    scene.read()
    act(scene)
    assert scene.read(reread=False) == {OLD: b"new", OTHER: b""}


def test_data_that_was_read_while_the_part_was_replaced_is_read_again(scene: Scene) -> None:
    """It was listed before, and read after."""
    scene.look()
    listed = read_alone(scene.store, scene.lists.steps(["r1"], IDS))
    scene.lists.registered(listed, IDS)
    replaced(scene)
    assert scene.read(reread=False)[OLD] == b"new"


COLUMNS = f"{FOLDER}/{OLD}/columns"


def children_replaced(scene: Scene) -> None:
    """By znodes of the same name, which have the same version."""
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
    (part,) = scene.lists.registered(listed, IDS, reread=reread)["r1"]["20190101"]
    return [child.data for child in part.children]


@pytest.mark.parametrize(
    "act", [children_replaced, another_child, part_and_child_replaced, part_and_child_replaced_by_the_run]
)
def test_other_children_are_read_again(scene: Scene, act: Callable[[Scene], None]) -> None:
    scene.client.apply([Create(COLUMNS, b"1")])
    assert children_of(scene, reread=True) == [b"1"]
    act(scene)
    assert children_of(scene, reread=False) == [b"2"]


def test_children_that_are_there_still_are_not_read_again(scene: Scene) -> None:
    """As for parts: who looks again has the versions that they had."""
    scene.client.apply([Create(COLUMNS, b"1")])
    assert children_of(scene, reread=True) == [b"1"]
    scene.client.apply([SetData(COLUMNS, b"2", 0)])
    assert children_of(scene, reread=False) == [b"1"]
    assert children_of(scene, reread=True) == [b"2"]


def test_children_that_come_and_go_while_they_are_read_are_read_again(scene: Scene) -> None:
    """After the part was read, whose stat tells nothing of it then."""
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


def test_what_was_not_read_before_is_read(scene: Scene) -> None:
    listed = read_alone(scene.store, scene.lists.steps(["r1"], ["20190102"]))
    scene.lists.registered(listed, ["20190102"])
    assert scene.read(reread=False) == {OLD: b"", OTHER: b""}


def test_parts_that_are_merged_while_the_others_are_read_are_listed_again(scene: Scene) -> None:
    listed = read_alone(scene.store, scene.lists.steps(["r1"], ["20190102"]))
    scene.lists.registered(listed, ["20190102"])
    listed = read_alone(scene.store, scene.lists.steps(["r1"], IDS))
    merge(scene)
    found = scene.lists.registered(listed, IDS, reread=False)
    assert [part.name.text for parts in found["r1"].values() for part in parts] == [MERGED, OTHER]


def test_data_that_was_read_before_the_list_is_not_kept(scene: Scene) -> None:
    """Parts went while the others were read, again and again: the list is newer than what was read."""
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
