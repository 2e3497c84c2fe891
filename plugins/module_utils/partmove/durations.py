# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Durations as people write them."""

from __future__ import annotations

import re

from .errors import FormatError

SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
"""Seconds by unit."""

_DURATION = re.compile(r"([0-9]{1,9})([smhdw]?)", re.ASCII)


def parse_duration(text: str, setting: str) -> int:
    """Seconds of a duration such as ``90``, ``90s``, ``36h`` or ``1d``; raises FormatError for other text.

    ``setting`` is what the message calls it.
    """
    found = _DURATION.fullmatch(text)
    if found is None:
        raise FormatError(
            f"{setting} is {text!r}, which is no duration",
            remedy="Give a whole number of seconds, or one with a unit such as 90s, 30m, 36h, 1d or 2w",
        )
    return int(found[1]) * SECONDS[found[2] or "s"]
