# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Makes an archive of ZooKeeper that is arranged as those of Apache, of the Java packages of this machine."""

from __future__ import annotations

import re
import shutil
import tarfile
import tempfile
import zipfile
from pathlib import Path

from .machine import StagingError

_JARS = Path("/usr/share/java")
_MANIFEST = "META-INF/MANIFEST.MF"
# What the manifest of Debian leaves out: the log, and what TLS and the admin server need besides.
_BESIDES = (
    *("slf4j-log4j12", "log4j-1.2", "servlet-api", "jetty9-util-ajax"),
    *("netty-codec", "netty-resolver", "netty-transport-native-unix-common"),
)


def make_archive(archive: Path) -> Path:
    """Write the archive, and return its path. Raises StagingError without Debian's libzookeeper-java."""
    server = _JARS / "zookeeper.jar"
    if not server.is_file():
        raise StagingError(f"{server} is missing: install libzookeeper-java")
    archive.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        top = Path(name, "apache-zookeeper-bin")
        (top / "lib").mkdir(parents=True)
        for jar in [*_named_in(server), *(_JARS / f"{each}.jar" for each in _BESIDES)]:
            shutil.copyfile(jar, top / "lib" / jar.name)
        _copy_without_manifest(server, top / "lib" / server.name)
        with tarfile.open(archive, "w:gz") as packed:
            packed.add(top, top.name)
    return archive


def _named_in(jar: Path) -> list[Path]:
    """The installed jars that the manifest of a jar names. Its lines are folded after 72 bytes."""
    with zipfile.ZipFile(jar) as opened:
        manifest = re.sub(r"\r?\n ", "", opened.read(_MANIFEST).decode())
    named = re.search(r"^Class-Path: (.*)$", manifest, re.MULTILINE)
    paths = [Path(each) for each in named[1].split()] if named else []
    # Java passes over the others: those of the command line, for example.
    return [path for path in paths if path.is_file()]


def _copy_without_manifest(jar: Path, to: Path) -> None:
    """Otherwise the jar would find the others where Debian has them."""
    with zipfile.ZipFile(jar) as old, zipfile.ZipFile(to, "w") as new:
        for entry in old.infolist():
            if entry.filename != _MANIFEST:
                new.writestr(entry, old.read(entry))
