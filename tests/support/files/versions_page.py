# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The table of docs/reference/clickhouse-versions.md with what each version has."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

PAGE = Path(__file__).resolve().parents[3] / "docs" / "reference" / "clickhouse-versions.md"
_HEADING = "## What each version has\n"
_KINDS = {
    "setting": "SELECT name FROM system.settings WHERE name = '{}'",
    "setting of tables": "SELECT name FROM system.merge_tree_settings WHERE name = '{}'",
    "metric": "SELECT metric FROM system.metrics WHERE metric = '{}'",
    "table": "SELECT name FROM system.tables WHERE database = 'system' AND name = '{}'",
    "column": "SELECT name FROM system.columns WHERE database = 'system' AND concat(table, '.', name) = '{}'",
}


class Feature(NamedTuple):
    """A row of the table.

    kind, name: how a server is asked, such as setting and alter_sync.
    cells: version, such as 24.8 → yes, no or ?.
    """

    kind: str
    name: str
    cells: Mapping[str, str]

    @property
    def sql(self) -> str:
        """A query that has a row where a version has the feature."""
        return _KINDS[self.kind].format(self.name)


def features() -> list[Feature]:
    """Read the table."""
    section = PAGE.read_text(encoding="utf-8").partition(_HEADING)[2].partition("\n## ")[0]
    head, _line, *rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in section.splitlines()
        if line.startswith("|")
    ]
    versions = [cell for cell in head if re.fullmatch(r"\d+\.\d+", cell)]
    found = []
    for _feature, asked, *cells in rows:
        kind, name = re.fullmatch(r"(.+) `(?:system\.)?([\w.]+)`", asked).groups()  # type: ignore[union-attr]
        found.append(Feature(kind, name, dict(zip(versions, cells, strict=False))))
    return found
