# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Writes to an ensemble without a break, to see what a change to the ensemble does to its clients."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from kazoo.client import KazooClient
from kazoo.exceptions import ConnectionLoss, OperationTimeoutError
from kazoo.protocol.states import KazooState
from kazoo.security import make_digest_acl

from support.servers.tls import TlsFiles

# The most that a server with the usual tickTime of 2 seconds grants.
_SESSION_SECONDS = 40.0
_PAUSE_SECONDS = 0.05
# More than the 1 MiB that servers and clients take without jute.maxbuffer.
_LARGE = b"x" * 2_000_000


@dataclass
class Report:
    """What the client saw."""

    written: int = 0
    """Writes that were confirmed."""
    sessions_lost: int = 0
    longest_pause: float = 0.0
    """The longest time in seconds from one confirmed write to the next."""


def write_until(hosts: str, tls: TlsFiles, superuser: str, stop: Path) -> Report:
    """Write to a znode until the file `stop` is there. Only a superuser may write to that znode.

    Args:
        hosts: Every member as host:port, with TLS.
        tls: The certificates.
        superuser: user:password.
        stop: The file; `stop` with the suffix .started is made once the client writes.
    """
    report = Report()
    client = KazooClient(
        hosts,
        timeout=_SESSION_SECONDS,
        connection_retry={"max_tries": -1, "max_delay": 1.0},
        auth_data=[("digest", superuser)],
        use_ssl=True,
        ca=str(tls.authority),
        certfile=str(tls.client),
        keyfile=str(tls.client_key),
    )

    def count(state: str) -> None:
        report.sessions_lost += state == KazooState.LOST

    client.start(timeout=300)
    client.add_listener(count)
    try:
        path = f"/steady-{uuid.uuid4().hex[:12]}"
        client.create(path, b"", acl=[make_digest_acl("nobody", uuid.uuid4().hex, all=True)])
        client.set(path, _LARGE)
        stop.with_suffix(".started").touch()
        _write(report, lambda: client.set(path, str(report.written).encode()), stop)
    finally:
        client.remove_listener(count)
        client.stop()
        client.close()
    return report


def main(hosts: str, tls: Path, superuser: str, stop: Path) -> str:
    """Return the report as JSON."""
    files = TlsFiles(*(tls / f"{name}.pem" for name in ("ca", "server", "client", "client-key")))
    return json.dumps(asdict(write_until(hosts, files, superuser, stop)))


def _write(report: Report, write: Callable[[], object], stop: Path) -> None:
    last = time.monotonic()
    while not stop.exists():
        try:
            write()
        except (ConnectionLoss, OperationTimeoutError):
            # What kazoo says while it connects to another member; the pause tells how long that takes.
            time.sleep(_PAUSE_SECONDS)
            continue
        now = time.monotonic()
        report.longest_pause = max(report.longest_pause, now - last)
        report.written += 1
        last = now
        time.sleep(_PAUSE_SECONDS)
