# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The table of docs/reference/configurations.md: what servers and the module make of each shape."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from support.servers.ladder.rungs import RUNGS

OLD_SERVER = "18.16"
VERSIONS = (OLD_SERVER, *(each.name for each in RUNGS if each.in_every_test and each.real))
"""The servers of the first columns; the engine of 26.9 comes after them."""
_ELEMENT = re.compile("(<[^ >]+>|<[a-z_]+ [a-z_]+>)")
_PAGE = Path(__file__).parents[3] / "docs" / "reference" / "configurations.md"


def page_cells() -> Mapping[str, list[str]]:
    """The cells of the last table on the page, by shape."""
    table = _PAGE.read_text(encoding="utf-8").partition("| Shape |")[2]
    lines = [line for line in table.splitlines()[1:] if line.startswith("| ") and "---" not in line]
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
    return {name: rest for name, *rest in cells}


def shown(text: str, folder: Path) -> str:
    """The text as the page has it: without the path of the folder, and with marks around elements."""
    return _ELEMENT.sub(r"`\1`", text.replace(f"{folder}/", ""))
