# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Where the engine of a modern ClickHouse is: the library of the one release of chdb tried here."""

from __future__ import annotations

import platform
import sys
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import NamedTuple

from support.servers.modern.functions import Functions

CLICKHOUSE_VERSION = "26.9.2.1"
"""What the library calls itself; a server that is another one does not start."""

_RELEASES = {"chdb": "4.4.0", "chdb-core": "26.9.0"}
_LIBRARY = "chdb/_chdb.abi3.so"


class NoModernEngine(Exception):
    """Modern servers cannot be had on this machine; the text is a sentence without its full stop."""


class EngineLibrary(NamedTuple):
    """The library, and the functions in it that are replaced in each server."""

    path: Path
    functions: Functions


@cache
def engine_library() -> EngineLibrary:
    """Find the library and look through it, which takes some seconds the first time.

    Raises:
        NoModernEngine: another kind of machine, or the package is not installed or is another release.
        FunctionsNotFound: the library is not built as it was.
    """
    if (sys.platform, platform.machine()) != ("linux", "x86_64"):
        raise NoModernEngine(
            f"modern ClickHouse servers need Linux on x86-64: this is {sys.platform} on {platform.machine()}"
        )
    for package, wanted in _RELEASES.items():
        found = _release(package)
        if found != wanted:
            raise NoModernEngine(
                f"modern ClickHouse servers need {package} {wanted}, and {found or 'none'} is installed: "
                "`make setup` installs it"
            )
    # It needs numpy, which is slow to import: nobody else shall wait for that.
    from support.servers.modern.search import find_functions  # noqa: PLC0415

    path = Path(str(distribution("chdb-core").locate_file(_LIBRARY))).resolve()
    return EngineLibrary(path, find_functions(path))


def _release(package: str) -> str | None:
    try:
        return distribution(package).version
    except PackageNotFoundError:
        return None
