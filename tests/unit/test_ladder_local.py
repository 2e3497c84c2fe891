# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What servers are made of clickhouse-local with: statements, errors, parts on disk, changed functions."""

from __future__ import annotations

import ctypes
import mmap
import platform
from pathlib import Path
from typing import cast

import pytest

from support.servers.downloads import NotToBeHad
from support.servers.ladder.config import known_merge_tree
from support.servers.ladder.local.parts import parts_on_disk
from support.servers.ladder.local.pools import detour
from support.servers.ladder.local.statement import (
    explains_alter,
    explanation_into_file,
    gives_rows,
    into_file,
    on_one_line,
    refusal,
    without_own_format,
)
from support.servers.ladder.programs import Program, command
from support.servers.modern.functions import FunctionsNotFound
from support.servers.modern.parts_exchange import NoSuchPart

PUSHES, POPS = "55 4157 4156 4155 4154 53", "5b 415c 415d 415e 415f 5d"
UUID = "0ae0b3b2-3c5e-4d5f-9c7e-3d9f2f0f2a11"


@pytest.mark.parametrize(
    ("sql", "written"),
    [
        ("SELECT 1", "SELECT 1\nINTO OUTFILE '/answer' FORMAT TSV"),
        ("SELECT 1;\n", "SELECT 1\nINTO OUTFILE '/answer' FORMAT TSV"),
        ("SELECT 1 FORMAT JSONCompact", "SELECT 1\nINTO OUTFILE '/answer' FORMAT JSONCompact"),
        ("SELECT 1 SETTINGS a = 1 FORMAT X", "SELECT 1 SETTINGS a = 1\nINTO OUTFILE '/answer' FORMAT X"),
        ("SELECT 'FORMAT X'", "SELECT 'FORMAT X'\nINTO OUTFILE '/answer' FORMAT TSV"),
    ],
)
def test_rows_go_into_a_file_in_the_format_that_a_statement_names(sql: str, written: str) -> None:
    assert into_file(sql, "TSV", Path("/answer")) == written


def test_statements_with_rows_are_known() -> None:
    assert all(
        map(gives_rows, ("SELECT 1", " (select 1)", "WITH 1 AS a SELECT a", "SHOW TABLES", "EXISTS t"))
    )
    assert not any(map(gives_rows, ("INSERT INTO t SELECT 1", "SYSTEM SYNC REPLICA t", "SELECTED")))


def test_an_alter_that_is_explained_gets_a_format_of_its_own() -> None:
    bare, named = (
        "EXPLAIN AST ALTER TABLE t DROP COLUMN a",
        "explain ast alter TABLE t DROP COLUMN a FORMAT CSV",
    )
    assert [explains_alter(each) for each in (bare, named, "EXPLAIN AST SELECT 1")] == [True, True, False]
    into = "\nINTO OUTFILE '/answer' FORMAT JSONCompact"
    assert explanation_into_file(bare, "JSONCompact", Path("/answer")) == f"{bare} FORMAT Null{into}"
    with_settings = explanation_into_file(f"{bare} SETTINGS a = 1", "JSONCompact", Path("/answer"))
    assert with_settings == f"{bare} FORMAT Null SETTINGS a = 1{into}"
    assert explanation_into_file(named, "JSONCompact", Path("/answer")) == f"{named}{into}"
    tree = b'[\n [" Identifier t"],\n [" Identifier Null"]\n ],'
    assert without_own_format(bare, tree) == b'[\n [" Identifier t"]\n ],'
    assert without_own_format(named, tree) == tree


def test_values_of_an_insert_are_on_one_line() -> None:
    assert on_one_line("INSERT INTO t VALUES (1),\n(2)") == "INSERT INTO t VALUES (1), (2)"
    assert on_one_line("CREATE TABLE t\n(a UInt8)") == "CREATE TABLE t\n(a UInt8)"


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("", ""),
        ("Processing configuration file\n", ""),
        (
            "Received exception:\nCode: 60. DB::Exception: No t. (UNKNOWN_TABLE)\n\n",
            "Code: 60. DB::Exception: No t. (UNKNOWN_TABLE)",
        ),
        (
            "Syntax error: failed at position 1 ('SELEC'):\n\nSELEC 1\n",
            "Code: 62. DB::Exception: Syntax error: failed at position 1 ('SELEC'): (SYNTAX_ERROR)",
        ),
    ],
)
def test_errors_are_what_the_engine_writes(written: str, text: str) -> None:
    assert refusal(written) == text


