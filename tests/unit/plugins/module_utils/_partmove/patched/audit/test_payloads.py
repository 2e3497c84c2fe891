# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Content of registrations: of hot, of cold, and of the disk by its hashes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.layout import ShardLayout
from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.payload import parse_payload
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.payloads import (
    ContentProblems,
    content_problems,
    with_content,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import Znode
from support.memory.client import MemoryClient
from support.memory.evidence import A, B, parts, replica
from support.memory.memory import MemoryEnsemble, MemoryStore
from support.memory.synthetic import LEGACY, MINIMALISTIC

PATH = "/t"
FOLDER = f"{PATH}/replicas/r1/parts"
OTHER = MINIMALISTIC.replace(b"\x22" * 48, b"\x44" * 48)
CHECKSUMS = parse_payload(MINIMALISTIC, {}, "").checksums
assert CHECKSUMS is not None
HASH = CHECKSUMS.hash_of_all_files


class Both:
    """Hot and cold, in which parts of r1 are registered."""

    def __init__(self) -> None:
        self.hot, self.cold = (MemoryEnsemble(name).open() for name in ("hot", "cold"))

    def register(self, where: MemoryStore, name: str, data: bytes = MINIMALISTIC) -> None:
        MemoryClient(where).create(f"{FOLDER}/{name}", data, makepath=True)

    def problems(self, hot: str, cold: str, hashes: dict[str, str | None] | None = None) -> ContentProblems:
        ensembles = [(self.hot, parts(hot)), (self.cold, parts(cold))]
        return content_problems(ensembles, ShardLayout(PATH), "r1", hashes or {})


@pytest.fixture
def both() -> Both:
    return Both()


def test_equal_copies_that_are_on_disk(both: Both) -> None:
    for where in (both.hot, both.cold):
        both.register(where, A)
    assert both.problems(A, A, {A: HASH})[:4] == (frozenset(), frozenset(), (), frozenset())


def test_copies_with_other_bytes(both: Both) -> None:
    both.register(both.hot, A)
    both.register(both.cold, A, OTHER)
    assert both.problems(A, A).differing == {A}


def test_copies_with_other_children(both: Both) -> None:
    for where in (both.hot, both.cold):
        both.register(where, A, b"")
        for name, data in LEGACY.items():
            MemoryClient(where).create(f"{FOLDER}/{A}/{name}", data)
    assert not both.problems(A, A).differing
    other = LEGACY["checksums"][:-1] + b"\x34"
    MemoryClient(both.cold).set(f"{FOLDER}/{A}/checksums", other)
    assert both.problems(A, A)[:4] == (frozenset({A}), frozenset(), (), frozenset())


@pytest.mark.parametrize(
    ("shown", "unlike"),
    [(HASH, set()), (None, set()), ("0" * 32, {A})],
    ids=["same", "not told", "other"],
)
def test_hash_of_the_disk(both: Both, shown: str | None, unlike: set[str]) -> None:
    both.register(both.hot, A)
    both.register(both.hot, B)
    assert both.problems(f"{A} {B}", "", {A: shown}).unlike_disk == unlike
    assert both.problems(f"{A} {B}", "", {A: shown}).differing == frozenset()


def test_hot_counts_where_both_have_a_part(both: Both) -> None:
    both.register(both.hot, A)
    both.register(both.cold, A, OTHER)
    assert both.problems(A, A, {A: HASH})[:4] == (frozenset({A}), frozenset(), (), frozenset())


def test_cold_alone_is_compared_with_the_disk(both: Both) -> None:
    both.register(both.cold, A, OTHER)
    assert both.problems("", A, {A: HASH}).unlike_disk == {A}


def test_data_that_is_not_understood(both: Both) -> None:
    both.register(both.hot, A)
    both.register(both.cold, A, b"part header format version: 9\n")
    both.register(both.cold, B, b"?")
    found = both.problems(A, f"{A} {B}")
    assert (found.differing, found.unlike_disk) == (frozenset(), frozenset())
    assert found.unreadable == (f"{FOLDER}/{A}", f"{FOLDER}/{B}")
    assert found.damaged_copies == {f"{FOLDER}/{A}"}


def test_a_half_copied_legacy_part_is_a_damaged_copy_where_hot_has_it_whole(both: Both) -> None:
    for name in (A, B):
        both.register(both.hot, name, b"")
        both.register(both.cold, name, b"")
    for name, data in LEGACY.items():
        MemoryClient(both.hot).create(f"{FOLDER}/{A}/{name}", data)
    MemoryClient(both.cold).create(f"{FOLDER}/{A}/columns", LEGACY["columns"])
    found = both.problems(f"{A} {B}", f"{A} {B}")
    assert found.unreadable == (f"{FOLDER}/{A}", f"{FOLDER}/{B}")
    assert found.damaged_copies == {f"{FOLDER}/{A}"}


def test_a_part_that_is_gone_by_now_is_left_out(both: Both) -> None:
    assert both.problems(A, A)[:4] == (frozenset(), frozenset(), (), frozenset())


# --- many partitions of a replica at once ----------------------------------------------------------


class Counting(MemoryStore):
    """A store that counts its requests."""

    requests = 0

    def read(self, paths: Sequence[str], *, absolute: bool = False) -> list[Znode | None]:
        self.requests += 1
        return super().read(paths, absolute=absolute)


def test_a_content_problem_belongs_to_its_partition(both: Both) -> None:
    for name in (A, B):
        both.register(both.hot, name)
    both.register(both.cold, A, OTHER)
    both.register(both.cold, B, b"?")
    evidence = [
        replace(replica(hot=name, cold=name, disk=name, unreadable="/x"), hashes={name: shown})
        for name, shown in ((A, "0" * 32), (B, HASH))
    ]
    first, second = with_content(both.hot, both.cold, ShardLayout(PATH), evidence)
    assert first.differing == first.unlike_disk == {A}
    assert first.unreadable == ("/x",)
    assert (second.differing, second.unlike_disk) == (frozenset(), frozenset())
    assert second.unreadable == ("/x", f"{FOLDER}/{B}")
    assert first.damaged_copies == frozenset()
    assert second.damaged_copies == {f"{FOLDER}/{B}"}


def test_partitions_are_read_together_up_to_a_bound() -> None:
    hot, cold = (Counting(MemoryEnsemble(name)) for name in ("hot", "cold"))
    names = [f"{number}_0_0_0" for number in range(4500)]
    evidence = [replica(hot=name, disk=name) for name in names]
    found = list(with_content(hot, cold, ShardLayout(PATH), evidence))
    assert found == evidence
    assert hot.requests == 3
    assert list(with_content(hot, cold, ShardLayout(PATH), [])) == []
