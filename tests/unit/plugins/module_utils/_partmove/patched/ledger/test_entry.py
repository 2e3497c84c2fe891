# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Entries of the ledger as text, and which cold ensemble they speak of."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import FormatError
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.ledger.entry import (
    ColdEnsemble,
    LedgerEntry,
    parse_entry,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import Stat, Znode
from support.memory.memory import MemoryEnsemble, MemoryStore

ENTRY = LedgerEntry(
    host="ch1.example",
    interserver_port=9009,
    host_version=3,
    host_mzxid=4_294_967_400,
    server_version="20.12.3.3",
    patched_sign="SELECT 1",
    started_at="2026-11-21T03:00:00.000Z",
    cold=ColdEnsemble(("c1:2181", "c2:2181"), "/root"),
    verified_by="replica_ledger on control",
    verified_at="2026-11-21T03:25:00.000Z",
)
FIELDS = json.loads(ENTRY.encode())


def znode(data: bytes) -> Znode:
    return Znode("/partmove/ledger/x/r1", data, Stat(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))


@pytest.mark.parametrize("entry", [ENTRY, replace(ENTRY, interserver_port=None)])
def test_an_entry_is_read_as_it_was_written(entry: LedgerEntry) -> None:
    assert parse_entry(znode(entry.encode())) == entry


def test_an_entry_is_json_with_a_format_and_a_version() -> None:
    assert FIELDS == {
        "format": "olap.partmove/ledger",
        "version": 1,
        "host": "ch1.example",
        "interserver_port": 9009,
        "host_version": 3,
        "host_mzxid": 4_294_967_400,
        "server_version": "20.12.3.3",
        "patched_sign": "SELECT 1",
        "started_at": "2026-11-21T03:00:00.000Z",
        "cold": {"hosts": ["c1:2181", "c2:2181"], "chroot": "/root"},
        "verified_by": "replica_ledger on control",
        "verified_at": "2026-11-21T03:25:00.000Z",
    }


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (
            {"format": "olap.partmove/plan"},
            "this is no entry of the ledger, its format is not olap.partmove/ledger",
        ),
        ({"version": 2}, "its version is 2, this collection reads version 1"),
        ({"version": True}, "its version is True, this collection reads version 1"),
        ({"version": "1"}, "its version is '1', this collection reads version 1"),
        ({"host": None}, "host is None. It has to be text in quotes"),
        ({"host_mzxid": "7"}, "host_mzxid is '7'. It has to be a whole number"),
        ({"host_version": True}, "host_version is True. It has to be a whole number"),
        ({"interserver_port": "9009"}, "interserver_port is '9009'. It has to be null or a whole number"),
        ({"more": 1}, "more is not a known key. Known are host, interserver_port, host_version, "),
        ({"cold": None}, "cold is None. It has to be a mapping of hosts, chroot"),
        ({"cold": {"hosts": "c1:2181", "chroot": ""}}, "cold.hosts is 'c1:2181'. It has to be a list"),
        ({"cold": {"hosts": [1], "chroot": ""}}, "cold.hosts[0] is 1. It has to be text in quotes"),
        ({"cold": {"hosts": ["c1:2181"]}}, "cold.chroot is missing. It has to be text in quotes"),
    ],
)
def test_anything_else_is_refused(change: dict[str, Any], problem: str) -> None:
    with pytest.raises(FormatError) as refusal:
        parse_entry(znode(json.dumps(FIELDS | change).encode()))
    assert str(refusal.value).startswith(f"The ledger entry /partmove/ledger/x/r1: {problem}")
    assert str(refusal.value).endswith("or withdraw the entry and verify the server again (replica_ledger).")


@pytest.mark.parametrize("data", [b"", b"\xff", b"[]", b"1", b'{"format": 1, "format": 2}'])
def test_what_is_no_object_is_refused(data: bytes) -> None:
    with pytest.raises(FormatError, match="^The ledger entry /partmove/ledger/x/r1 is no JSON object: "):
        parse_entry(znode(data))


@pytest.mark.parametrize("name", sorted(set(FIELDS) - {"format", "version"}))
def test_a_field_that_is_missing_is_refused(name: str) -> None:
    fields = {each: value for each, value in FIELDS.items() if each != name}
    with pytest.raises(FormatError, match=f": {name} is missing. It has to be "):
        parse_entry(znode(json.dumps(fields).encode()))


def test_when_and_by_whom_makes_no_other_entry() -> None:
    later = replace(ENTRY, started_at="x", verified_by="y", verified_at="z")
    assert later.says_as_much_as(ENTRY)
    assert not replace(later, host_mzxid=1).says_as_much_as(ENTRY)
    assert not replace(later, cold=ColdEnsemble((), "")).says_as_much_as(ENTRY)
    assert not replace(later, patched_sign="SELECT 2").says_as_much_as(ENTRY)


class Addressed(MemoryStore):
    """A store of an ensemble that was given some addresses."""

    given: tuple[str, ...] = ()

    @property
    def addresses(self) -> tuple[str, ...]:
        """As given."""
        return self.given


def test_members_are_the_same_in_any_order_and_writing() -> None:
    store = Addressed(MemoryEnsemble("cold"))
    store.given = ("C2.example:2181", "c1.example", "[FE80::1]", "c1.example:2181")
    found = ColdEnsemble.of(store)
    assert found == ColdEnsemble(("[fe80::1]:2181", "c1.example:2181", "c2.example:2181"), "")
    assert str(found) == "[fe80::1]:2181,c1.example:2181,c2.example:2181"


def test_another_port_or_chroot_is_another_ensemble() -> None:
    store = Addressed(MemoryEnsemble("cold"))
    found = []
    for address, chroot in (("c1:2181", ""), ("c1:2182", ""), ("c1:2181", "/a"), ("c1:2181", "/b")):
        store.given, store.chroot = (address,), chroot
        found.append(ColdEnsemble.of(store))
    assert len(set(found)) == len(found)
    assert [str(each) for each in found] == ["c1:2181", "c1:2182", "c1:2181/a", "c1:2181/b"]
