# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Programs of the multi-tool ClickHouse, in a version of the ladder."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from enum import Enum
from pathlib import Path

from support.servers.downloads import NotToBeHad
from support.servers.ladder import launch
from support.servers.ladder.rungs import rung

_SECONDS = 120
ENVIRONMENT = {"CLICKHOUSE_WATCHDOG_ENABLE": "0"}
"""Of every program: otherwise the server would be a child of the process that was started."""


class Program(Enum):
    """A program: its name, and the function of the library that is its main."""

    SERVER = "clickhouse-server", "_Z25mainEntryClickHouseServeriPPc"
    CLIENT = "clickhouse-client", "_Z25mainEntryClickHouseClientiPPc"
    EXTRACT_FROM_CONFIG = (
        "clickhouse-extract-from-config",
        "_Z36mainEntryClickHouseExtractFromConfigiPPc",
    )


class ProgramFailed(RuntimeError):
    """A program ended with an error; the text is what it wrote."""


def command(version: str, program: Program, *arguments: str) -> tuple[str, ...]:
    """The command that runs a program; it needs `ENVIRONMENT`.

    version: such as 24.8.

    Raises:
        NotToBeHad: this machine does not have the version, or the version has clickhouse-local alone.
    """
    name, entry_point = program.value
    wanted = rung(version)
    if not wanted.real:
        raise NotToBeHad(f"there is no {name} {wanted.version}")
    library = str(wanted.library())
    return (sys.executable, "-S", launch.__file__, library, entry_point, name, *arguments)


def run_program(version: str, program: Program, arguments: Sequence[str], given: str = "") -> str:
    """Run a program to its end, with `given` as its standard input, and return its standard output.

    Raises:
        ProgramFailed: it wrote an error.
        NotToBeHad: this machine does not have the version.
    """
    done = subprocess.run(
        command(version, program, *arguments),
        input=given,
        env={**os.environ, **ENVIRONMENT},
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        check=False,
    )
    if done.returncode:
        raise ProgramFailed((done.stderr or done.stdout).strip())
    return done.stdout


def extract_from_config(version: str, config_path: Path, key: str, *, users: bool = False) -> str | None:
    """What a server of the version reads as the value of a key, in a configuration with all its includes.

    key: such as zookeeper.node[1].host. With a * in it (zookeeper.*) all values are returned, a line each.
    users: look the key up in the configuration of users, see `--help` of a version.
    The program writes CONFIG-preprocessed.xml beside the configuration.

    Returns None where there is no such key.

    Raises:
        ProgramFailed: ClickHouse cannot read the configuration; the text is its own.
        NotToBeHad: this machine does not have the version.
    """
    arguments = [f"--config-file={config_path}", f"--key={key}", *(["--users"] if users else [])]
    try:
        return run_program(version, Program.EXTRACT_FROM_CONFIG, arguments).removesuffix("\n")
    except ProgramFailed as error:
        if f"Not found: {key} " in str(error):
            return None
        raise


def client(version: str, tcp_port: int, sql: str, *arguments: str) -> str:
    """Run a statement with clickhouse-client over the native protocol, and return what it writes.

    The client of chdb writes rows nowhere by itself: a SELECT needs INTO OUTFILE '/dev/stdout' APPEND.

    Raises:
        ProgramFailed: the client or the server refused it.
        NotToBeHad: this machine does not have the version.
    """
    connection = ["--host=127.0.0.1", f"--port={tcp_port}", *arguments]
    return run_program(version, Program.CLIENT, [*connection, f"--query={sql}"])
