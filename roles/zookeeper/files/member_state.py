# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Prints the state of the local ensemble member: leader, follower, observer or standalone.

Arguments: admin server port and client port, 0 for none; seconds to wait for a serving member. A member
serves only as part of a quorum. Otherwise fails with one sentence on stderr.
"""

from __future__ import annotations

import json
import re
import socket
import sys
import time
import urllib.request
from http.client import HTTPException
from pathlib import Path

_SECONDS = 5.0
_PAUSE_SECONDS = 0.5
# The admin port at the start of the member; the configuration may have changed since then.
_STARTED_WITH_PORT = Path("/run/zookeeper/admin-port")


class DoesNotServeError(Exception):
    """The member does not serve; the message has the answer of each port."""


def main(admin_port: str, client_port: str, seconds: str) -> int:
    """Print the state, or the failure after the time limit; return the exit status."""
    end = time.monotonic() + float(seconds)
    while True:
        try:
            print(_state(admin_port, client_port))  # noqa: T201
            return 0
        except DoesNotServeError as error:
            if time.monotonic() > end:
                sys.stderr.write(f"{error}\n")
                return 1
        time.sleep(_PAUSE_SECONDS)


def _state(admin_port: str, client_port: str) -> str:
    if _STARTED_WITH_PORT.exists():
        admin_port = _STARTED_WITH_PORT.read_text(encoding="ascii").strip()
    reasons = []
    for ask, port in ((_ask_admin_server, admin_port), (_ask_client_port, client_port)):
        if port == "0":
            continue
        try:
            return ask(int(port))
        except (OSError, HTTPException, LookupError, ValueError) as error:
            reasons.append(f"port {port}: {error}")
    raise DoesNotServeError(f"does not serve ({'; '.join(reasons)})")


def _ask_admin_server(port: int) -> str:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/commands/server_stats", timeout=_SECONDS) as answer:
        stats = json.load(answer)
    if stats["error"] is not None:
        raise LookupError(stats["error"])
    return str(stats["server_stats"]["server_state"])


def _ask_client_port(port: int) -> str:
    """Query a member without an admin server, such as the package zookeeperd's."""
    with socket.create_connection(("127.0.0.1", port), timeout=_SECONDS) as connection:
        connection.sendall(b"srvr")
        text = connection.makefile(encoding="utf-8", errors="replace").read()
    mode = re.search(r"^Mode: (\w+)$", text, re.MULTILINE)
    if mode is None:
        raise LookupError(text.strip())
    return mode[1]


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
