# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The engine inside this process: it is loaded here, and answers one statement at a time for each caller."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

from support.servers.modern.functions import Functions, replace_functions

_CODE = re.compile(r"Code: (\d+)\.")
_UNKNOWN_EXCEPTION = 1002
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_BAD_ARGUMENTS = 36


class QueryFailed(Exception):
    """The engine refused a statement; `code` is the number of its error, the text begins with it."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        code = _CODE.search(text)
        self.code = int(code[1]) if code else _UNKNOWN_EXCEPTION


class Engine:
    """ClickHouse on a data folder; the folder has no other engine, and the process no second one."""

    def __init__(self, library: Path, functions: Functions, host: str, port: int) -> None:
        """Load the library, which lasts 0.3 s, and make other replicas find this process at host and port."""
        # Not the package chdb: importing it starts an engine without configuration, and needs pandas.
        spec = spec_from_file_location("_chdb", library, loader=ExtensionFileLoader("_chdb", str(library)))
        assert spec is not None
        assert spec.loader is not None
        self._library: Any = module_from_spec(spec)
        spec.loader.exec_module(self._library)
        replace_functions(library, functions, host, port)
        self._place = ""
        self._first: Any = None

    def open(self, data: Path, config: Path) -> None:
        """Start with the configuration file, and load all tables of the folder."""
        self._place = f"{data}?config-file={config}"
        # The engine lives as long as a connection is open.
        self._first = self._library.connect(self._place)

    def version(self) -> str:
        """What the engine calls itself."""
        return self.run("SELECT version()").decode().strip()

    def run(self, sql: str, form: str = "TabSeparated", settings: Mapping[str, str] | None = None) -> bytes:
        """Run a statement and return what it gives, in the format that it names or in `form`.

        The interpreter goes on meanwhile: threads may run statements at the same time.

        Raises:
            QueryFailed: the engine refuses it, or a setting.
        """
        # Made in less than a millisecond. Statements on the same one would wait for each other.
        connection = self._library.connect(self._place)
        try:
            if settings:
                connection.query(f"SET {setting_assignments(settings)}", "Null")
            return bytes(connection.query(sql, form).bytes())
        except RuntimeError as error:
            raise QueryFailed(str(error)) from None
        finally:
            connection.close()

    def close(self) -> None:
        """Give the replicas of all tables up in an orderly way, as a server does that ends.

        The sessions with ZooKeeper end with the process. The engine itself is not closed: that never ends.
        """
        tables = self.run("SELECT database, table FROM system.replicas", "JSONCompactEachRow")
        for line in tables.splitlines():
            database, table = json.loads(line)
            self.run(f"DETACH TABLE {quoted(database, '`')}.{quoted(table, '`')}")


def setting_assignments(settings: Mapping[str, str]) -> str:
    """What follows SET in a statement.

    Raises:
        QueryFailed: a name is that of no setting.
    """
    for name in settings:
        if not _NAME.fullmatch(name):
            raise QueryFailed(
                f"Code: {_BAD_ARGUMENTS}. DB::Exception: {name!r} is no setting. (BAD_ARGUMENTS)"
            )
    return ", ".join(f"{name} = {quoted(value)}" for name, value in settings.items())


def quoted(text: str, mark: str = "'") -> str:
    """The text as a string of SQL, or as a name with the mark of names, a back quote."""
    return mark + text.replace("\\", "\\\\").replace(mark, "\\" + mark) + mark
