# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The trees that hosts are overlays of, and the packages they can install. Built once, then cached."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .machine import STAGING, StagingError, run

MIRROR = os.environ.get("STAGING_MIRROR", "http://deb.debian.org/debian")
SUITE = "bookworm"
"""Release of Debian that a host has unless it is said, and of the packages that hosts can install."""

# What a freshly installed server has; a JRE besides, because it is the larger part of what would be
# installed on each host otherwise.
_INSTALLED = (
    *("ca-certificates", "dbus", "iproute2", "openssh-server", "openssl", "procps", "sudo"),
    *("systemd", "systemd-sysv", "python3", "python3-apt", "python3-lxml", "default-jre-headless"),
)
# The package zookeeper asks for a whole JRE. What that has besides, for windows and sounds, is more than a
# hundred packages that no host needs.
_WHOLE_JRE = """\
Package: default-jre
Version: 99
Architecture: all
Depends: default-jre-headless
Maintainer: nobody <nobody@localhost>
Description: stands in for the JRE with windows and sounds
"""
# What roles and scenarios install from the repository on the bridge. What these depend on is in the tree:
# that is most of what there is to unpack, and each host would do so.
_OFFERED = (
    *("zookeeper", "zookeeperd", "clickhouse-server", "clickhouse-client"),
    # For hosts that install RPM packages.
    *("createrepo-c", "dnf", "dnf-plugins-core", "rpm"),
)

_MASKED = (
    *("apt-daily.timer", "apt-daily-upgrade.timer", "dpkg-db-backup.timer", "e2scrub_all.timer"),
    *("systemd-networkd-wait-online.service", "console-getty.service", "getty.target"),
    # Each holds an inotify instance, and all hosts of a machine share the 128 of root.
    *("systemd-ask-password-console.path", "systemd-ask-password-wall.path"),
)
_REMOVED = ("etc/apt/sources.list", "etc/hostname", "etc/resolv.conf", "var/lib/dbus/machine-id")


def base(suite: str = SUITE) -> Path:
    """Return the folder with tree/ and packages/, built now, in two minutes, if it is not there.

    suite: a release of Debian. Only the usual one has packages.
    """
    content = "\n".join((MIRROR, suite, *_INSTALLED, "--", *_OFFERED, Path(__file__).read_text()))
    folder = STAGING / f"base-{hashlib.sha256(content.encode()).hexdigest()[:12]}"
    STAGING.mkdir(parents=True, exist_ok=True)
    with locked(STAGING / "base.lock"):
        if not folder.exists():
            _build(folder, suite)
    return folder


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a lock that other processes wait for."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def index(folder: Path, pool: str) -> str:
    """Return the entries that apt needs to know of the packages in folder/pool."""
    text = run("sh", "-c", 'dpkg-scanpackages --multiversion "$0" 2>/dev/null', pool, cwd=folder)
    if not text.strip():
        raise StagingError(f"{folder / pool} has no packages")
    return text


def _build(folder: Path, suite: str) -> None:
    unfinished = folder.with_suffix(".unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    tree, packages = unfinished / "tree", unfinished / "packages"
    tree.mkdir(parents=True)
    packages.mkdir()
    include = f"--include={','.join(_INSTALLED)}"
    run("debootstrap", "--variant=minbase", include, suite, str(tree), MIRROR)
    if suite == SUITE:
        _stand_in_for_whole_jre(tree)
        _download(tree, packages)
        (unfinished / "Packages").write_text(index(unfinished, "packages"))
    _finish(tree)
    unfinished.rename(folder)


def _stand_in_for_whole_jre(tree: Path) -> None:
    made = tree / "tmp" / "default-jre"
    (made / "DEBIAN").mkdir(parents=True)
    (made / "DEBIAN" / "control").write_text(_WHOLE_JRE)
    run("chroot", str(tree), "dpkg-deb", "--build", "/tmp/default-jre", "/tmp/default-jre.deb")
    run("chroot", str(tree), "dpkg", "--install", "/tmp/default-jre.deb")
    shutil.rmtree(made)
    made.with_suffix(".deb").unlink()


def _download(tree: Path, packages: Path) -> None:
    """Have the apt of the tree say what the offered packages need, and install that, but not them."""
    apt = ("chroot", str(tree), "apt-get", "--yes", "--no-install-recommends")
    run(*apt, "clean")
    run(*apt, "--download-only", "install", *_OFFERED)
    archives = (tree / "var/cache/apt/archives").glob("*.deb")
    needed = sorted({file.name.partition("_")[0] for file in archives}.difference(_OFFERED))
    run(*apt, "install", *needed, env={"DEBIAN_FRONTEND": "noninteractive"})
    for file in (tree / "var/cache/apt/archives").glob("*.deb"):
        # apt writes the colon of an epoch as %3a, which a server would take for an escape.
        shutil.move(file, packages / file.name.replace("%3a", "_"))


def _finish(tree: Path) -> None:
    """Make the tree one that many hosts can be made of: nothing in it is that of one host."""
    for name in _REMOVED:
        (tree / name).unlink(missing_ok=True)
    for key in (tree / "etc/ssh").glob("ssh_host_*"):
        key.unlink()
    for lists in (tree / "var/lib/apt/lists").iterdir():
        if lists.is_file():
            lists.unlink()
    # As old as can be, or apt's users would take the empty lists for fresh ones.
    os.utime(tree / "var/lib/apt/lists", (0, 0))
    # Empty, not missing: a missing one makes systemd take this for the first boot of an appliance.
    (tree / "etc/machine-id").write_text("")
    # Hosts do not outlive the run: nothing is gained by waiting for the disk.
    (tree / "etc/dpkg/dpkg.cfg.d/staging").write_text("force-unsafe-io\n")
    run("systemctl", f"--root={tree}", "enable", "systemd-networkd.service")
    run("systemctl", f"--root={tree}", "mask", *_MASKED)
