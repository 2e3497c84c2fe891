# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The names of the gates, as the code has them."""

from __future__ import annotations

import ast
from pathlib import Path

_MODULE_UTILS = Path(__file__).resolve().parents[3] / "plugins" / "module_utils"


def literal_gates() -> set[str]:
    """First argument of every Refusal that is made with a literal."""
    found = set()
    for file in _MODULE_UTILS.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Refusal":
                first = node.args[0]
                if isinstance(first, ast.Constant):
                    found.add(str(first.value))
    return found
