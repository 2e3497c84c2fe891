# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reading parts with their children, in few requests."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import FormatError
from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.layout import ShardLayout
from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.names import (
    PartName,
    parse_part_name,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.shard.facts import RegisteredPart
from ansible_collections.olap.partmove.plugins.module_utils._partmove.shard.parts import (
    PartNames,
    parse_name_in,
    part_steps,
    read_parts,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.reading import read_alone
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import Znode
from support.memory.bench import PATH, HookedStore
from support.memory.client import MemoryClient
from support.memory.memory import MemoryEnsemble
from support.memory.synthetic import LEGACY, MINIMALISTIC, SyntheticTable

NEW, OLD, THIRD = "all_0_0_0", "all_1_1_0", "all_2_2_0"


class Reading(HookedStore):
    """Notes what is asked for.

    after_first: done after the part znodes were read, before their children are.
    """

    def __init__(self, ensemble: MemoryEnsemble) -> None:
        super().__init__(ensemble)
        self.requests: list[str] = []
        self.after_first: Callable[[], object] = lambda: None

    def read(self, paths: Sequence[str], *, absolute: bool = False) -> list[Znode | None]:
        self.requests.append("read")
        found = super().read(paths, absolute=absolute)
        if len(self.requests) == 1:
            self.after_first()
        return found

    def children(self, paths: Sequence[str]) -> list[tuple[str, ...] | None]:
        self.requests.append("children")
        return super().children(paths)


class Scene:
    """A table, a client to change it with, and a reader of its parts."""

    def __init__(self) -> None:
        ensemble = MemoryEnsemble("hot")
        self.client = MemoryClient(ensemble.open())
        self.reader = Reading(ensemble)
        self.table = SyntheticTable(self.client, PATH).create()

    def read(self, *names: str) -> list[RegisteredPart]:
        return read_parts(self.reader, [self.named(name) for name in names])

    def read_expecting(self, legacy: Collection[str], *names: str) -> list[RegisteredPart]:
        """Read as `read` does; the names in ``legacy`` are expected to have the legacy children."""
        expected = [self.named(name)[0] for name in legacy]
        return read_alone(self.reader, part_steps([self.named(name) for name in names], expected))

    @staticmethod
    def named(name: str) -> tuple[str, PartName]:
        path = f"{PATH}/replicas/r1/parts/{name}"
        return path, parse_part_name(name, 1, path)


@pytest.fixture
def scene() -> Scene:
    return Scene()


@pytest.mark.parametrize("legacy", [(), (OLD,), (NEW,), (NEW, OLD)], ids=" ".join)
def test_parts_of_both_forms_are_returned_in_the_requested_order(
    scene: Scene, legacy: Collection[str]
) -> None:
    scene.table.add_part("r1", NEW)
    scene.table.add_legacy_part("r1", OLD)

    old, new = scene.read_expecting(legacy, OLD, NEW)

    assert (old.name.text, old.payload) == (OLD, (b"", tuple(sorted(LEGACY.items()))))
    assert (new.name.text, new.payload) == (NEW, (MINIMALISTIC, ()))


def test_parts_without_children_take_one_request(scene: Scene) -> None:
    scene.table.add_part("r1", NEW)
    assert len(scene.read(NEW)) == 1
    assert scene.reader.requests == ["read"]


def test_legacy_children_are_not_listed_first(scene: Scene) -> None:
    for name in (NEW, OLD, THIRD):
        scene.table.add_legacy_part("r1", name)
    assert len(scene.read(NEW, OLD, THIRD)) == 3
    assert scene.reader.requests == ["read", "read"]


def test_expected_children_are_read_with_their_parts(scene: Scene) -> None:
    for name in (NEW, OLD, THIRD):
        scene.table.add_legacy_part("r1", name)
    assert scene.read_expecting((NEW, OLD, THIRD), NEW, OLD, THIRD) == scene.read(NEW, OLD, THIRD)
    assert scene.reader.requests == ["read", "read", "read"]


@pytest.mark.parametrize("legacy", [(), (NEW, OLD)], ids=["unexpected", "expected"])
@pytest.mark.parametrize(
    "children",
    [
        {"checksums": b"c"},
        {"checksums": b"c", "uuid": b"u"},
        {**LEGACY, "uuid": b"u"},
        {"a": b"1", "z": b"2"},
    ],
    ids=" ".join,
)
def test_children_of_other_names_are_read_too(
    scene: Scene, children: dict[str, bytes], legacy: Collection[str]
) -> None:
    scene.table.add_part("r1", NEW, data=b"", children=children)
    scene.table.add_legacy_part("r1", OLD)

    odd, usual = scene.read_expecting(legacy, NEW, OLD)

    assert odd.payload == (b"", tuple(sorted(children.items())))
    assert usual.payload == (b"", tuple(sorted(LEGACY.items())))


def test_a_deleted_part_is_left_out(scene: Scene) -> None:
    scene.table.add_part("r1", NEW)
    assert [part.name.text for part in scene.read(OLD, NEW, THIRD)] == [NEW]
    assert [part.name.text for part in scene.read_expecting((OLD, NEW), OLD, NEW, THIRD)] == [NEW]
    assert scene.read() == []


@pytest.mark.parametrize("name", ["checksums", "columns"])
def test_a_part_deleted_during_the_read_is_left_out(scene: Scene, name: str) -> None:
    """A server deletes the children first: half a payload must not pass for a whole payload."""
    path = scene.table.add_legacy_part("r1", OLD)
    scene.table.add_legacy_part("r1", THIRD)
    scene.reader.after_first = lambda: scene.client.delete(f"{path}/{name}")

    assert [part.name.text for part in scene.read(OLD, THIRD)] == [THIRD]


@pytest.mark.parametrize(
    ("name", "place", "shows"),
    [
        ("hot", "", "Read the znode in system.zookeeper"),
        ("cold", " in the cold ensemble", "zkCli.sh from a member of the cold ensemble"),
        ("cold1:2181", " in the cold ensemble, on cold1:2181", "zkCli.sh from a member of the cold"),
    ],
)
def test_an_invalid_part_name_is_reported_with_its_ensemble(name: str, place: str, shows: str) -> None:
    with pytest.raises(FormatError) as raised:
        parse_name_in(MemoryEnsemble(name).open(), "/t/junk", "junk", 1)
    assert raised.value.message.startswith(f"/t/junk{place}: 'junk' is not the name of a part")
    assert shows in raised.value.remedy


@pytest.mark.parametrize(("version", "partition"), [(1, "20190101"), (0, "201901")])
def test_the_partition_of_a_checked_name(version: int, partition: str) -> None:
    names = PartNames(ShardLayout(PATH), version)
    name = "20190101_20190102_20190103_20190104_3"
    names.check(MemoryEnsemble("hot").open(), ["/p"], [[name]])
    assert names.partition_of(name) == names.named(name, "/p").partition_id == partition


def test_a_name_is_checked_in_every_folder() -> None:
    names = PartNames(ShardLayout(PATH), 1)
    reader = MemoryEnsemble("hot").open()
    names.check(reader, ["/p", "/q", "/r"], [["20190101_0_0_0"], None, ["20190101_0_0_0", "20190101_1_1_0"]])
    with pytest.raises(FormatError, match="^/q/tmp_insert"):
        names.check(reader, ["/p", "/q"], [["20190101_0_0_0"], ["20190101_0_0_0", "tmp_insert"]])
