# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The page about versions has what modules ask servers for, and every setting that statements carry."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.sent_settings import SENT
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.twin_activity import (
    _COPY,
    _NOT_WRITABLE,
    _ZERO_COPY,
)
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.twin_checksum import _EVERY_ROW
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.versions import (
    OLDEST_WITH_AUXILIARY_TABLES,
)
from support.files.versions_page import PAGE, Feature, features
from support.servers.ladder.rungs import RUNGS
from support.servers.modern.server import ENGINE

SOURCES = {
    path.name: path.read_text(encoding="utf-8")
    for path in (Path(__file__).resolve().parents[2] / "plugins/module_utils/_clickhouse").glob("*.py")
}
SENT_NAMES = {name for each in SENT for name in each.names}


@pytest.mark.parametrize("feature", features(), ids=lambda each: each.name)
def test_a_feature_of_the_page_is_asked_for(feature: Feature) -> None:
    assert list(feature.cells) == [str(OLDEST_WITH_AUXILIARY_TABLES), *(each.name for each in RUNGS), ENGINE]
    oldest, *run = feature.cells.values()
    # No server of the oldest version was run: its cell is what was read, or unknown.
    assert oldest in ({"(no)"} if run[0] == "no" else {"(yes)", "(no)", "?"})
    assert set(run) <= {"yes", "no"}
    # What a version has, later versions have as well: modules ask for it, and not for its absence.
    assert run == sorted(run)
    words = feature.name.split(".")
    assert any(all(re.search(rf"\b{each}\b", text) for each in words) for text in SOURCES.values())


def test_the_page_has_what_is_asked_for() -> None:
    names = {each.name.split(".")[-1] for each in features()}
    assert names >= {*SENT_NAMES, *_EVERY_ROW, _COPY, _ZERO_COPY[0], *_NOT_WRITABLE}

    tables = {
        node.args[1].value
        for text in SOURCES.values()
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "columns_of"
        and isinstance(node.args[1], ast.Constant)
    }
    assert tables
    # Only servers of the patched way differ in the folders of tables, and the configuration decides the log.
    assert tables - {"tables", "query_log"} <= {each.name.split(".")[0] for each in features()}


def test_the_page_has_every_setting_of_statements() -> None:
    section = PAGE.read_text(encoding="utf-8").partition("## Settings that statements carry\n")[2]
    rows = re.findall(r"^\| (`.+?) \| \d \|", section.partition("\n## ")[0], flags=re.MULTILINE)
    assert {name for row in rows for name in re.findall(r"`(\w+)`", row)} == {*SENT_NAMES, *_EVERY_ROW}


@pytest.mark.parametrize("source", sorted(SOURCES))
def test_no_statement_has_a_setting_whose_name_is_not_looked_up(source: str) -> None:
    calls = [
        node
        for node in ast.walk(ast.parse(SOURCES[source]))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "execute"
        and any(keyword.arg for keyword in node.keywords)
    ]
    assert not calls
