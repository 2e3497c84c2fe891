# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Compiles the library that makes a patched server of Debian's ClickHouse 18.16.1."""

from __future__ import annotations

import fcntl
import hashlib
import shutil
import subprocess
from pathlib import Path

__all__ = ["BUILD_DIR", "LIBRARY_NAME", "NoCompilerError", "PatchedServerError", "patched_library"]

LIBRARY_NAME = "libclickhouse-cold-zookeeper.so"

_SOURCES = Path(__file__).parent / "library"

# Everything that is built or downloaded for the patched server.
BUILD_DIR = Path(__file__).parents[3] / "build" / "patched_server"

_FLAGS = (
    *("-std=c++17", "-O2", "-fPIC", "-shared", "-fvisibility=hidden", "-pthread"),
    *("-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror"),
)

_COMPILE_SECONDS = 900


class PatchedServerError(RuntimeError):
    """The library or the package cannot be built here; the text says what is missing."""


class NoCompilerError(PatchedServerError):
    """This machine has no C++ compiler."""


def patched_library() -> Path:
    """Return the path of the compiled library; compile it when the sources have changed.

    Raises:
        NoCompilerError: the library is not compiled yet, and there is no compiler.
        PatchedServerError: the compiler refuses the sources.
    """
    sources = sorted([*_SOURCES.glob("*.cpp"), *_SOURCES.glob("*.h")])
    digest = hashlib.sha256(" ".join(_FLAGS).encode())
    for source in sources:
        digest.update(source.name.encode() + b"\0" + source.read_bytes() + b"\0")
    # A folder per state of the sources: a server that still runs on an older library keeps its file.
    library = BUILD_DIR / digest.hexdigest()[:16] / LIBRARY_NAME
    library.parent.mkdir(parents=True, exist_ok=True)
    with (BUILD_DIR / "compile.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not library.exists():
            _compile([source for source in sources if source.suffix == ".cpp"], library)
    return library


def _compile(sources: list[Path], library: Path) -> None:
    compiler = shutil.which("g++")
    if compiler is None:
        raise NoCompilerError("no g++ here: run `make setup`, or apt-get install g++")
    unfinished = library.with_suffix(".new")
    command = [compiler, *_FLAGS, "-o", str(unfinished), *map(str, sources), "-ldl"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=_COMPILE_SECONDS, check=False)
    if done.returncode != 0:
        raise PatchedServerError(f"g++ refused the patched server's library:\n{done.stderr}")
    unfinished.rename(library)
