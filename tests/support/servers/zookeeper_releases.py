# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Other releases of ZooKeeper than pyspark and Debian 12 have, got once: their jars are kept below build.

Usage: python -m support.servers.zookeeper_releases
"""

from __future__ import annotations

import re
import shutil
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import NamedTuple

from support.servers.downloads import Kept, NotToBeHad, pip_download, run_command

FOLDER = Path(__file__).resolve().parents[3] / "build" / "zookeepers"
"""Has a folder with jars for each release, and beside it a file that says why there is none."""

# Releases before 3.7 use classes of the second Commons Lang, which pyspark has no more.
_JAR = re.compile(r"(?:(?:flink-shaded-)?zookeeper(?:-jute)?-[0-9.]+|commons-lang-2\.6)\.jar")
_REPOSITORY = "$(ORIGIN) $(LABEL) $(REPO_URI)"


class Release(NamedTuple):
    """A release, and the package that has it."""

    version: str
    package: str
    origin: str
    """The suite of Debian that has the package, or the version of it in the Python package index."""
    prefix: str = ""
    """Where the Java packages of it are."""

    @property
    def folder(self) -> Path:
        """Where its jars are kept."""
        return FOLDER / self.version

    @property
    def main_class(self) -> str:
        """What is run as a server."""
        return f"{self.prefix}org.apache.zookeeper.server.quorum.QuorumPeerMain"

    def jars(self) -> list[Path]:
        """Its jars; raises NotToBeHad where there are none, with what `provide` found out."""
        found = sorted(self.folder.glob("*.jar"))
        if not found:
            raise self._kept.absence()
        return found

    def provide(self) -> str:
        """Get what is missing, and return one line that says what there is."""
        return self._kept.provide(self._get_what_is_missing)

    @property
    def _kept(self) -> Kept:
        return Kept("zookeepers", "ZooKeeper", self.folder)

    def _get_what_is_missing(self) -> None:
        if not any(self.folder.glob("*.jar")):
            self._get()

    def _get(self) -> None:
        download = _from_index if self.origin[0].isdigit() else _from_debian
        with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
            jars = Path(folder, "jars")
            jars.mkdir()
            download(self, Path(folder), jars)
            if not any(self.version in jar.name for jar in jars.iterdir()):
                raise NotToBeHad(f"{self.package} of {self.origin} has another one")
            jars.rename(self.folder)


RELEASES = (
    Release("3.4.13", "libzookeeper-java", "bullseye"),
    Release("3.5.9", "apache-flink-libraries", "1.16.3", prefix="org.apache.flink.shaded.zookeeper3."),
    Release("3.6.2", "pyspark", "3.3.4"),
)


def _from_debian(release: Release, folder: Path, jars: Path) -> None:
    """Ask the mirror of this machine for the package of another suite; what apt knows here stays as it is."""
    if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
        raise NotToBeHad("this machine has no apt-get")
    known = run_command("apt-get", "indextargets", "--format", _REPOSITORY).splitlines()
    mirrors = [line.split()[2] for line in known if line.startswith("Debian Debian ")]
    if not mirrors:
        raise NotToBeHad("apt has no mirror of Debian here")
    key = "/usr/share/keyrings/debian-archive-keyring.gpg"
    (folder / "sources.list").write_text(f"deb [signed-by={key}] {mirrors[0]} {release.origin} main\n")
    for name in ("state/lists/partial", "cache/archives/partial"):
        (folder / name).mkdir(parents=True)
    settings = {
        "Dir::Etc::SourceList": folder / "sources.list",
        "Dir::Etc::SourceParts": "/dev/null",
        "Dir::State": folder / "state",
        "Dir::Cache": folder / "cache",
        "APT::Sandbox::User": "root",
        "Acquire::Languages": "none",
    }
    apt = ["apt-get", "--quiet", *(f"--option={name}={value}" for name, value in settings.items())]
    run_command(*apt, "update", "--error-on=any")
    run_command(*apt, "download", f"{release.package}/{release.origin}", cwd=folder)
    (package,) = folder.glob("*.deb")
    run_command("dpkg-deb", "--extract", str(package), str(folder / "package"))
    for jar in (folder / "package" / "usr/share/java").iterdir():
        if _JAR.fullmatch(jar.name) and not jar.is_symlink():
            jar.rename(jars / jar.name)


def _from_index(release: Release, folder: Path, jars: Path) -> None:
    """Get the source archive of the package, some 250 MB, and keep the jars of it that are needed."""
    wanted = f"{release.package}=={release.origin}"
    pip_download(f"--no-binary={release.package}", f"--dest={folder}", wanted)
    (archive,) = folder.glob("*.tar.gz")
    with tarfile.open(archive) as members:
        for member in members:
            name = Path(member.name).name
            content = members.extractfile(member) if _JAR.fullmatch(name) and member.isreg() else None
            if content is not None:
                (jars / name).write_bytes(content.read())


def main() -> None:
    """Get what is missing, and say what there is and what cannot be had."""
    for release in RELEASES:
        sys.stdout.write(f"{release.provide()}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
