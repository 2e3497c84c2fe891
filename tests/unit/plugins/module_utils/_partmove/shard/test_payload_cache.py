# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Parts that were read, and what of them holds still; test_listed has the same for a whole list of parts."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.names import parse_names
from ansible_collections.olap.partmove.plugins.module_utils._partmove.shard.facts import RegisteredPart
from ansible_collections.olap.partmove.plugins.module_utils._partmove.shard.payload_cache import PayloadCache
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.reading import read_alone
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import (
    Create,
    SetData,
    Znode,
)
from support.memory.memory import MemoryEnsemble

FOLDER = "/parts"
ALONE, PARENT = parse_names(["20190101_0_0_0", "20190101_1_1_0"], "20190101", FOLDER)
NAMES = {FOLDER: [ALONE, PARENT]}
LIST = object()


class Scene:
    """Two parts, of which one has a child, and what was read of them."""

    def __init__(self) -> None:
        self.store = MemoryEnsemble("hot").open()
        paths = [FOLDER, *(f"{FOLDER}/{each.text}" for each in (ALONE, PARENT)), self.child]
        self.store.commit([tuple(Create(path, b"1") for path in paths)])
        alone, parent, child = self.znodes(*paths[1:])
        self.parts = [RegisteredPart(ALONE, alone, ()), RegisteredPart(PARENT, parent, (child,))]
        self.read = PayloadCache()
        self.read.keep(FOLDER, LIST, self.parts)

    @property
    def child(self) -> str:
        return f"{FOLDER}/{PARENT.text}/columns"

    def znodes(self, *paths: str) -> list[Znode]:
        return [each for each in self.store.read(paths) if each is not None]

    def kept(self, known: object = LIST) -> list[RegisteredPart]:
        return list(read_alone(self.store, self.read.steps(NAMES, {FOLDER: known}))[FOLDER].values())


def test_what_was_read_is_kept() -> None:
    scene = Scene()
    assert scene.kept() == scene.parts


def test_data_of_a_child_may_be_others_by_now() -> None:
    scene = Scene()
    scene.store.commit([(SetData(scene.child, b"2", 0),)])
    assert scene.kept() == scene.parts


def test_nothing_is_kept_once_another_list_is_known() -> None:
    assert Scene().kept(object()) == []


def add_a_child(scene: Scene) -> None:
    scene.store.commit([(Create(f"{FOLDER}/{PARENT.text}/checksums", b""),)])


def set_data(scene: Scene) -> None:
    scene.store.commit([(SetData(f"{FOLDER}/{PARENT.text}", b"2", 0),)])


def drop(scene: Scene) -> None:
    scene.read.drop(FOLDER, PARENT.text)
    scene.read.drop("/another", ALONE.text)


@pytest.mark.parametrize("act", [add_a_child, set_data, drop])
def test_a_part_that_is_not_what_it_was_is_not_kept(act: Callable[[Scene], None]) -> None:
    scene = Scene()
    act(scene)
    assert scene.kept() == scene.parts[:1]


def test_all_is_forgotten() -> None:
    scene = Scene()
    scene.read.clear()
    assert scene.kept() == []
