# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Prints the state of the member that runs here: leader, follower, observer or standalone.

Arguments: the port of its admin server, its client port, 0 for none, and for how many seconds to wait until
it serves, which it does only as part of a quorum. Fails with one sentence when it does not.
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
# A member that was started with another configuration than there is now has left its port here.
_STARTED_WITH_PORT = Path("/run/zookeeper/admin-port")


class DoesNotServeError(Exception):
    """Says what each port answered."""


def main(admin_port: str, client_port: str, seconds: str) -> int:
    """Return the exit status."""
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
    """Ask a member without an admin server, such as one that the package zookeeperd has started."""
    with socket.create_connection(("127.0.0.1", port), timeout=_SECONDS) as connection:
        connection.sendall(b"srvr")
        text = connection.makefile(encoding="utf-8", errors="replace").read()
    mode = re.search(r"^Mode: (\w+)$", text, re.MULTILINE)
    if mode is None:
        raise LookupError(text.strip())
    return mode[1]


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
