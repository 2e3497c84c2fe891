# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The program of one server that is made of clickhouse-local: with an HTTP and an interserver port.

Usage: python -S main.py FILE, where FILE is what `Settings.write` wrote.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
import traceback
import uuid
from collections.abc import Mapping
from pathlib import Path
from threading import Thread
from typing import NamedTuple

from support.servers.ladder.local.engine import LocalEngine
from support.servers.ladder.local.memory import become_server
from support.servers.ladder.local.parts import parts_on_disk
from support.servers.ladder.local.pools import enlarge_pools, start_dropping_tables
from support.servers.modern.parts_exchange import PartsExchange
from support.servers.modern.sql_interface import SqlInterface

_HOST = "127.0.0.1"
_WITHOUT_THREADS = "23."
"""Versions that start no work in the background by themselves."""
_END_SECONDS = 5.0
"""How long a statement may keep a server from giving its replicas up when it ends."""


class Settings(NamedTuple):
    """What the program has to know.

    library: that holds clickhouse-local.
    version: what the engine has to call itself.
    folder: for pipes, answers and the log of errors.
    users: name → password.
    """

    library: str
    version: str
    folder: str
    data: str
    config: str
    http_port: int
    interserver_port: int
    macros: Mapping[str, str]
    users: Mapping[str, str]

    def write(self, file: Path) -> None:
        """Write the settings for the program to read."""
        file.write_text(json.dumps(self._asdict(), indent=1))


def main(settings: Settings) -> None:
    """Serve until SIGTERM comes, or the engine ends."""
    # Before there are threads, so that none of them takes it.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    # Listens before tables are loaded: from then on other replicas find this one.
    exchange = PartsExchange(settings.interserver_port, parts_on_disk(Path(settings.data), settings.macros))
    Thread(target=exchange.serve_forever, daemon=True).start()
    library = ctypes.CDLL(settings.library)
    become_server(library, _HOST, settings.interserver_port, uuid.uuid5(uuid.NAMESPACE_URL, settings.folder))
    if settings.version.startswith(_WITHOUT_THREADS):
        enlarge_pools(library)
    engine = LocalEngine(library, Path(settings.folder))
    Thread(target=_answer, args=(settings, library, engine), daemon=True).start()
    engine.serve(Path(settings.config))


def _answer(settings: Settings, library: ctypes.CDLL, engine: LocalEngine) -> None:
    """Answer over HTTP until SIGTERM comes; ends the process."""
    status = 1
    try:
        engine.open()
        if settings.version.startswith(_WITHOUT_THREADS):
            start_dropping_tables(library)
        version = engine.version()
        if version != settings.version:
            raise SystemExit(f"this engine is ClickHouse {version}, not {settings.version}")
        interface = SqlInterface(settings.http_port, engine, version, settings.users)
        Thread(target=interface.serve_forever, daemon=True).start()
        signal.sigwait({signal.SIGTERM})
        engine.close(_END_SECONDS)
        status = 0
    finally:
        _end(status)


def _end(status: int) -> None:
    if status:
        traceback.print_exc(file=sys.stdout)
    sys.stdout.flush()
    # Not by returning: the engine does not survive that the interpreter takes itself down around it.
    os._exit(status)


if __name__ == "__main__":
    try:
        main(Settings(**json.loads(Path(sys.argv[1]).read_text())))
    finally:
        _end(1)
