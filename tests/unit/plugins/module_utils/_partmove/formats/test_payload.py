# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Znodes of a part."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import FormatError
from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.payload import (
    Checksums,
    PartPayload,
    hash_matches,
    parse_payload,
    payload_problem,
    registers_hash,
    same_content,
)

WHERE = "/clickhouse/tables/01/t/replicas/r1/parts/20191201_5_5_0"

# What a server of version 18.16.1 wrote for 20191201_5_5_0. The entry of the replication log that made
# the part names the hash of all files, high word first: 8557D6AEA26E81B12FFDADC5CB38D48B.
COLUMNS = b"columns format version: 1\n4 columns:\n`d` Date\n`k` UInt32\n`v` String\n`w` UInt8\n"
TOTALS = (
    b"\x04\x08\x8b\xd48\xcb\xc5\xad\xfd/\xb1\x81n\xa2\xae\xd6W\x85.\xa5\xeff\xfa\xd3\xcb\x9f\xd7.\xd3r\x87um\xe9"
    b"9\xa3\x8d\xd0\xe8\xfd\xca\r\x97c\xc7*\x0ex\xf7\xa4"
)
LEGACY = {"columns": COLUMNS, "checksums": b"checksums format version: 5\n" + TOTALS}
HEADER = b"part header format version: 1\n"
MINIMALISTIC = HEADER + bytes(range(16)) + TOTALS
# The same with use_minimalistic_checksums_in_zookeeper=0, for a part of two columns.
FULL_LIST = (
    b"checksums format version: 4\n\xbe}"
    b"*k\xc0'\x11k\x88uA\xac\x1bj\x85Q\x82\xdd\x00\x00\x00\xfc\x00\x00\x00\xf0Q\x08\tcou"
    b"nt.txt\x01l\x9cU\xbd\xe9\x9a\x93|\xa9STX\xf4\x14\x05\xff\x00\x05d.bin"
    b"\x1c\x1cLu`\x04\xdf\xbb\x1a\xfb\x0e\xff_F\xa5d6\x01\x02!\xdc\xc2*n\xa4\xdef4\x8ep"
    b"1~\xab*\xea\x05d.mrk\x102\xae\xdby]x\xbd\x11\x19\xfeb\x88\xa7\xb4\xfe\xb3\x00\x05"
    b"kA\x00\xff\x16\x1e\xa7H\x19\x85Q\x90\xdb\xfdq\x00\x0e\xe3\x07<\xc9T\x01\x04\x859\x12`\xce#"
    b"\xec)CM\x95x\x87\x8f\xc9\x8d\x05kA\x00\x03\xfd\x1e\x0cminmax_d.idx"
    b"\x04,\xb1\xf7Il\x84\xaa;_Ed\xb0\xf8e\xbf\xbb\x00\rpartition.d"
    b"at\x97\x00\x91\x00\x0bprimary>\x00\x08t\x00P\x87\x8f\xc9\x8d\x00"
)
EXPECTED = Checksums(
    compressed_files=4,
    uncompressed_files=8,
    hash_of_all_files="2ffdadc5cb38d48b8557d6aea26e81b1",
    hash_of_uncompressed_files="9fcbd3fa66efa52ee96d758772d32ed7",
    uncompressed_hash_of_compressed_files="0dcafde8d08da339a4f7780e2ac76397",
)


def test_the_two_forms_differ() -> None:
    assert payload_problem(LEGACY["checksums"], {}) is not None
    assert payload_problem(b"", {"columns": COLUMNS, "checksums": MINIMALISTIC}) is not None


def test_a_minimalistic_payload() -> None:
    payload = parse_payload(MINIMALISTIC, {}, WHERE)
    assert len(MINIMALISTIC) == 96
    assert payload.is_minimalistic
    assert payload.checksums == EXPECTED


def test_a_legacy_payload() -> None:
    payload = parse_payload(b"", LEGACY, WHERE)
    assert not payload.is_minimalistic
    assert payload.checksums == EXPECTED


