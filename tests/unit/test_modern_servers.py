# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What servers of a modern ClickHouse are made with: the hash, and the search for functions in a library."""

from __future__ import annotations

import platform
import struct
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError
from itertools import pairwise
from pathlib import Path

import pytest

from support.servers.modern import library
from support.servers.modern.city_hash import Hash128, city_hash_128, hash_of_file
from support.servers.modern.functions import Function, Functions, FunctionsNotFound
from support.servers.modern.library import NoModernEngine, engine_library
from support.servers.modern.search import find_functions

ERROR = (
    b"\0Parameter 'interserver_http(s)_port' required for replication is not specified in configuration file."
)
ABOUT = (
    b"\0Exposes data from the [Zoo]Keeper cluster defined in the config. Allow to get the list of children"
)
CODE_AT = 0x10000
STARTS = (0x10000, 0x10080, 0x10180, 0x10200, 0x10300)
ATTACH = STARTS[3]


@pytest.mark.parametrize(
    ("length", "low", "high"),
    [
        (0, 0xB19E5BAC36C2662, 0x297DB2B766D3AACD),
        (3, 0x965D2074BE1995FF, 0x59347073DBB3C388),
        (7, 0x6556AD71D285D24D, 0xFB9DA25641F9EC5F),
        (12, 0xAD34D1928A786F27, 0xB2FDD55B8A8CD9FA),
        (16, 0x1927848BC8289EE3, 0x8BC9C3C595B78A0),
        (17, 0xF4451117525E1EC0, 0xF336E5B5E0FE8972),
        (100, 0x13FC0ECAB3BCB47E, 0x30779FFF03CD7D50),
        (127, 0xB2C48D36D927E4C6, 0xFC42B8576D713EA9),
        (128, 0xEC233023C4E66F5D, 0x46233821F936F19A),
        (200, 0x7B472CEB1409A866, 0x82191EF08CE37F2B),
        (255, 0x9147E4BE945507CC, 0x141204EB5B1CD90),
        (256, 0x9EF7C9F4FA359CA0, 0xCBA067E52840B91E),
        (2048, 0xE7B54226CBBEC593, 0xB2B06907B9AC6C8B),
    ],
)
def test_hash_is_that_of_the_library_of_clickhouse(length: int, low: int, high: int) -> None:
    """The values are what CityHash128WithSeed of libclickhouse.so.18.16.1 gave."""
    data = bytes(number % 251 for number in range(length))
    assert city_hash_128(data, Hash128(1, 2)) == Hash128(low, high)


def test_each_block_of_a_file_is_hashed_with_the_hash_of_the_one_before() -> None:
    content = bytes(5000)
    state = Hash128(0, 0)
    for block in (content[:2048], content[2048:4096], content[4096:]):
        state = city_hash_128(block, state)
    assert hash_of_file(content) == state
    assert hash_of_file(b"") == Hash128(0, 0)


def image(
    texts: int = 1,
    references: int = 1,
    table: bytes = b"\x01\x1b\x03\x3b",
    keeps: bytes = b"\x41\x89\xcc",
    starts: tuple[int, ...] = STARTS,
) -> bytes:
    """A file as a library is one: texts, then the table of functions, then code that refers to texts."""
    error_at, about_at, table_at = 0x400, 0x800, 0xC00
    content = bytearray(CODE_AT + 0x400)
    data = (1, 4, 0, 0, 0, CODE_AT, CODE_AT, 16)
    code = (1, 5, CODE_AT, CODE_AT, CODE_AT, 0x400, 0x400, 16)
    unwinding = (0x6474E550, 4, table_at, table_at, table_at, 0x100, 0x100, 4)
    struct.pack_into("<Q", content, 32, 64)
    struct.pack_into("<HH", content, 54, 56, 3)
    for number, header in enumerate((data, code, unwinding)):
        struct.pack_into("<IIQQQQQQ", content, 64 + 56 * number, *header)
    for number in range(texts):
        struct.pack_into(f"{len(ERROR)}s", content, error_at + 256 * number, ERROR)
    struct.pack_into(f"{len(ABOUT)}s", content, about_at, ABOUT)
    loads = [(STARTS[1] + 33 + 16 * number, error_at) for number in range(references)]
    for at, text_at in (*loads, (ATTACH + 130, about_at)):
        struct.pack_into("<3si", content, at - 3, b"\x4c\x8d\x05", text_at + 1 - (at + 4))
    struct.pack_into("3s", content, ATTACH + 17, keeps)
    struct.pack_into("<4siI", content, table_at, table, 0, len(starts))
    for number, start in enumerate(starts):
        struct.pack_into("<ii", content, table_at + 12 + 8 * number, start - table_at, 0)
    return bytes(content)


def test_functions_are_found_by_the_texts_that_they_refer_to(tmp_path: Path) -> None:
    file = tmp_path / "library.so"
    file.write_bytes(image())
    before, itself, after = (Function(start, end - start) for start, end in pairwise(STARTS[:4]))
    assert find_functions(file) == Functions(before, itself, after, Function(ATTACH + 17, 3))


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (image(texts=0), r"has 0 of what it should have one of: the text \"Parameter 'interserver"),
        (image(texts=2), r"has 2 of what it should have one of: the text \"Parameter 'interserver"),
        (image(references=0), "has 0 of what it should have one of: reference to the text at 0x401"),
        (image(references=2), "has 2 of what it should have one of: reference to the text at 0x401"),
        (image(table=b"\x02\x1b\x03\x3b"), "has a table of functions of another form"),
        (image(keeps=b"\x89\xcd\x90"), "has a function at 0x10200 that begins in another way"),
        (image(starts=STARTS[1:]), "has no functions around 0x10080"),
    ],
)
def test_a_library_that_is_built_otherwise_is_refused(tmp_path: Path, content: bytes, problem: str) -> None:
    file = tmp_path / "library.so"
    file.write_bytes(content)
    with pytest.raises(FunctionsNotFound, match=problem):
        find_functions(file)


@pytest.fixture
def unknown_library() -> Iterator[None]:
    """What was found out before counts neither in the test nor after it."""
    engine_library.cache_clear()
    yield
    engine_library.cache_clear()


@pytest.mark.usefixtures("unknown_library")
def test_what_a_machine_lacks_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    with pytest.raises(NoModernEngine, match="need Linux on x86-64: this is linux on aarch64"):
        engine_library()
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")

    def missing(name: str) -> None:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(library, "distribution", missing)
    with pytest.raises(NoModernEngine, match=r"need chdb 4\.4\.0, and none is installed: `make setup`"):
        engine_library()
