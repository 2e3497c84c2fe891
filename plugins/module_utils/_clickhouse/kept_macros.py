# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Writes the place of a twin with the macros of its table, so that its schema can be copied to a replica."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from .._partmove.formats.sql import literal
from .._partmove.twin.move.tables import TwinTable
from .client import ClickHouseClient, QueryRefused

_MACRO = re.compile(r"\{(\w+)\}")


def keep_macros(client: ClickHouseClient, hot: TwinTable, written: Mapping[str, str]) -> Mapping[str, str]:
    """Map each text to the same text with macros; to itself if macros would give another text.

    written: the path or the name of a replica → the same text with macros, as in the engine of ``hot``. The
    twin has another name and UUID, so ``{uuid}``, ``{database}`` and ``{table}`` become those of ``hot``.
    """
    fixed = {each: _without_own(client, hot, text) for each, text in written.items()}
    values = _values(client, {name for text in fixed.values() for name in _MACRO.findall(text)})
    return {each: text if _expanded(text, values) == each else each for each, text in fixed.items()}


def _without_own(client: ClickHouseClient, hot: TwinTable, text: str) -> str:
    """Replace the macros that stand for something of the table itself."""
    own = {"database": hot.database, "table": hot.name}
    if "{uuid}" in text:
        table = f"database = {literal(hot.database)} AND name = {literal(hot.name)}"
        ((own["uuid"],),) = client.rows(f"SELECT toString(uuid) FROM system.tables WHERE {table}")
    return _expanded(text, own)


def _values(client: ClickHouseClient, names: Iterable[str]) -> Mapping[str, str]:
    """Return the values of macros; none if the server does not have all of them."""
    asked = sorted(names)
    if not asked:
        return {}
    try:
        ((*values,),) = client.rows(f"SELECT {', '.join(f'getMacro({literal(each)})' for each in asked)}")
    except QueryRefused:
        return {}
    return dict(zip(asked, values))


def _expanded(text: str, values: Mapping[str, str]) -> str:
    return _MACRO.sub(lambda found: values.get(found[1], found[0]), text)
