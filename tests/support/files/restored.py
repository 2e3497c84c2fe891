# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The tree that ZooKeeper itself restores from the files of a member, as a server does at its start."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from py4j.java_gateway import GatewayParameters, JavaGateway, Py4JError, launch_gateway
from py4j.protocol import Py4JJavaError

from partition_classify.zookeeper_files.empty_tree import EMPTY_SNAPSHOT
from partition_classify.zookeeper_files.snapshot import open_snapshot
from support.files.member_files import seen_znode
from support.servers.busy_znodes import SeenZnode
from support.servers.zookeeper_config import classpath, debian_classpath
from support.servers.zookeeper_releases import Release

Tree = Mapping[str, SeenZnode]


class NotRestored(Exception):
    """ZooKeeper refuses the files."""


class Judge:
    """One JVM with the classes of one release, which restores one folder after the other."""

    def __init__(self, gateway: JavaGateway, prefix: str) -> None:
        """``prefix``: where the Java packages of the release are."""
        self._jvm = gateway.jvm
        self._package = f"{prefix}org.apache.zookeeper.server."

    def restored(self, data_dir: Path) -> tuple[int, Tree]:
        """The last transaction and the tree below the root, less /zookeeper; the folder stays as it is.

        Raises NotRestored.
        """
        with tempfile.TemporaryDirectory() as name:
            files, out = Path(name, "files"), Path(name, "out")
            shutil.copytree(data_dir / "version-2", files / "version-2")
            out.mkdir()
            try:
                zxid = self._restore(str(files), str(out))
            except (Py4JJavaError, Py4JError) as error:
                raise NotRestored(str(error).partition("\n\tat")[0]) from error
            (snapshot,) = (out / "version-2").glob("snapshot.*")
            return zxid, tree_in(snapshot)

    def _restore(self, files: str, out: str) -> int:
        folder = self._jvm.java.io.File(files)
        log = self._new("persistence.FileTxnSnapLog", folder, folder)
        try:
            database = self._new("ZKDatabase", log)
            zxid = int(database.loadDataBase())
            target = self._jvm.java.io.File(out)
            saving = self._new("persistence.FileTxnSnapLog", target, target)
            arguments = [database.getDataTree(), database.getSessionWithTimeOuts()]
            try:
                saving.save(*arguments, False)
            except Py4JError:
                # Of 3.4.
                saving.save(*arguments)
            saving.close()
        finally:
            log.close()
        return zxid

    def _new(self, name: str, *arguments: object) -> Any:
        place: Any = self._jvm
        for each in f"{self._package}{name}".split("."):
            place = getattr(place, each)
        return place(*arguments)


@contextmanager
def judge(release: Release | None, *, debian: bool = False) -> Iterator[Judge]:
    """The judge of a release; of that of pyspark with None. Raises ServerError where there is none."""
    jars = debian_classpath() if debian else classpath(release)
    spec = find_spec("pyspark")
    assert spec is not None
    assert spec.origin is not None
    (bridge,) = (Path(spec.origin).parent / "jars").glob("py4j-*.jar")
    options = ["-Xmx512m", "-XX:-UsePerfData", "-Dzookeeper.forceSync=no", "-Dzookeeper.preAllocSize=64"]
    port, token = launch_gateway(
        classpath=jars, jarpath=str(bridge), javaopts=options, die_on_exit=True, enable_auth=True
    )
    gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port, auth_token=token))
    try:
        yield Judge(gateway, release.prefix if release else "")
    finally:
        gateway.shutdown()


def write_empty(data_dir: Path) -> None:
    """Write the snapshot of a server that has written nothing."""
    (data_dir / "version-2").mkdir(parents=True, exist_ok=True)
    (data_dir / "version-2" / "snapshot.0").write_bytes(EMPTY_SNAPSHOT)


def tree_in(snapshot: Path) -> Tree:
    """All znodes of a snapshot below the root, less /zookeeper."""
    with open_snapshot(snapshot) as scan:
        records = [(path, data, stored) for _offset, path, data, stored in scan.records()]
    return of_clients({path.decode(): seen_znode(data, stored) for path, data, stored in records})


def of_clients(znodes: Tree) -> Tree:
    """The znodes that clients, not servers, write."""
    return {
        path: znode
        for path, znode in znodes.items()
        if path not in ("", "/") and not f"{path}/".startswith("/zookeeper/")
    }
