# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Boot and end hosts from the command line; see docs/internals/staging.md."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from support.servers.tls import TlsFiles

from . import steady
from .base import base
from .carried import pack
from .hosts import create, destroy, publish
from .machine import StagingError
from .zookeeper_archive import make_archive


def main() -> int:
    """Return the exit status: 1 with one sentence on standard error when something could not be done."""
    options = _arguments().parse_args()
    try:
        options.run(options)
    except StagingError as error:
        print(f"staging: {error}", file=sys.stderr)
        return 1
    return 0


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="staging", description=__doc__)
    commands = parser.add_subparsers(required=True)
    prepare = commands.add_parser("prepare", help="build the tree and the packages, if they are not there")
    prepare.set_defaults(run=lambda _options: print(base()))
    boot = commands.add_parser("create", help="boot hosts, and print the path of their inventory")
    boot.add_argument("folder", type=Path)
    boot.add_argument("hosts", nargs="+", help="names; NAME=SUITE for another release of Debian")
    boot.add_argument("--owner", type=int, help="a process that the hosts must not outlive")
    boot.set_defaults(run=lambda options: print(create(options.folder, options.hosts, options.owner)))
    add = commands.add_parser("publish", help="add packages to the repository of the hosts")
    add.add_argument("folder", type=Path)
    add.add_argument("packages", nargs="+", type=Path)
    add.set_defaults(run=lambda options: publish(options.folder, options.packages))
    certify = commands.add_parser("certify", help="make a certificate for hosts, and its authority")
    certify.add_argument("folder", type=Path)
    certify.add_argument("names", nargs="+", help="names and addresses of the hosts")
    certify.set_defaults(run=lambda options: TlsFiles.create(options.folder, *options.names))
    carry = commands.add_parser("carry", help="pack Ansible and the collection for a host")
    carry.add_argument("file", type=Path)
    carry.set_defaults(run=lambda options: print(pack(options.file)))
    archive = commands.add_parser("archive", help="make an archive of ZooKeeper like those of Apache")
    archive.add_argument("file", type=Path)
    archive.set_defaults(run=lambda options: print(make_archive(options.file)))
    write = commands.add_parser(
        "write", help="write to an ensemble until a file is there; print what happened"
    )
    write.add_argument("hosts", help="members as host:port,host:port")
    write.add_argument("tls", type=Path, help="folder of certify")
    write.add_argument("superuser", help="user:password")
    write.add_argument("stop", type=Path)
    write.set_defaults(run=lambda it: print(steady.main(it.hosts, it.tls, it.superuser, it.stop)))
    end = commands.add_parser("destroy", help="end hosts, and remove what was theirs")
    end.add_argument("folder", type=Path)
    end.set_defaults(run=lambda options: destroy(options.folder))
    return parser


if __name__ == "__main__":
    sys.exit(main())
