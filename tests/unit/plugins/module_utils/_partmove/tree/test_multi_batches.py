# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Multis that carry whole groups and stay within the limits."""

from __future__ import annotations

from collections import deque

import pytest
from hypothesis import given, strategies as st

from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.multi_batches import (
    MAX_BYTES,
    MAX_OPS,
    GroupTooLarge,
    MultiRoom,
    pack,
    size_of,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import (
    Check,
    Create,
    Delete,
    Op,
    SetData,
)
from ansible_collections.olap.partmove.plugins.module_utils._zookeeper.wire import MultiEncoder

CHECKS = (Check("/lock", 0), Check("/epoch", 7))

paths = st.text("/abcß€", min_size=1, max_size=40).map(
    lambda text: "/" + "/".join(filter(None, text.split("/"))) if text.strip("/") else "/a"
)
data = st.binary(max_size=300)
versions = st.integers(0, 2**31 - 1)
ops: st.SearchStrategy[Op] = st.one_of(
    st.builds(Create, paths, data, st.booleans()),
    st.builds(SetData, paths, data, versions),
    st.builds(Delete, paths, versions),
    st.builds(Check, paths, versions),
)
groups = st.lists(st.lists(ops, min_size=1, max_size=5), max_size=12)


@given(st.lists(ops, max_size=8), st.booleans())
def test_a_multi_takes_no_more_bytes_than_expected(multi: list[Op], authenticated: bool) -> None:
    """The chroot is longer than any realistic chroot."""
    chroot = "/" + "c" * 200
    payload = MultiEncoder(chroot, authenticated=authenticated).encode(tuple(multi))
    end_of_multi = 9
    assert len(payload) <= size_of(multi) + end_of_multi


@given(groups)
def test_every_group_is_carried_once_as_a_whole(groups: list[list[Op]]) -> None:
    numbered = list(enumerate(groups))

    batches = [*pack(CHECKS, numbered)]

    assert [key for batch in batches for key in batch.keys] == [key for key, _group in numbered]
    for batch in batches:
        carried = [op for key in batch.keys for op in groups[int(str(key))]]
        assert batch.multi == (*CHECKS, *carried)


@pytest.mark.parametrize(
    ("group", "multis"),
    [
        ([Delete("/a", 0)] * 499, 1),
        ([Delete("/a", 0)] * 500, 2),
        ([SetData("/a", bytes(MAX_BYTES // 2 - 1000), 0)], 1),
        ([SetData("/a", bytes(MAX_BYTES // 2), 0)], 2),
    ],
    ids=["998 operations", "1000 operations", "less bytes", "more bytes"],
)
def test_two_groups_share_a_multi_as_long_as_both_fit(group: list[Op], multis: int) -> None:
    batches = [*pack(CHECKS, [("one", group), ("other", group)])]

    assert len(batches) == multis
    for batch in batches:
        assert len(batch.multi) <= MAX_OPS
        assert size_of(batch.multi) <= MAX_BYTES


@pytest.mark.parametrize(
    ("group", "problem"),
    [
        ([Delete("/a", 0)] * 999, "999 operations of .* bytes on /a do not fit one multi of 1000 operations"),
        ([Delete("/a", 0), SetData("/b", bytes(MAX_BYTES), 0)], "2 operations of .* bytes on /a do not fit"),
    ],
    ids=["operations", "bytes"],
)
def test_a_group_that_fits_no_multi_is_refused(group: list[Op], problem: str) -> None:
    assert not MultiRoom.beside(CHECKS).holds(group)

    with pytest.raises(GroupTooLarge, match=problem):
        deque(pack(CHECKS, [("small", [Delete("/c", 0)]), ("large", group)]), maxlen=0)


@pytest.mark.parametrize("spare", [0, 100])
def test_a_group_fits_up_to_the_limits(spare: int) -> None:
    assert MultiRoom.beside(CHECKS).holds([Delete("/a", 0)] * 998, spare)
    empty = SetData("/a", b"", 0)
    left = MAX_BYTES - size_of(CHECKS) - size_of([empty]) - spare

    assert MultiRoom.beside(CHECKS).holds([empty._replace(data=bytes(left))], spare)
    assert not MultiRoom.beside(CHECKS).holds([empty._replace(data=bytes(left + 1))], spare)


def test_without_groups_there_is_no_multi() -> None:
    assert [*pack(CHECKS, [])] == []


def test_every_multi_carries_the_checks() -> None:
    """Also full multis before the last."""
    numbered = [(number, [Create(f"/{number}/{each}", b"") for each in range(400)]) for number in range(5)]
    batches = [*pack(CHECKS, numbered)]
    assert [batch.keys for batch in batches] == [(0, 1), (2, 3), (4,)]
    assert {batch.multi[: len(CHECKS)] for batch in batches} == {CHECKS}


def test_multis_have_as_many_operations_as_they_should_have_at_that_moment() -> None:
    sizes = iter([11, 5, 1, 1, 100])
    numbered = [(number, [Create(f"/{number}/{each}", b"") for each in range(2)]) for number in range(9)]
    batches = [*pack(CHECKS, numbered, lambda: next(sizes))]
    assert [batch.keys for batch in batches] == [(0, 1, 2, 3), (4,), (5,), (6,), (7, 8)]
