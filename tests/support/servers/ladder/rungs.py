# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""ClickHouse of several versions, got once from the Python package index and kept below build.

Releases of chdb from 2 to 3 hold the whole multi-tool of ClickHouse in one library, with its entry points:
real servers. Older ones hold the part of it that clickhouse-local needs.

Usage: python -m support.servers.ladder.rungs [VERSION …], such as 24.8; without any, those of `make test`.
"""

from __future__ import annotations

import platform
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import NamedTuple

from support.servers.downloads import Kept, NotToBeHad, pip_download

FOLDER = Path(__file__).resolve().parents[4] / "build" / "servers"
"""Has a folder with the libraries for each version, and beside it a file that says why there is none."""

_PLATFORMS = ("manylinux_2_17_x86_64", "manylinux2014_x86_64")
_LIBRARY_BYTES = 100_000_000
"""The library with the server is far larger than this, and all others are far smaller."""


class Rung(NamedTuple):
    """A version of ClickHouse, and the release of chdb that holds it.

    sha256: of the wheel.
    stable: whether the library needs no certain version of Python.
    in_every_test: whether `make test` runs tests with it.
    real: whether the library holds the server; otherwise it holds clickhouse-local, which is made one.
    """

    version: str
    chdb: str
    sha256: str
    stable: bool = False
    in_every_test: bool = False
    real: bool = True

    @property
    def name(self) -> str:
        """Year and month of the version, such as 24.8."""
        return ".".join(self.version.split(".")[:2])

    @property
    def folder(self) -> Path:
        """Where its libraries are kept."""
        return FOLDER / self.version

    def library(self) -> Path:
        """The library that holds the server, or clickhouse-local.

        Raises:
            NotToBeHad: there is none, with what `provide` found out, or Python cannot load it.
        """
        _require_this_machine(self)
        found = _server_library(self.folder)
        if found is None:
            raise self._kept.absence(f" RUNGS={self.name}")
        return found

    def provide(self) -> str:
        """Get what is missing, and return one line that says what there is."""
        return self._kept.provide(self._get_what_is_missing)

    @property
    def _kept(self) -> Kept:
        return Kept("servers", "ClickHouse", self.folder)

    def _get_what_is_missing(self) -> None:
        _require_this_machine(self)
        if _server_library(self.folder) is None:
            self._get()

    def _get(self) -> None:
        with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
            wheel = _download(self, Path(folder))
            unpacked = Path(folder, "unpacked")
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(
                    unpacked, [name for name in archive.namelist() if ".so" in Path(name).name]
                )
            if _server_library(unpacked) is None:
                raise NotToBeHad(f"chdb {self.chdb} has no library of a server")
            unpacked.rename(self.folder)


RUNGS = (
    Rung(
        "22.12.1.1",
        "0.8.0",
        "80b91c8063c7485b54af442b47161efaf2763c7726edb00a45cf9a3c054bca42",
        in_every_test=True,
        real=False,
    ),
    Rung(
        "23.6.1.1", "0.15.0", "1132dbb506bdc1dd40ba2966094a014b57d2bfd2132fbf7509a10bf0b5f6f9c0", real=False
    ),
    Rung(
        "23.10.1.1", "1.4.1", "5cf61e9b791f85ae98a7150f27512d45316775ffc452d98f16222fc47d1b876e", real=False
    ),
    Rung("24.5.1.1", "2.0.4", "f2881e588ec1bb0086188119b2f2eb4a1d01e71b9546969d25b90538afd5d7f3"),
    Rung(
        "24.8.4.1",
        "3.3.0",
        "cb986a0165496aa5e7f24339aaa869b2138e8bf6589b516aabc8d1da1825f175",
        in_every_test=True,
    ),
    Rung(
        "25.5.2.1", "3.6.0", "0e45613df99ea35221693e353c47acb99b7d1ce0c2409e271c24c2ffc993159a", stable=True
    ),
    Rung(
        "25.8.2.1",
        "3.7.2",
        "c119f0830c12438a4e4b60b8370859ba50992e8b1b01a8c681e1c57eeb2dc82d",
        stable=True,
        in_every_test=True,
    ),
)
"""From the oldest to the newest."""
USUAL = tuple(each.name for each in RUNGS if each.in_every_test and each.real)
"""The versions of real servers in `make test WHOLE=1`, from the oldest to the newest."""
NEWEST = USUAL[-1]
"""`make test` runs all files of the ladder with it, and with the other versions what has the mark `smoke`."""


def rung(version: str) -> Rung:
    """The rung of a version such as 24.8 or 24.8.4.1.

    Raises:
        ValueError: there is none; with those that there are.
    """
    for each in RUNGS:
        if version in (each.name, each.version):
            return each
    raise ValueError(
        f"no server of ClickHouse {version}: there are those of {', '.join(each.name for each in RUNGS)}"
    )


def _require_this_machine(wanted: Rung) -> None:
    if (sys.platform, platform.machine()) != ("linux", "x86_64"):
        raise NotToBeHad(f"it needs Linux on x86-64: this is {sys.platform} on {platform.machine()}")
    if not wanted.stable and sys.version_info[:2] != (3, 11):
        raise NotToBeHad("its library needs Python 3.11: `make setup PYTHON=python3.11` uses it")


def _server_library(folder: Path) -> Path | None:
    large = [path for path in folder.glob("chdb/*.so") if path.stat().st_size > _LIBRARY_BYTES]
    return large[0] if len(large) == 1 else None


def _download(wanted: Rung, folder: Path) -> Path:
    """Get the wheel, 110 to 180 MB; pip refuses it where its hash is another one."""
    requirements = folder / "requirements.txt"
    requirements.write_text(f"chdb=={wanted.chdb} --hash=sha256:{wanted.sha256}\n")
    platforms = [f"--platform={each}" for each in _PLATFORMS]
    pip_download(
        "--only-binary=:all:",
        "--python-version=3.11",
        "--implementation=cp",
        *platforms,
        "--require-hashes",
        f"--requirement={requirements}",
        f"--dest={folder}",
    )
    (wheel,) = folder.glob("*.whl")
    return wheel


def main() -> None:
    """Get what is missing, and say what there is and what cannot be had."""
    versions = sys.argv[1:]
    wanted = [rung(each) for each in versions] if versions else [each for each in RUNGS if each.in_every_test]
    for each in wanted:
        sys.stdout.write(f"{each.provide()}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
