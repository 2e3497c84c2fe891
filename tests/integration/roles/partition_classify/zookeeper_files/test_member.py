# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The tree that the files of real servers give is the tree that a client sees."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest
from kazoo.client import KazooClient

from support.files.member_files import tree_of
from support.servers.busy_znodes import create_special, keep_busy, seen
from support.servers.process import ServerError
from support.servers.zookeeper import Ensemble, EnsembleOptions

Connect = Callable[[str], KazooClient]


class Kind(NamedTuple):
    """A release of ZooKeeper, and how it writes its files."""

    debian: bool
    compression: str = ""
    digest: bool = True
    paths_of_closed_sessions: bool = True


KINDS = {
    "3.8": Kind(debian=True),
    "3.8, snappy, as before 3.6": Kind(True, "snappy", digest=False, paths_of_closed_sessions=False),
    "3.9": Kind(debian=False, paths_of_closed_sessions=False),
    "3.9, gzip, no digest": Kind(debian=False, compression="gz", digest=False),
}


@contextmanager
def server(folder: Path, kind: Kind) -> Iterator[Ensemble]:
    properties = {
        # A snapshot every few dozen transactions, while others are written.
        "zookeeper.snapCount": "60",
        "zookeeper.snapshot.compression.method": kind.compression,
        "zookeeper.digest.enabled": str(kind.digest).lower(),
        "zookeeper.closeSessionTxn.enabled": str(kind.paths_of_closed_sessions).lower(),
        "zookeeper.extendedTypesEnabled": "true",
    }
    options = EnsembleOptions(debian=kind.debian, properties=properties)
    try:
        ensemble = Ensemble(folder, options)
    except ServerError as error:
        if kind.debian and shutil.which("apt-get") is None:
            pytest.skip(f"{error} (this machine has no apt-get)")
        raise
    with ensemble:
        yield ensemble


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_tree_in_files_is_the_tree_of_the_server(
    kind: Kind, connect: Connect, base: str, tmp_path: Path
) -> None:
    with server(tmp_path / "server", kind) as ensemble:
        staying, leaving = connect(ensemble.connect_string), connect(ensemble.connect_string)
        keep_busy([staying, leaving], base, steps=700, seed=1)
        leaving.create(f"{base}/left", ephemeral=True)
        leaving.stop()
        keep_busy([staying], base, steps=30, seed=2)
        staying.create(f"{base}/right", ephemeral=True)
        create_special(staying, f"{base}/expires", b"later", 3_600_000)
        create_special(staying, f"{base}/container", b"empty", None)
        expected = seen(staying, base)
        (member,) = ensemble.members
        shutil.copytree(member.data_dir, tmp_path / "copy")
        assert f"{base}/left" not in expected

        assert tree_of(tmp_path / "copy", base) == expected
