# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The engine of clickhouse-local inside this process, which runs one statement after the other.

It reads statements from files, one after the other. Here each file is a named pipe: once the engine opens the
next one, the statement before it has come to its end.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Lock

from support.servers.ladder.local.statement import (
    explains_alter,
    explanation_into_file,
    gives_rows,
    into_file,
    on_one_line,
    refusal,
    without_own_format,
)
from support.servers.modern.engine import QueryFailed, quoted, setting_assignments

_MAIN = "_Z24mainEntryClickHouseLocaliPPc"
_STATEMENTS = 20_000
"""As many as a server runs before it has to be started again."""
_NO_TABLE = "system.server_settings"
"""22.12 lacks the table, and 23.10 dies of a query for it."""


class LocalEngine:
    """ClickHouse on a data folder. `serve` is for the main thread, all else for other ones."""

    def __init__(self, library: ctypes.CDLL, folder: Path) -> None:
        """Take a library that was made a server; pipes and answers are in `folder`."""
        self._library = library
        self._pipes = folder / "pipes"
        self._pipes.mkdir(parents=True, exist_ok=True)
        self._answer = folder / "answer"
        self._written = folder / "written.log"
        self._lock = Lock()
        self._defaults: dict[str, str] = {}
        self._changed: dict[str, str] = {}
        self._number = -1
        self._pipe = -1
        self._make_pipe(0)

    def serve(self, config: Path) -> None:
        """Run statements until there were too many; what the engine writes goes into a file."""
        with self._written.open("wb") as written:
            os.dup2(written.fileno(), 2)
        files = [f"--queries-file={self._pipes / str(number)}" for number in range(_STATEMENTS)]
        arguments = ["clickhouse-local", f"--config-file={config}", "--ignore-error", *files]
        argv = (ctypes.c_char_p * (len(arguments) + 1))(*map(os.fsencode, arguments), None)
        status = self._library[_MAIN](len(arguments), argv)
        raise SystemExit(
            f"clickhouse-local ended with status {status} after {self._number} statements: "
            f"{self._written.read_text(errors='replace')}"
        )

    def open(self) -> None:
        """Wait until all tables of the folder are loaded, and make the database `default`."""
        self._next()
        for statement in ("CREATE DATABASE IF NOT EXISTS default", "USE default"):
            self.run(statement)

    def version(self) -> str:
        """What the engine calls itself."""
        return self.run("SELECT version()").decode().strip()

    def run(self, sql: str, form: str = "TabSeparated", settings: Mapping[str, str] | None = None) -> bytes:
        """Run a statement and return what it gives, in the format that it names or in `form`.

        Raises:
            QueryFailed: the engine refuses it, or a setting.
        """
        if _NO_TABLE in sql:
            raise QueryFailed(f"Code: 60. DB::Exception: Table {_NO_TABLE} does not exist. (UNKNOWN_TABLE)")
        with self._lock:
            self._set(dict(settings or {}))
            return self._run(sql, form)

    def close(self, seconds: float) -> None:
        """Give the replicas of all tables up in an orderly way, unless a statement lasts longer than that."""
        if not self._lock.acquire(timeout=seconds):
            return
        tables = self._run("SELECT database, table FROM system.replicas", "TSVRaw")
        for line in tables.decode().splitlines():
            database, table = line.split("\t")
            self._run(f"DETACH TABLE {quoted(database, '`')}.{quoted(table, '`')}")

    def _set(self, settings: dict[str, str]) -> None:
        """Let these settings be those of the next statement, and others what they were in the beginning."""
        setting_assignments(settings)
        unknown = [name for name in settings if name not in self._defaults]
        self._defaults.update(self._values(unknown))
        wanted = {name: settings.get(name, self._defaults[name]) for name in {*settings, *self._changed}}
        other = {name: value for name, value in wanted.items() if value != self._value_now(name)}
        if other:
            self._run(f"SET {setting_assignments(other)}")
        self._changed = settings

    def _value_now(self, name: str) -> str:
        return self._changed.get(name, self._defaults[name])

    def _values(self, names: Sequence[str]) -> dict[str, str]:
        """The settings as they are. None of the names is more than a name."""
        if not names:
            return {}
        columns = ", ".join(f"toString(getSetting({quoted(name)}))" for name in names)
        values = self._run(f"SELECT {columns}", "TSVRaw").decode().removesuffix("\n").split("\t")
        return dict(zip(names, values, strict=True))

    def _run(self, sql: str, form: str = "TabSeparated") -> bytes:
        if explains_alter(sql):
            # What is incomplete would go on with the FORMAT.
            self._give(sql)
            answer = self._give(explanation_into_file(sql, form, self._answer))
            return without_own_format(sql, self._required(answer, sql))
        if gives_rows(sql):
            return self._required(self._give(into_file(sql, form, self._answer)), sql)
        return self._give(on_one_line(sql)) or b""

    def _give(self, text: str) -> bytes | None:
        """Let the engine read the text, and return what the file of answers has then."""
        written = self._written.stat().st_size
        os.write(self._pipe, text.encode())
        self._next()
        answer = self._take_answer()
        if refused := refusal(self._written_since(written)):
            raise QueryFailed(refused)
        return answer

    def _required(self, answer: bytes | None, sql: str) -> bytes:
        if answer is None:
            raise QueryFailed(f"the engine gave no answer and no reason: {sql}")
        return answer

    def _next(self) -> None:
        """End what the engine reads, and wait until it reads the next pipe."""
        number = self._number + 1
        if self._pipe >= 0:
            self._make_pipe(number)
            os.close(self._pipe)
        pipe = self._pipes / str(number)
        self._pipe = os.open(pipe, os.O_WRONLY)
        self._number = number
        pipe.unlink()

    def _make_pipe(self, number: int) -> None:
        pipe = self._pipes / str(number)
        pipe.unlink(missing_ok=True)
        os.mkfifo(pipe)

    def _take_answer(self) -> bytes | None:
        if not self._answer.exists():
            return None
        answer = self._answer.read_bytes()
        self._answer.unlink()
        return answer

    def _written_since(self, place: int) -> str:
        with self._written.open("rb") as written:
            written.seek(place)
            return written.read().decode(errors="replace")
