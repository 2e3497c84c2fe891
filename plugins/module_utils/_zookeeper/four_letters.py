# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Answers of members to four-letter commands. Servers allow ``srvr`` and ``conf`` by default."""

from __future__ import annotations

import re
from enum import Enum
from typing import Any, NamedTuple

from .client import connect_to
from .options import EnsembleOptions
from .strain import MemberState

_ANSWER = re.compile(r"^Outstanding: (\d+)\n(?:.*\n)*?Zxid: (?:0x([0-9a-f]*)|(\d+))$", re.MULTILINE)
_SERVER_ID = re.compile(r"^server_id=(\d+)$", re.MULTILINE)
_RELEASE = re.compile(
    r"^(?P<name>ClickHouse Keeper|Zookeeper) version: (?P<version>[^\s,]+)(?:.*\n)*?Mode: (?P<mode>\w+)$",
    re.MULTILINE,
)
_MOST_BYTES = 64 * 1024


class Software(Enum):
    """What the members of an ensemble run."""

    ZOOKEEPER = "zookeeper"
    KEEPER = "clickhouse_keeper"
    UNKNOWN = "unknown"


class Release(NamedTuple):
    """What a member says of itself. ``mode``: leader, follower, observer or standalone."""

    software: Software
    version: str
    mode: str


def ask_member(options: EnsembleOptions, host: str, seconds: float) -> MemberState | None:
    """Return the state of a host; None without a timely answer, or if the command is not allowed."""
    answer = ask(options, host, b"srvr", seconds)
    return None if answer is None else parse_srvr(answer)


def ask_release(options: EnsembleOptions, host: str, seconds: float) -> Release | None:
    """Return software, version and mode of a host; None without a timely answer that has them."""
    match = _RELEASE.search(ask(options, host, b"srvr", seconds) or "")
    if match is None:
        return None
    software = Software.KEEPER if match["name"] == "ClickHouse Keeper" else Software.ZOOKEEPER
    return Release(software, match["version"], match["mode"])


def ask_server_id(options: EnsembleOptions, host: str, seconds: float) -> int | None:
    """Return the ``server_id`` of a ClickHouse Keeper; None without a timely answer that has it."""
    match = _SERVER_ID.search(ask(options, host, b"conf", seconds) or "")
    return None if match is None else int(match[1])


def ask(options: EnsembleOptions, host: str, command: bytes, seconds: float) -> str | None:
    """Return the answer of a host to a command, also a refusal; None without a timely answer."""
    try:
        connection = connect_to(options, host, seconds)
    except (OSError, ValueError):
        return None
    try:
        connection.settimeout(seconds)
        connection.sendall(command)
        return _until_end(connection)
    except OSError:
        return None
    finally:
        connection.close()


def parse_srvr(text: str) -> MemberState | None:
    """Parse an answer to ``srvr``; None for other answers, such as a refused command.

    ClickHouse Keeper before 23.7 gives the zxid in decimal (ClickHouse#52122), and later ``0x`` alone for 0.
    """
    match = _ANSWER.search(text)
    if match is None:
        return None
    zxid = int(match[3]) if match[3] else int(match[2] or "0", 16)
    return MemberState(int(match[1]), zxid)


def _until_end(connection: Any) -> str:
    answer = b""
    while len(answer) < _MOST_BYTES:
        chunk = connection.recv(_MOST_BYTES)
        if not chunk:
            break
        answer += chunk
    return answer.decode(errors="replace")