def test_parts_are_found_on_disk(tmp_path: Path) -> None:
    definitions = tmp_path / "store" / "abc" / "abc-of-the-database"
    part = tmp_path / "store" / "0ae" / UUID / "all_0_0_0"
    old = tmp_path / "data" / "old" / "t%2Ex" / "all_1_1_0"
    for folder in (definitions, part, old, tmp_path / "metadata" / "old"):
        folder.mkdir(parents=True)
    engine = "ENGINE = ReplicatedMergeTree('{}', '{{replica}}')\nORDER BY id"
    (definitions / "t.sql").write_text(
        f"ATTACH TABLE _ UUID '{UUID}'\n(id UInt8)\n{engine.format('cold:/x/{uuid}/{shard}')}"
    )
    (definitions / "view.sql").write_text("ATTACH VIEW _ AS SELECT 1")
    (tmp_path / "metadata" / "old" / "t%2Ex.sql").write_text(
        f"ATTACH TABLE `t.x`\n(id UInt8)\n{engine.format('/x/{database}/{table}')}"
    )
    (part / "data.bin").touch()
    (part / "uuid.txt").write_text(f"{UUID}\n")
    find = parts_on_disk(tmp_path, {"shard": "01", "replica": "r1"})
    assert find(f"/x/{UUID}/01/replicas/r1", "all_0_0_0") == (part, "Compact", UUID)
    found = find("/x/old/t.x/replicas/r1", "all_1_1_0")
    assert (found.folder, found.kind, set(found.uuid)) == (old, "Wide", {"0", "-"})
    with pytest.raises(NoSuchPart, match="no part all_9_9_0 in /x/old/t.x/replicas/r1"):
        find("/x/old/t.x/replicas/r1", "all_9_9_0")


class Library:
    """A library with one function, which returns its second argument."""

    def __init__(self, prologue: str, epilogue: str) -> None:
        self.page = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        self.page.write(bytes.fromhex(f"{prologue} 4889f0 {epilogue} c3"))
        place = ctypes.addressof(ctypes.c_char.from_buffer(self.page))
        self.function = ctypes.CFUNCTYPE(ctypes.c_long, ctypes.c_long, ctypes.c_long)(place)

    def __getitem__(self, name: str) -> object:
        return self.function


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the machine code is for x86-64")
@pytest.mark.parametrize(
    ("smaller", "larger"), [("4883ec08", "4883c408"), ("4881ec78010000", "4881c478010000")]
)
def test_a_function_begins_with_a_detour(smaller: str, larger: str) -> None:
    library = Library(f"{PUSHES} {smaller}", f"{larger} {POPS}")
    assert library.function(1, 2) == 2
    detour(cast(ctypes.CDLL, library), "name", bytes.fromhex("be 10000000"))
    assert library.function(1, 2) == 16


def test_a_function_that_begins_in_another_way_is_refused() -> None:
    with pytest.raises(FunctionsNotFound, match="name begins in another way"):
        detour(cast(ctypes.CDLL, Library("55 90", "5d")), "name", b"")


def test_the_oldest_versions_have_neither_newer_settings_nor_a_fast_pace() -> None:
    settings: dict[str, int | str] = {"merge_selecting_sleep_ms": 200, "max_merge_selecting_sleep_ms": 1000}
    assert known_merge_tree("22.12", settings) == {"merge_selecting_sleep_ms": 3000}
    assert known_merge_tree("23.6", settings) == settings


def test_a_version_without_the_program_is_refused() -> None:
    with pytest.raises(NotToBeHad, match=r"there is no clickhouse-server 22\.12\.1\.1"):
        command("22.12", Program.SERVER)
