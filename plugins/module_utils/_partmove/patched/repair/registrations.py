# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The file with registrations of parts that were taken from the files of a ZooKeeper member.

Lines of JSON, of which the first says where they are from, and each other one has a znode as in a backup::

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

_REMEDY = "Give a file as registrations.py has written it"
_ENVELOPE = Envelope("file of registrations", FORMAT, VERSION, remedy=_REMEDY)
_HEADER = Record({"source": TEXT}, remedy=_REMEDY)


def encode_header(source: str) -> bytes:
    """The first line; ``source`` says what the znodes were read from."""
    return json.dumps(_ENVELOPE.around({"source": source}), sort_keys=True).encode() + b"\n"


def parse_registrations(lines: Iterable[bytes], layout: ShardLayout, where: str) -> list[SavedZnode]:
    """The znodes of the table that are in the file; raises FormatError for a file of another kind, or cut."""
    prefix = f"{layout.replicas}/"
    found: list[SavedZnode] = []
    for number, line in enumerate(lines, 1):
        place = f"{where}, line {number}"
        if not line.endswith(b"\n"):
            raise FormatError(f"{place} is cut off", remedy=_REMEDY)
        if number == 1:
            _HEADER.read(_ENVELOPE.parsed(line, place), place)
            continue
        saved = SavedZnode.parse(line, place)
        if saved.path.startswith(prefix):
            found.append(saved)
    return found
