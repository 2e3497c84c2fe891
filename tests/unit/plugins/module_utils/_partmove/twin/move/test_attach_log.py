# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The clones of an ATTACH are found in the replication log and in the block znodes."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import FormatError
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.attach_log import (
    AttachTraces,
    clones_since,
    known_clones,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.record import contents
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import (
    KnownClones,
    Side,
)
from support.memory.between import CLONES, HELD, ONE, between, name, parts, record
from support.memory.twins import DAY, content_of, table_of

SOURCE = table_of(Side.HOT, "r1")
HASH = "0123456789ABCDEFFEDCBA9876543210"


def entry(*clones: str, table: str = "hits", partition: str = DAY) -> bytes:
    """An entry as ClickHouse 25.8 writes it."""
    sources = ",".join(f"'{partition}_{number}_{number}_0'" for number in range(len(clones)))
    new = ",".join(f"'{partition}_{each}'" for each in clones)
    return (
        f"{HEAD}REPLACE_RANGE\ndrop_range_name: {partition}_0_0_0\nfrom_database: db\nfrom_table: {table}\n"
        f"source_parts: [{sources}]\nnew_parts: [{new}]\npart_checksums: ['{HASH}']\ncolumns_version: -1\n"
    ).encode()


HEAD = "format version: 4\ncreate_time: 2026-11-26 01:09:30\nsource replica: r1\nblock_id: \n"
GET = f"{HEAD}get\n20191201_9_9_0\n".encode()
OTHERS = (entry("7_7_0", table="other"), entry("1_1_0", partition="p"))


def log(first: int, *entries: bytes) -> dict[str, bytes]:
    return {f"log-{number:010}": data for number, data in enumerate(entries, first)}


@pytest.mark.parametrize(
    ("first", "since", "names", "complete"),
    [
        (0, 0, {"5_5_0", "6_6_0"}, True),
        (0, 1, set(), True),
        (0, 2, set(), True),
        (1, 0, {"5_5_0", "6_6_0"}, True),
        # An entry since then is gone.
        (3, 1, {"5_5_0", "6_6_0"}, False),
        # Nobody knows what is since then.
        (0, -1, set(), False),
    ],
)
def test_clones_are_those_of_entries_since_the_record(
    first: int, since: int, names: set[str], *, complete: bool
) -> None:
    entries = log(first, GET, entry("5_5_0", "6_6_0"), *OTHERS)
    found = known_clones(AttachTraces(entries, {}), SOURCE, {DAY: since})
    assert found == {DAY: KnownClones(frozenset(map(name, names)), complete)}


def test_the_first_entry_of_a_log_counts_where_it_may_have_been_empty() -> None:
    """A server shows the number 0 for an empty log, too."""
    entries = log(0, entry("5_5_0"))
    found = known_clones(AttachTraces(entries, {}), SOURCE, {DAY: 0})
    assert found == {DAY: KnownClones(frozenset({name("5_5_0")}), complete=True)}


def test_an_empty_log_shows_nothing() -> None:
    assert not known_clones(AttachTraces({}, {}), SOURCE, {DAY: 0})[DAY].complete


def test_an_unknown_entry_may_be_an_attach() -> None:
    with pytest.raises(FormatError):
        known_clones(AttachTraces(log(0, b"format version: 99"), {}), SOURCE, {DAY: 0})


def test_block_znodes_name_clones_and_the_hashes_of_their_sources() -> None:
    blocks = {f"{DAY}_replace_from_{HASH}": name("5_5_0"), f"p_replace_from_{HASH}": "p_1_1_0"}
    found = known_clones(AttachTraces({}, blocks), SOURCE, {DAY: -1})
    assert found[DAY].blocks == {name("5_5_0"): HASH.lower()}


def test_only_new_parts_with_the_rows_of_the_source_count() -> None:
    first, second = (part.content.hash_of_all_files for part in ONE)
    blocks = {
        name("5_5_0"): first,
        # Servers before 24.5 write the halves of a hash the other way round.
        name("6_6_0"): second[16:] + second[:16],
        name("7_7_0"): content_of(("x",)).hash_of_all_files,
        name("8_8_0"): "0" * 32,
    }
    known = record()._replace(held=contents(parts(b2_4_1="x")))
    current = between(ONE, (*HELD, *CLONES))
    found = KnownClones(frozenset({name("3_3_0"), name("9_9_0")}), complete=True, blocks=blocks)
    assert clones_since(known, current, found, DAY) == KnownClones(
        frozenset(map(name, ("5_5_0", "6_6_0", "9_9_0"))), complete=True
    )
