# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Builds a Debian package of a real server of the ladder, for hosts that boot.

Usage, with this repository's `tests` folder on PYTHONPATH:

    python -m support.servers.ladder.package 24.8 --output FOLDER

It prints the path of the package, which has the name, the unit, the user and the folders of the package of
ClickHouse, and one program only: the server.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from support.servers.downloads import NotToBeHad
from support.servers.ladder import launch
from support.servers.ladder.programs import Program
from support.servers.ladder.rungs import Rung, rung

PACKAGE = "clickhouse-server"
_FILES = Path(__file__).with_name("packaged")
_PLACE = Path("usr/lib/clickhouse")
# File of the folder `packaged` → its path in the package and its mode.
_PACKAGED = {
    "clickhouse-server.service": ("lib/systemd/system/clickhouse-server.service", 0o644),
    "config.xml": ("etc/clickhouse-server/config.xml", 0o644),
    "users.xml": ("etc/clickhouse-server/users.xml", 0o644),
    "postinst": ("DEBIAN/postinst", 0o755),
}
_EMPTY = ("etc/clickhouse-server/config.d", "etc/clickhouse-server/users.d")
_PROGRAM = """\
#!/bin/sh
exec /usr/bin/python3 -S /{launcher} /{library} {entry_point} {name} "$@"
"""
_CONTROL = """\
Package: {package}
Version: {version}
Architecture: amd64
Depends: python3 (>= 3.11), python3 (<< 3.12), passwd
Installed-Size: {kilobytes}
Maintainer: olap.partmove contributors <root@localhost>
Description: server of ClickHouse {version}, made for tests and staging
 The server is in a library of chdb, from the Python package index.
"""


def build_package(version: str, output: Path) -> Path:
    """Build the package of a version such as 24.8 in the folder `output`, and return its path.

    Raises:
        NotToBeHad: this machine does not have the version, or cannot build packages.
    """
    wanted = rung(version)
    if not wanted.real:
        raise NotToBeHad(f"ClickHouse {version} of the ladder is no server: use 24.5 or later")
    if shutil.which("dpkg-deb") is None:
        raise NotToBeHad("no dpkg-deb here: the package is built on Debian 12")
    output.mkdir(parents=True, exist_ok=True)
    package = output / f"{PACKAGE}_{wanted.version}_amd64.deb"
    with tempfile.TemporaryDirectory(dir=output) as folder:
        tree = Path(folder) / "tree"
        library = _add_library(tree, wanted)
        _add_files(tree, library)
        _describe(tree, wanted)
        built = Path(folder) / package.name
        # Not compressed: that takes minutes, and the hosts are on this machine.
        command = ("dpkg-deb", "--root-owner-group", "-Znone", "--build", str(tree), str(built))
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
        if done.returncode != 0:
            raise NotToBeHad(f"{' '.join(command)} failed: {done.stderr.strip()}")
        built.rename(package)
    return package


def _add_library(tree: Path, wanted: Rung) -> Path:
    """Add the library and those that it needs; return its path in the package."""
    library = wanted.library()
    needed = sorted((wanted.folder / f"{library.parent.name}.libs").glob("*"))
    for file in (library, *needed):
        added = tree / _PLACE / file.relative_to(wanted.folder)
        added.parent.mkdir(parents=True, exist_ok=True)
        # A library has up to 864 MB, so a link where the file system allows one.
        try:
            os.link(file, added)
        except OSError:
            shutil.copy(file, added)
    return _PLACE / library.relative_to(wanted.folder)


def _add_files(tree: Path, library: Path) -> None:
    launcher = _PLACE / Path(launch.__file__).name
    name, entry_point = Program.SERVER.value
    text = _PROGRAM.format(launcher=launcher, library=library, entry_point=entry_point, name=name)
    _write(tree / launcher, Path(launch.__file__).read_text(), 0o644)
    _write(tree / "usr/bin" / name, text, 0o755)
    for file, (path, mode) in _PACKAGED.items():
        _write(tree / path, (_FILES / file).read_text(), mode)
    for each in _EMPTY:
        (tree / each).mkdir(parents=True)
    conffiles = sorted(path for path, _mode in _PACKAGED.values() if path.startswith("etc/"))
    _write(tree / "DEBIAN/conffiles", "".join(f"/{path}\n" for path in conffiles), 0o644)


def _describe(tree: Path, wanted: Rung) -> None:
    size = sum(path.stat().st_size for path in tree.rglob("*") if path.is_file())
    text = _CONTROL.format(package=PACKAGE, version=wanted.version, kilobytes=size // 1024)
    _write(tree / "DEBIAN/control", text, 0o644)


def _write(path: Path, text: str, mode: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)


def main() -> int:
    """Build the package and print its path; return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m support.servers.ladder.package",
        description="Build the Debian package of a real server of the ladder and print its path.",
    )
    parser.add_argument("version", help="such as 24.8")
    parser.add_argument(
        "--output", type=Path, required=True, metavar="FOLDER", help="where the package is built"
    )
    options = parser.parse_args()
    try:
        package = build_package(options.version, options.output)
    except (NotToBeHad, ValueError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    sys.stdout.write(f"{package}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
