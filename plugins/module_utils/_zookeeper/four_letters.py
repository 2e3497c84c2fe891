# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a member says of itself by the four-letter word ``srvr``, which servers answer unless told not to."""

from __future__ import annotations

import re
from typing import Any

from .client import connect_to
from .options import EnsembleOptions
from .strain import MemberState

_ANSWER = re.compile(r"^Outstanding: (\d+)\n(?:.*\n)*?Zxid: 0x([0-9a-f]+)$", re.MULTILINE)
_MOST_BYTES = 64 * 1024


def ask_member(options: EnsembleOptions, host: str, seconds: float) -> MemberState | None:
    """The state of one of the hosts; None where it does not answer in time, or not to this word."""
    try:
        connection = connect_to(options, host, seconds)
    except (OSError, ValueError):
        return None
    try:
        connection.settimeout(seconds)
        connection.sendall(b"srvr")
        return parse_srvr(_until_end(connection))
    except OSError:
        return None
    finally:
        connection.close()


def parse_srvr(text: str) -> MemberState | None:
    """The state in an answer; None where it is another one, such as that the word is not allowed."""
    found = _ANSWER.search(text)
    return None if found is None else MemberState(int(found[1]), int(found[2], 16))


def _until_end(connection: Any) -> str:
    answer = b""
    while len(answer) < _MOST_BYTES:
        chunk = connection.recv(_MOST_BYTES)
        if not chunk:
            break
        answer += chunk
    return answer.decode(errors="replace")
