# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Bars of a shard path: znodes of the hot ensemble that keep every run from the shard path.

The znodes are below the coordination root::

    holds/<shard path, quoted>          a hold: somebody changes the tables with other tools
    twin-alters/<shard path, quoted>    the record of a statement that twin_alter has not finished

A bar is created in a multi that checks the lease of the shard path. So a run that reads under its lease that
there is no bar has none until the lease ends.

No clock of a host decides whether a hold has ended. `Hold.until` and the begin of a lease are both times of
the hot ensemble. A run that begins later than ``until`` deletes the hold first, in a multi that checks the
version of the hold: a hold that was prolonged meanwhile stays.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from enum import Enum
from typing import NamedTuple
from urllib.parse import quote

from ..envelope import Envelope
from ..errors import AlterUnfinished, ShardHeld
from ..records import COUNT, TEXT, Record
from ..text import shown_time
from ..tree.znodes import Znode

MOST_MINUTES = 10_080
"""The longest hold: a week."""
_REMEDY = "Find out who wrote the znode, and delete it if nobody changes the tables"
_ENVELOPE = Envelope("hold", "olap.partmove/hold", 1, _REMEDY)
_RECORD = Record({"owner": TEXT, "reason": TEXT, "until": COUNT}, remedy=_REMEDY)


class Bar(str, Enum):
    """A kind of bar; the value is the name of its folder."""

    HOLD = "holds"
    ALTER = "twin-alters"


EVERY_BAR: Collection[Bar] = tuple(Bar)


class Hold(NamedTuple):
    """The data of a hold. ``until``: its end, in milliseconds since 1970 by the clock of hot."""

    owner: str
    reason: str
    until: int

    @property
    def data(self) -> bytes:
        """The data of the znode, for `parse_hold`."""
        return json.dumps(_ENVELOPE.around(self._asdict()), ensure_ascii=False, sort_keys=True).encode()

    def is_over(self, taken_at: float) -> bool:
        """Whether the hold ended before a lease began at ``taken_at``, in seconds by the clock of hot."""
        return taken_at * 1000 >= self.until

    def as_result(self) -> dict[str, str]:
        """Return the hold with the keys of module results."""
        return {"owner": self.owner, "reason": self.reason, "until": shown_time(self.until)}

    def __str__(self) -> str:
        return f"{self.owner} until {shown_time(self.until)}: {self.reason}"


def parse_hold(znode: Znode) -> Hold:
    """Parse the data of a hold. Raises FormatError."""
    return Hold(**_RECORD.read(_ENVELOPE.parsed(znode.data, znode.path), znode.path))


def path_of_bar(root: str, kind: Bar, shard_path: str) -> str:
    """Return the path in hot of a bar of the shard path."""
    return f"{root}/{kind.value}/{quote(shard_path, safe='')}"


def held(shard_path: str, hold: Hold) -> ShardHeld:
    """Return the error for a hold that has not ended."""
    return ShardHeld(
        f"{shard_path} is held by {hold}",
        remedy="Run again when the hold has ended. If its work is done, run twin_hold with state=absent and"
        " the owner of the hold",
    )


def unfinished(shard_path: str, path: str) -> AlterUnfinished:
    """Return the error for a statement of twin_alter that is not finished. ``path``: of its record."""
    return AlterUnfinished(
        f"{shard_path}: twin_alter has not finished a statement, see the znode {path} of hot",
        remedy="Run twin_alter for the shard path without a statement, which finishes it",
    )
