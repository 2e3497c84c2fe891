# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reads part znodes from a journal: the bytes carried by moves from one ensemble to the other."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterable

from ...formats.layout import ShardLayout
from ...journal.events import Event
from ...journal.lines import read_lines
from .backup import SavedZnode


def journalled_znodes(lines: Iterable[bytes], layout: ShardLayout, where: str) -> list[SavedZnode]:
    """Return the part znodes of the table from all announced switches, earlier switches first.

    Replicas with the same bytes count as one. Parts in the legacy form are left out: a journal has only their
    digests. Raises FormatError for other files.
    """
    znodes: dict[tuple[str, bytes], SavedZnode] = {}
    for _number, line in read_lines(lines, where):
        if line is None or line.event is not Event.SWITCHING or line.fields["shard_path"] != layout.path:
            continue
        for each in line.fields["parts"]:
            if "data" in each and each["replicas"]:
                name, data = each["part"], b64decode(each["data"])
                path = layout.replica(each["replicas"][0]).part(name)
                znodes.setdefault((name, data), SavedZnode("hot", path, data, 0))
    return list(znodes.values())
