# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Cached listings of members: used only for members whose listing has equalled the cache before."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.layout import ShardLayout
from ansible_collections.olap.partmove.plugins.module_utils._partmove.shard.listing_cache import ListingCache
from ansible_collections.olap.partmove.plugins.module_utils._partmove.shard.part_listing import PartListing
from ansible_collections.olap.partmove.plugins.module_utils._partmove.shard.parts import PartNames
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.reading import read_alone
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import Create, Delete, Op
from support.memory.bench import Listing
from support.memory.client import MemoryClient
from support.memory.memory import MemoryEnsemble

PATH = "/t"
FOLDER = f"{PATH}/replicas/r1/parts"
OLD, OTHER, NEW, LATE = "20190101_0_0_0", "20190102_0_0_0", "20190103_0_0_0", "20190101_1_1_0"
IDS = ("20190101", "20190102", "20190103")


class Scene:
    """The cached parts of a replica, and the parts of a member, perhaps of another ensemble."""

    def __init__(self) -> None:
        self.ensemble, self.other = MemoryEnsemble("cold"), MemoryEnsemble("cold")
        self.known = ListingCache()
        self.lists = self.next_run()
        self.listed: list[str] = []
        for ensemble in (self.ensemble, self.other):
            for name in (OLD, OTHER):
                MemoryClient(ensemble.open()).create(f"{FOLDER}/{name}", b"", makepath=True)

    def next_run(self) -> PartListing:
        """Return the listings of another run over the same shard path."""
        return PartListing(Listing(self.ensemble), PartNames(ShardLayout(PATH), 1), self.known.cold)

    def read_listing(self, partition_ids: Sequence[str] = IDS) -> None:
        """List the partitions, as a run does before comparing."""
        read_alone(Listing(self.ensemble), self.lists.steps(["r1"], partition_ids))

    def write(self, *ops: Op) -> None:
        """Write as the run does; the member does the same."""
        self.lists.begin_write()
        self.late(*ops)
        self.lists.end_write([ops])

    def late(self, *ops: Op) -> None:
        """Write as another client does."""
        for ensemble in (self.ensemble, self.other):
            MemoryClient(ensemble.open()).apply(ops)

    def of(
        self, member: str, partition_ids: Sequence[str] = IDS, ensemble: MemoryEnsemble | None = None
    ) -> list[str] | None:
        """Return the part names of a member, by `PartListing.member_steps`."""
        store = Listing(ensemble or self.ensemble)
        store.listed = self.listed.extend
        (names,) = read_alone(store, self.lists.member_steps(member, [FOLDER], partition_ids))
        return None if names is None else [name for name in names if name.split("_")[0] in partition_ids]


@pytest.fixture
def scene() -> Scene:
    scene = Scene()
    scene.read_listing()
    return scene


def created(name: str) -> Create:
    return Create(f"{FOLDER}/{name}", b"")


def deleted(name: str) -> Delete:
    return Delete(f"{FOLDER}/{name}", 0)


def test_each_member_lists_its_parts_once(scene: Scene) -> None:
    for _time in range(3):
        assert scene.of("m1") == scene.of("m2") == [OLD, OTHER]
        assert scene.listed == [FOLDER, FOLDER]


def test_writes_of_the_run_are_cached_for_members_too(scene: Scene) -> None:
    scene.write(created(NEW))
    assert scene.of("m1") == [OLD, OTHER, NEW]
    scene.write(created(LATE), deleted(OTHER))
    assert scene.of("m1") == [OLD, LATE, NEW]
    assert scene.of("m1", ["20190101"]) == [OLD, LATE]
    scene.read_listing(["20190102"])
    assert scene.of("m1", ["20190103"]) == [NEW]
    assert scene.listed == [FOLDER]


def test_the_next_run_uses_the_cache_of_this_run(scene: Scene) -> None:
    scene.of("m1")
    scene.lists = scene.next_run()
    scene.read_listing()
    assert scene.of("m1") == [OLD, OTHER]
    assert scene.listed == [FOLDER]


def add(scene: Scene) -> None:
    scene.late(created(LATE))


def replace(scene: Scene) -> None:
    """There are as many parts as before."""
    scene.late(created(LATE))
    scene.late(deleted(OLD))


def make_again(scene: Scene) -> None:
    """There are as many parts as before, and as many changes."""
    for ensemble in (scene.ensemble, scene.other):
        client = MemoryClient(ensemble.open())
        client.delete(f"{PATH}/replicas/r1", recursive=True)
        for name in (LATE, NEW):
            client.create(f"{FOLDER}/{name}", b"", makepath=True)


@pytest.mark.parametrize("act", [add, replace, make_again])
def test_a_folder_changed_by_another_client_is_listed_until_it_is_cached(
    scene: Scene, act: Callable[[Scene], None]
) -> None:
    scene.of("m1")
    act(scene)
    now = MemoryClient(scene.ensemble.open()).get_children(FOLDER)
    for _time in range(2):
        assert scene.of("m1") == sorted(now)
    assert scene.listed == [FOLDER] * 3
    scene.read_listing()
    for _time in range(2):
        assert scene.of("m1") == sorted(now)
    assert scene.listed == [FOLDER] * 4


def test_a_deleted_folder(scene: Scene) -> None:
    scene.of("m1")
    MemoryClient(scene.ensemble.open()).delete(f"{PATH}/replicas/r1", recursive=True)
    assert scene.of("m1") is None


def test_a_member_with_other_parts_is_listed_each_time(scene: Scene) -> None:
    """Also if its stat is the same, as after a restore with another history."""
    client = MemoryClient(scene.other.open())
    client.apply([created(LATE), deleted(OTHER)])
    MemoryClient(scene.ensemble.open()).apply([created(NEW), deleted(NEW)])
    scene.read_listing()
    for _time in range(2):
        assert scene.of("m2", ensemble=scene.other) == [OLD, LATE]
        assert scene.of("m1") == [OLD, OTHER]
    assert scene.listed == [FOLDER] * 3


def test_a_lagging_member_is_listed(scene: Scene) -> None:
    scene.of("m2", ensemble=scene.other)
    scene.lists.begin_write()
    MemoryClient(scene.ensemble.open()).apply([created(NEW)])
    scene.lists.end_write([(created(NEW),)])
    assert scene.of("m2", ensemble=scene.other) == [OLD, OTHER]
    assert scene.listed == [FOLDER] * 2


def test_a_part_created_while_a_member_is_listed(scene: Scene) -> None:
    """The part is missing in the listing, and shows up in the next listing."""
    store = Listing(scene.ensemble)
    store.listed = lambda _paths: scene.late(created(LATE))
    (names,) = read_alone(store, scene.lists.member_steps("m1", [FOLDER], IDS))
    assert names == (OLD, OTHER)
    assert scene.of("m1") == [OLD, LATE, OTHER]
