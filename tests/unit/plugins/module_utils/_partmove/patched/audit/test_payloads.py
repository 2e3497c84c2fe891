# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Content of registrations: of hot, of cold, and of the disk by its hashes."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.layout import ShardLayout
from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.payload import parse_payload
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.payloads import (
    ContentProblems,
    content_problems,
)
from support.memory.client import MemoryClient
from support.memory.evidence import A, B, parts
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
