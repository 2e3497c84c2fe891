# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The identity of an ensemble, and the list of hot ensembles: round trips, and refusal of unknown data."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.binding.identity import (
    BoundHot,
    Identity,
    Pair,
    hots_path,
    identity_path,
    parse_bound_hot,
    parse_identity,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import FormatError
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import Stat, Znode


def znode(data: bytes) -> Znode:
    return Znode("/partmove/identity", data, Stat(5, 5, 0, 0, 0, 0, 0, 0, len(data), 0, 0))


def test_each_identity_is_another_one() -> None:
    assert len({Identity.new() for _ in range(100)}) == 100


def test_round_trips() -> None:
    identity, hot = Identity.new(), BoundHot("münchen, h1:2181")
    assert parse_identity(znode(identity.encode())) == identity
    assert parse_bound_hot(znode(hot.encode())) == hot
    assert parse_identity(None) is None


def test_the_znodes() -> None:
    """Other versions of the collection read them."""
    identity = f'{{"format": "olap.partmove/ensemble", "id": "{"a" * 32}", "version": 1}}'
    assert Identity("a" * 32).encode().decode() == identity
    hot = '{"format": "olap.partmove/hot-of-cold", "name": "münchen", "version": 1}'
    assert BoundHot("münchen").encode().decode() == hot


@pytest.mark.parametrize("value", ["5", "null", f'["{"a" * 32}"]'])
def test_an_id_that_is_no_text_is_refused(value: str) -> None:
    data = Identity("x").encode().replace(b'"x"', value.encode())
    with pytest.raises(FormatError):
        parse_identity(znode(data))


def test_the_paths_are_below_the_root() -> None:
    assert (identity_path("/a"), hots_path("/a")) == ("/a/identity", "/a/hots")


@pytest.mark.parametrize(
    "data",
    [b"", b"{}", Identity("x").encode(), Identity("A" * 32).encode(), BoundHot("x").encode()],
)
def test_other_data_than_an_identity_is_refused(data: bytes) -> None:
    with pytest.raises(FormatError, match="The data of /partmove/identity"):
        parse_identity(znode(data))


@pytest.mark.parametrize("data", [b"", b"{}", Identity("a" * 32).encode()])
def test_other_data_than_a_hot_ensemble_is_refused(data: bytes) -> None:
    with pytest.raises(FormatError, match="in the cold ensemble"):
        parse_bound_hot(znode(data))


@pytest.mark.parametrize(
    ("hot_id", "cold_id", "hots", "is_bound"),
    [
        ("a", "b", ("a",), True),
        ("a", "b", ("a", "c"), True),
        ("a", "b", (), False),
        ("a", "b", ("c",), False),
        ("", "b", ("",), False),
        ("a", "", ("a",), False),
    ],
)
def test_when_a_pair_is_bound(hot_id: str, cold_id: str, hots: tuple[str, ...], is_bound: bool) -> None:
    assert Pair(hot_id, cold_id, hots).is_bound is is_bound
