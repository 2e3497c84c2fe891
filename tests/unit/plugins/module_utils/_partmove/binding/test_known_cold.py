# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The record in hot that identifies a cold ensemble."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.binding.known_cold import (
    KnownCold,
    known_cold_path,
    parse_known_cold,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import FormatError
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import Stat, Znode


def znode(czxid: int, ctime: int, data: bytes = b"") -> Znode:
    return Znode("/hits", data, Stat(czxid, czxid, ctime, ctime, 0, 0, 0, 0, len(data), 0, 0))


KNOWN = KnownCold.of(znode(5, 1_600_000_000_000), "c1:2181,c2:2181/root", "a" * 32)


@pytest.mark.parametrize("known", [KNOWN, KNOWN._replace(cold_id="")])
def test_a_record_survives_a_round_trip(known: KnownCold) -> None:
    assert parse_known_cold(znode(1, 1, known.encode())) == known


def test_a_record_of_version_1_names_no_id() -> None:
    first = KNOWN._replace(cold_id="")
    assert first.is_of(znode(5, 1_600_000_000_000), "b" * 32)
    assert not first.is_of(znode(6, 1_600_000_000_000), "b" * 32)


@pytest.mark.parametrize(
    ("czxid", "ctime", "same"), [(5, 1_600_000_000_000, True), (5, 1, False), (6, 1, False)]
)
def test_an_ensemble_is_identified_by_the_creation_of_a_znode(czxid: int, ctime: int, same: bool) -> None:
    assert KNOWN.is_of(znode(czxid, ctime), "a" * 32) is same
    assert not KNOWN.is_of(znode(czxid, ctime), "b" * 32)
    assert not KNOWN.is_of(znode(czxid, ctime), "")


def test_messages_name_the_members_and_the_time() -> None:
    assert str(KNOWN) == "c1:2181,c2:2181/root, where the shard path was created at 2020-09-13T12:26:40.000Z"


def test_each_shard_path_has_a_znode_of_its_own() -> None:
    assert known_cold_path("/partmove", "/a/b") == "/partmove/cold/%2Fa%2Fb"


@pytest.mark.parametrize("data", [b"", b"{}", b'{"format": "olap.partmove/cold-of-shard", "version": 2}'])
def test_other_data_than_a_record_is_refused(data: bytes) -> None:
    with pytest.raises(FormatError, match="The data of /hits"):
        parse_known_cold(znode(1, 1, data))
