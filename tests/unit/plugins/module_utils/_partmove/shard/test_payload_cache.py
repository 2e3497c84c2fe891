# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Validity of cached parts; test_part_listing tests whole listings."""

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
    """Two parts, the second with a child, and their cached payloads."""

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


def test_parts_are_cached() -> None:
    scene = Scene()
    assert scene.kept() == scene.parts


def test_cached_data_of_a_child_may_be_outdated() -> None:
    scene = Scene()
    scene.store.commit([(SetData(scene.child, b"2", 0),)])
    assert scene.kept() == scene.parts


def test_parts_are_invalid_with_another_listing() -> None:
    assert Scene().kept(object()) == []


def add_a_child(scene: Scene) -> None:
    scene.store.commit([(Create(f"{FOLDER}/{PARENT.text}/checksums", b""),)])


def set_data(scene: Scene) -> None:
    scene.store.commit([(SetData(f"{FOLDER}/{PARENT.text}", b"2", 0),)])


def drop(scene: Scene) -> None:
    scene.read.drop(FOLDER, PARENT.text)
    scene.read.drop("/another", ALONE.text)


@pytest.mark.parametrize("act", [add_a_child, set_data, drop])
def test_a_changed_part_is_invalid(act: Callable[[Scene], None]) -> None:
    scene = Scene()
    act(scene)
    assert scene.kept() == scene.parts[:1]


def test_clear_forgets_all_parts() -> None:
    scene = Scene()
    scene.read.clear()
    assert scene.kept() == []