def test_a_legacy_payload_of_18_16_with_a_full_list_of_files() -> None:
    assert len(FULL_LIST) == 265
    payload = parse_payload(b"", {"columns": COLUMNS, "checksums": FULL_LIST}, WHERE)
    assert payload.checksums is None


@pytest.mark.parametrize("version", [2, 3, 4])
def test_a_legacy_payload_with_a_full_list_of_files(version: int) -> None:
    children = {"columns": COLUMNS, "checksums": f"checksums format version: {version}\nx".encode()}
    payload = parse_payload(b"", children, WHERE)
    assert payload.checksums is None


def test_counts_of_files_beyond_one_byte() -> None:
    payload = parse_payload(HEADER + bytes(16) + b"\xac\x02\x80\x01" + bytes(48), {}, WHERE)
    checksums = payload.checksums
    assert checksums is not None
    assert (checksums.compressed_files, checksums.uncompressed_files) == (300, 128)


@pytest.mark.parametrize(
    ("data", "children", "problem"),
    [
        (b"", {}, "has no data, and no child in place of"),
        (b"", {"columns": COLUMNS}, "has no data, and columns in place of"),
        (b"", {"checksums": LEGACY["checksums"]}, "has no data, and checksums in place of"),
        (b"", {**LEGACY, "extra": b""}, "has no data, and checksums, columns, extra in place of"),
        (MINIMALISTIC, LEGACY, "has data and children at once"),
        (MINIMALISTIC, {"extra": b""}, "has data and children at once"),
        (b"x", {}, "has data that is not a part header of format version 1"),
        (MINIMALISTIC.replace(b"version: 1", b"version: 2"), {}, "has data that is not a part header"),
        (HEADER + bytes(16) + b"\x80\x00\x01" + bytes(48), {}, "has data that is not a part header"),
        (MINIMALISTIC + b"block_id: x\n", {}, "has data that is not a part header"),
        (b"", {**LEGACY, "columns": b""}, "has a child columns that is not a list of columns"),
        (b"", {**LEGACY, "columns": b"columns format version: 2\n"}, "has a child columns that is not"),
        (b"", {**LEGACY, "checksums": b""}, "has a child checksums that is not"),
        (b"", {**LEGACY, "checksums": LEGACY["checksums"][:-1]}, "has a child checksums that is not"),
        (b"", {**LEGACY, "checksums": LEGACY["checksums"] + b"\n"}, "has a child checksums that is not"),
        (
            b"",
            {**LEGACY, "checksums": b"checksums format version: 1\nx"},
            "has a child checksums that is not",
        ),
        (
            b"",
            {**LEGACY, "checksums": b"checksums format version: 6\nx"},
            "has a child checksums that is not",
        ),
        (b"", {**LEGACY, "checksums": b"checksums format version: 4\n"}, "has a child checksums that is not"),
    ],
)
def test_refuses_an_invalid_payload(data: bytes, children: dict[str, bytes], problem: str) -> None:
    found = payload_problem(data, children)
    assert found is not None
    assert found.startswith(problem)
    with pytest.raises(FormatError) as caught:
        parse_payload(data, children, WHERE)
    assert caught.value.message == f"{WHERE} {found}"
    assert caught.value.remedy


@given(st.integers(0, len(MINIMALISTIC) - 1), st.binary(min_size=1, max_size=1))
def test_a_cut_or_longer_header_is_invalid(length: int, more: bytes) -> None:
    assert payload_problem(MINIMALISTIC[:length], {}) is not None
    assert payload_problem(MINIMALISTIC + more, {}) is not None


COUNTS = st.integers(0, 2**63 - 1)
HASHES = st.binary(min_size=16, max_size=16)


def varint(number: int) -> bytes:
    encoded = bytearray()
    while number >= 0x80:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*encoded, number])


