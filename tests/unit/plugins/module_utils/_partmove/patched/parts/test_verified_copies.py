# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Copies that are made in batches, each compared while the next one is made."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import EnsembleError, LeaseLost
from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.names import PartName
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.parts import (
    verified_copies,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.parts.compare import (
    Comparison,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.parts.leased_shard import (
    LeasedShard,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.parts.verified_copies import (
    make_verified_copies,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import Multi, Znode
from support.memory.bench import PATH, HookedStore
from support.memory.copying import LAYOUT, Copying
from support.memory.memory import MemoryEnsemble
from support.memory.tables import TableOptions, days

IDS = days(5)
REPLICAS = 2


class Member(HookedStore):
    """A member with other data of a part, or without an answer. read_paths: the requested parts."""

    def __init__(self, ensemble: MemoryEnsemble) -> None:
        super().__init__(ensemble)
        self.wrong = ""
        self.silent = False
        self.read_paths: list[str] = []

    def read(self, paths: Sequence[str], *, absolute: bool = False) -> list[Znode | None]:
        if self.silent:
            raise EnsembleError("No answer from m2")
        self.read_paths += [path for path in paths if "/parts/" in path]
        return [
            each._replace(data=b"other") if each is not None and each.path == self.wrong else each
            for each in super().read(paths, absolute=absolute)
        ]


class Cold(HookedStore):
    """Has two members."""

    def __init__(self, ensemble: MemoryEnsemble) -> None:
        super().__init__(ensemble)
        self.shown = (Member(ensemble), Member(ensemble))

    def members(self) -> Sequence[HookedStore]:
        return self.shown


class Scene:
    """A run under a lease that copies one partition at a time."""

    def __init__(self) -> None:
        self.copying = Copying(TableOptions(partitions=IDS))
        self.cold = Cold(self.copying.bench.cold_ensemble)
        self.own: dict[str, PartName] = {}

    def make(self) -> Comparison:
        look = self.copying.read(IDS)
        hot, lease = self.copying.bench.hot_store, self.copying.lease
        leased = LeasedShard(hot, self.cold, self.copying.reader, LAYOUT, lease)
        return make_verified_copies(leased, look.shard, look.partitions, self.own)

    def path(self, partition_id: str, part: str = "0_0_0") -> str:
        return f"{PATH}/replicas/r1/parts/{partition_id}_{part}"


@pytest.fixture(params=[1, REPLICAS, 2 * REPLICAS, len(IDS) * REPLICAS])
def scene(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Scene:
    """Of portions of so many parts."""
    monkeypatch.setattr(verified_copies, "PARTS_AT_ONCE", request.param)
    return Scene()


@pytest.fixture
def one_by_one(monkeypatch: pytest.MonkeyPatch) -> Scene:
    """Of portions of one partition."""
    monkeypatch.setattr(verified_copies, "PARTS_AT_ONCE", 1)
    return Scene()


def test_each_copy_is_compared_once_on_each_member(scene: Scene) -> None:
    parts = len(IDS) * REPLICAS
    assert scene.make() == Comparison(2 * parts, 0, 0, 0, (), frozenset())
    assert scene.copying.parts() == scene.copying.originals(*IDS)
    for member in scene.cold.shown:
        assert len(member.read_paths) == len({*member.read_paths}) == parts
    assert len(scene.own) == parts


@pytest.mark.parametrize("wrong", IDS)
def test_a_copy_that_differs_is_found_in_each_portion(scene: Scene, wrong: str) -> None:
    scene.cold.shown[1].wrong = scene.path(wrong)
    compared = scene.make()
    assert (compared.mismatched, compared.failed_partitions) == (1, frozenset({wrong}))
    assert compared.matched == 2 * len(IDS) * REPLICAS - 1


def test_a_part_that_comes_while_copies_are_made_is_found(scene: Scene) -> None:
    acts = [lambda: scene.copying.bench.cold.create(scene.path(IDS[0], "7_7_0"), b"")]
    scene.cold.after = lambda _multi: acts.pop()() if acts else None
    compared = scene.make()
    assert (compared.extra, compared.failed_partitions) == (2, frozenset({IDS[0]}))


def test_no_more_is_copied_once_a_member_does_not_answer(one_by_one: Scene) -> None:
    """Except for the batch that is copied while the batch before it is compared."""
    one_by_one.cold.shown[1].silent = True
    with pytest.raises(EnsembleError, match="No answer from m2"):
        one_by_one.make()
    assert one_by_one.copying.parts().keys() == one_by_one.copying.originals(*IDS[:2]).keys()


def test_a_lease_that_is_lost_ends_it(one_by_one: Scene) -> None:
    epoch = one_by_one.copying.lease.cold_checks[0].path
    acts = [lambda: one_by_one.copying.bench.cold.set(epoch, b"of another run")]
    one_by_one.cold.after = lambda multi: acts.pop()() if acts and _copies(multi) else None
    with pytest.raises(LeaseLost):
        one_by_one.make()
    assert one_by_one.copying.parts().keys() == one_by_one.copying.originals(IDS[0]).keys()


def _copies(multi: Multi) -> bool:
    return any("/parts/" in op.path for op in multi)
