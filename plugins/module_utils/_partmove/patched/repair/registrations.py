# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The file with part znodes extracted from the files of a ZooKeeper member.

Lines of JSON. The first line names the source; each other line has one znode, as in a backup::

    {"format": "olap.partmove/registrations", "version": 1, "source": …}
    {"ensemble": "hot", "path": …, "data": <base64>, "version": …}
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from ...envelope import Envelope
from ...errors import FormatError
from ...formats.layout import ShardLayout
from ...records import TEXT, Record
from .backup import SavedZnode

FORMAT = "olap.partmove/registrations"
VERSION = 1

_REMEDY = "Give an unchanged file of registrations.py"
_ENVELOPE = Envelope("file of registrations", FORMAT, VERSION, remedy=_REMEDY)
_HEADER = Record({"source": TEXT}, remedy=_REMEDY)


def encode_header(source: str) -> bytes:
    """Return the first line; ``source`` names the files of origin."""
    return json.dumps(_ENVELOPE.around({"source": source}), sort_keys=True).encode() + b"\n"


def parse_registrations(lines: Iterable[bytes], layout: ShardLayout, where: str) -> list[SavedZnode]:
    """Return the file's znodes of the table. Raises FormatError for other files and cut files."""
    prefix = f"{layout.replicas}/"
    znodes: list[SavedZnode] = []
    for number, line in enumerate(lines, 1):
        place = f"{where}, line {number}"
        if not line.endswith(b"\n"):
            raise FormatError(f"{place} is cut off", remedy=_REMEDY)
        if number == 1:
            _HEADER.read(_ENVELOPE.parsed(line, place), place)
            continue
        saved = SavedZnode.parse(line, place)
        if saved.path.startswith(prefix):
            znodes.append(saved)
    return znodes