@given(HASHES, COUNTS, COUNTS, st.tuples(HASHES, HASHES, HASHES))
def test_reads_back_what_a_server_would_write(
    columns: bytes, compressed: int, uncompressed: int, hashes: tuple[bytes, bytes, bytes]
) -> None:
    totals = varint(compressed) + varint(uncompressed) + b"".join(hashes)
    minimalistic = parse_payload(HEADER + columns + totals, {}, WHERE)
    legacy = parse_payload(b"", {**LEGACY, "checksums": b"checksums format version: 5\n" + totals}, WHERE)
    assert minimalistic.checksums is not None
    assert minimalistic.checksums == legacy.checksums
    assert (minimalistic.checksums.compressed_files, minimalistic.checksums.uncompressed_files) == (
        compressed,
        uncompressed,
    )
    low, high = (int.from_bytes(hashes[0][at : at + 8], "little") for at in (0, 8))
    assert minimalistic.checksums.hash_of_all_files == f"{low:016x}{high:016x}"


@given(st.binary(), st.dictionaries(st.sampled_from(["columns", "checksums", "x"]), st.binary()))
def test_any_bytes_are_accepted_or_refused(data: bytes, children: dict[str, bytes]) -> None:
    for whole in (data, HEADER + data):
        assert isinstance(payload_problem(whole, children), str)


def minimalistic(columns: bytes = bytes(16), totals: bytes = TOTALS) -> PartPayload:
    return parse_payload(HEADER + columns + totals, {}, WHERE)


def legacy(columns: bytes = COLUMNS, totals: bytes = TOTALS) -> PartPayload:
    children = {"columns": columns, "checksums": b"checksums format version: 5\n" + totals}
    return parse_payload(b"", children, WHERE)


def full_list(files: bytes = b"x") -> PartPayload:
    children = {"columns": COLUMNS, "checksums": b"checksums format version: 4\n" + files}
    return parse_payload(b"", children, WHERE)


OTHER_TOTALS = TOTALS[:-1] + b"\x00"


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (minimalistic(), minimalistic(), True),
        (minimalistic(), minimalistic(columns=b"\x01" * 16), False),
        (minimalistic(), minimalistic(totals=OTHER_TOTALS), False),
        (legacy(), legacy(), True),
        (legacy(), legacy(columns=b"columns format version: 1\n0 columns:\n"), False),
        (legacy(), legacy(totals=OTHER_TOTALS), False),
        (full_list(), full_list(), True),
        (full_list(), full_list(b"y"), False),
        (full_list(), legacy(), None),
        (minimalistic(), legacy(), True),
        (minimalistic(), legacy(totals=OTHER_TOTALS), False),
        (minimalistic(), full_list(), None),
    ],
)
def test_same_content(one: PartPayload, other: PartPayload, same: bool | None) -> None:
    assert same_content(one, other) is same
    assert same_content(other, one) is same


@pytest.mark.parametrize(
    ("queried", "expected"),
    [
        ("2ffdadc5cb38d48b8557d6aea26e81b1", True),
        ("8557d6aea26e81b12ffdadc5cb38d48b", True),
        ("8557D6AEA26E81B12FFDADC5CB38D48B", True),
        ("2ffdadc5cb38d48b8557d6aea26e81b0", False),
        ("2ffdadc5cb38d48b", False),
        ("", False),
    ],
)
def test_hash_matches_in_either_order_of_words(queried: str, expected: bool) -> None:
    assert hash_matches(EXPECTED.hash_of_all_files, queried) is expected


@pytest.mark.parametrize("data", [b"", b"nonsense", MINIMALISTIC[:-1]])
def test_no_hash_is_registered_by_what_cannot_be_read(data: bytes) -> None:
    checksums = parse_payload(MINIMALISTIC, {}, WHERE).checksums
    assert checksums is not None
    shown = checksums.hash_of_all_files
    assert registers_hash(MINIMALISTIC, {}, shown)
    assert not registers_hash(MINIMALISTIC, {}, "33" * 16)
    assert not registers_hash(data, {}, shown)
