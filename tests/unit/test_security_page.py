# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The page about security lists each znode below the coordination root that the code writes."""

from __future__ import annotations

import re

from ansible_collections.olap.partmove.plugins.module_utils._partmove.lease.bars import Bar
from support.source import ROOT, product_files

PAGE = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
ROWS = PAGE.partition("## What is written where: znodes\n")[2].partition("\n## ")[0]
# A path in an f-string, such as f"{self.root}/locks".
_PATH = re.compile(r"\broot\}/([a-z][a-z-]*)")


def test_the_page_has_each_znode_below_the_coordination_root_and_no_other() -> None:
    written = {name for path in product_files() for name in _PATH.findall(path.read_text(encoding="utf-8"))}
    first = re.findall(r"^\| (`/partmove/.+?) \|", ROWS, flags=re.MULTILINE)
    listed = re.findall(r"`([^`]+)`", " ".join(first))
    assert sorted(each.removeprefix("/partmove/") for each in listed) == sorted(
        written | {each.value for each in Bar}
    )
