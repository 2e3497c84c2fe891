# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Builds a Debian package that makes a patched server of the installed clickhouse-server.

Usage, with this repository's `tests` folder on PYTHONPATH:

    python -m clickhouse.patched_server.package [--broken] [--output FOLDER]

It prints the path of the package.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from clickhouse.patched_server.compile import BUILD_DIR, LIBRARY_NAME, PatchedServerError, patched_library

__all__ = ["build_package", "package_version", "stock_package"]

PACKAGE = "clickhouse-server"
_UPSTREAM = "18.16.1"
_LIBRARY = f"usr/lib/{PACKAGE}/{LIBRARY_NAME}"
_DROP_IN = f"lib/systemd/system/{PACKAGE}.service.d/cold-zookeeper.conf"
_SETTING = f"""\
# Preloads the cold-ZooKeeper patch into the server.
[Service]
Environment=LD_PRELOAD=/{_LIBRARY}
"""
_DESCRIPTION = """\
 .
 This package preloads the cold-ZooKeeper patch into the server. It is made
 for tests and staging.
"""

# What the library says of the version it was made for, and a version that no server has.
_MADE_FOR = b"ClickHouse 18.16.1\0"
_MADE_FOR_ANOTHER = b"ClickHouse 18.16.0\0"

_DOWNLOAD_SECONDS = 600


def stock_package() -> Path:
    """Return the path of Debian's package, downloaded once.

    Raises:
        PatchedServerError: apt-get cannot download it, or offers another version of ClickHouse.
    """
    BUILD_DIR.mkdir(parents=True, exist_ok=True)
    pattern = f"{PACKAGE}_{_UPSTREAM}+*.deb"
    with tempfile.TemporaryDirectory(dir=BUILD_DIR) as folder:
        if not list(BUILD_DIR.glob(pattern)):
            _run("apt-get", "download", PACKAGE, cwd=Path(folder), timeout=_DOWNLOAD_SECONDS)
        for file in Path(folder).glob(pattern):
            file.rename(BUILD_DIR / file.name)
    found = sorted(BUILD_DIR.glob(pattern))
    if len(found) != 1:
        raise PatchedServerError(
            f"one {PACKAGE} {_UPSTREAM} was expected in {BUILD_DIR}, there are {len(found)}: "
            "the patch is for the package of Debian 12; remove what does not belong there"
        )
    return found[0]


def package_version(broken: bool = False) -> str:
    """Return the version of the patched package: higher than Debian's, and the broken one higher still.

    Raises:
        PatchedServerError: Debian's package cannot be had.
    """
    stock = _run("dpkg-deb", "--field", str(stock_package()), "Version").strip()
    return f"{stock}+cold{2 if broken else 1}"


def build_package(broken: bool = False) -> Path:
    """Build the package anew and return its path; the same sources give the same bytes.

    Args:
        broken: Build one whose server refuses to start: its library was made for another version.

    Raises:
        PatchedServerError: something that is needed is missing here.
    """
    stock = stock_package()
    library = patched_library()
    version = package_version(broken)
    package = library.with_name(stock.name.replace(version.rpartition("+")[0], version))
    with tempfile.TemporaryDirectory(dir=BUILD_DIR) as folder:
        tree = Path(folder) / "tree"
        _run("dpkg-deb", "--raw-extract", str(stock), str(tree))
        # All files get a time of the stock package at most: the result depends on its content alone.
        newest = max(int(path.lstat().st_mtime) for path in tree.rglob("*"))
        _add_patch(tree, library.read_bytes(), broken)
        _describe(tree, version)
        built = Path(folder) / package.name
        _run(
            *("dpkg-deb", "--root-owner-group", "-Zxz", "--build", str(tree), str(built)),
            environment={"SOURCE_DATE_EPOCH": str(newest)},
        )
        built.rename(package)
    return package


def _add_patch(tree: Path, library: bytes, broken: bool) -> None:
    if broken:
        if library.count(_MADE_FOR) != 1:
            raise PatchedServerError("the library does not say which version of ClickHouse it was made for")
        library = library.replace(_MADE_FOR, _MADE_FOR_ANOTHER)
    for name, content in ((_LIBRARY, library), (_DROP_IN, _SETTING.encode())):
        path = tree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        path.chmod(0o644)
        for folder in path.relative_to(tree).parents:
            (tree / folder).chmod(0o755)
        with (tree / "DEBIAN" / "md5sums").open("a") as sums:
            sums.write(f"{hashlib.md5(content).hexdigest()}  {name}\n")


def _describe(tree: Path, version: str) -> None:
    control = tree / "DEBIAN" / "control"
    fields = []
    for line in control.read_text().splitlines(keepends=True):
        name, _colon, value = line.partition(":")
        if name == "Version":
            fields.append(f"Version: {version}\n")
        elif name == "Maintainer":
            fields.append(f"Maintainer: olap.partmove contributors <root@localhost>\nOriginal-{line}")
        elif name == "Installed-Size":
            added = sum((tree / each).stat().st_size for each in (_LIBRARY, _DROP_IN))
            fields.append(f"Installed-Size: {int(value) + added // 1024 + 1}\n")
        else:
            fields.append(line)
    control.write_text("".join(fields) + _DESCRIPTION)


def _run(
    *command: str, cwd: Path | None = None, environment: dict[str, str] | None = None, timeout: float = 300.0
) -> str:
    if shutil.which(command[0]) is None:
        raise PatchedServerError(f"no {command[0]} here: the package is built on Debian 12")
    done = subprocess.run(
        command,
        cwd=cwd,
        env={**os.environ, **(environment or {})},
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    if done.returncode != 0:
        raise PatchedServerError(f"{' '.join(command)} failed: {done.stderr.strip()}")
    return done.stdout


def _main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m clickhouse.patched_server.package",
        description="Build the Debian package of the patched server and print its path.",
    )
    parser.add_argument("--broken", action="store_true", help="build one whose server refuses to start")
    parser.add_argument("--output", type=Path, metavar="FOLDER", help="copy the package to this folder")
    options = parser.parse_args()
    try:
        package = build_package(options.broken)
    except PatchedServerError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    if options.output is not None:
        options.output.mkdir(parents=True, exist_ok=True)
        package = Path(shutil.copy(package, options.output))
    sys.stdout.write(f"{package}\n")
    return 0


if __name__ == "__main__":
    sys.exit(_main())
