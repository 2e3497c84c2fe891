# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The program of one modern server: the engine, its HTTP interface, and the port that replicas fetch from.

Usage: python main.py FILE, where FILE is what `Settings.write` wrote.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from threading import Thread
from typing import NamedTuple

from support.servers.modern.engine import Engine
from support.servers.modern.functions import Function, Functions
from support.servers.modern.parts_exchange import PartsExchange, parts_of
from support.servers.modern.sql_interface import SqlInterface


class Settings(NamedTuple):
    """What the program has to know.

    library, functions: of the engine, see `library.engine_library`.
    version: what the engine has to call itself.
    users: name → password.
    """

    library: str
    functions: Functions
    version: str
    data: str
    config: str
    http_port: int
    interserver_port: int
    users: Mapping[str, str]

    def write(self, file: Path) -> None:
        """Write the settings for the program to read."""
        file.write_text(json.dumps(self._asdict(), indent=1))

    @classmethod
    def read(cls, file: Path) -> Settings:
        """Read what `write` wrote."""
        given = json.loads(file.read_text())
        given["functions"] = Functions(*(Function(*each) for each in given["functions"]))
        return cls(**given)


def main(settings: Settings) -> None:
    """Serve until SIGTERM comes."""
    # Before there are threads, so that none of them takes it.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    engine = Engine(Path(settings.library), settings.functions, "127.0.0.1", settings.interserver_port)
    # Listens before tables are loaded: from then on other replicas find this one.
    exchange = PartsExchange(settings.interserver_port, parts_of(engine))
    engine.open(Path(settings.data), Path(settings.config))
    Thread(target=exchange.serve_forever, daemon=True).start()
    if (version := engine.version()) != settings.version:
        raise SystemExit(f"this engine is ClickHouse {version}, and only {settings.version} was tried")
    interface = SqlInterface(settings.http_port, engine, version, settings.users)
    Thread(target=interface.serve_forever, daemon=True).start()
    signal.sigwait({signal.SIGTERM})
    engine.close()


if __name__ == "__main__":
    try:
        main(Settings.read(Path(sys.argv[1])))
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        # Not by returning: the engine does not survive that the interpreter takes itself down around it.
        os._exit(1 if sys.exc_info()[0] else 0)
