# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Parts of one partition that is between its two tables, and the record of it."""

from __future__ import annotations

from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.record import (
    TwinRecord,
    contents,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import (
    Parts,
    PartsOf,
    Side,
    TwinPart,
)
from support.memory.twins import DAY, content_of, table_of


def parts(**rows: str) -> Parts:
    """Parts by first block, last block and level, such as b1_2_1, with a letter for each row."""
    return tuple(TwinPart(f"{DAY}_{name[1:]}", content_of(tuple(text))) for name, text in rows.items())


def name(blocks: str) -> str:
    """The name of a part of that partition."""
    return f"{DAY}_{blocks}"


ONE = parts(b1_1_0="ab", b2_2_0="c")
CLONES = parts(b5_5_0="ab", b6_6_0="c")
HELD = parts(b4_4_0="x")
LATE = parts(b3_3_0="l")


def record(destination: Side = Side.COLD, *, clones: bool = False, dropping: str = "") -> TwinRecord:
    """The record of ONE on its way, where HELD was."""
    verified = {name("1_1_0"): name("5_5_0"), name("2_2_0"): name("6_6_0")} if clones else {}
    named = tuple(name(each) for each in dropping.split())
    places = table_of(Side.HOT, "r1").place, table_of(Side.COLD, "r1").place
    return TwinRecord(destination, *places, contents(ONE), contents(HELD), verified, named, 0)


def between(source: Parts, destination: Parts, to: Side = Side.COLD) -> PartsOf:
    """What a replica has of both tables."""
    return PartsOf(source, destination) if to is Side.COLD else PartsOf(destination, source)
