# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The package of the patched server: what is in it, and what apt and dpkg do with it on a Debian 12 host."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from clickhouse.patched_server.compile import PatchedServerError, patched_library
from clickhouse.patched_server.package import build_package, package_version, stock_package
from staging.machine import STAGING, obstacle, run
from support.servers.replicated import wait_for

TESTS = Path(__file__).parents[1]
LIBRARY = "/usr/lib/clickhouse-server/libclickhouse-cold-zookeeper.so"
DROP_IN = "/lib/systemd/system/clickhouse-server.service.d/cold-zookeeper.conf"
ADDED_FOLDERS = {str(Path(path).parent) for path in (LIBRARY, DROP_IN)}
INSTALL = "DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends --allow-downgrades"
SIGN = "SELECT count() FROM system.build_options WHERE name = 'COLD_ZOOKEEPER'"
OWN_LINE = "<!-- written by the administrator -->"

pytestmark = pytest.mark.clickhouse


@pytest.fixture(scope="module")
def packages() -> tuple[Path, Path]:
    """The patched package and the broken one; skips only where there is no apt-get for the stock one."""
    try:
        return build_package(), build_package(broken=True)
    except PatchedServerError as error:
        if "no apt-get here" in str(error):
            pytest.skip(str(error))
        raise


def contents(package: Path) -> dict[str, str]:
    """Path of each file → its mode, owner and size."""
    lines = [line.split(maxsplit=5) for line in run("dpkg-deb", "--contents", str(package)).splitlines()]
    return {line[5].removeprefix(".").rstrip("/"): " ".join(line[:3]) for line in lines}


def control(package: Path, field: str) -> str:
    return run("dpkg-deb", "--field", str(package), field).strip()


def test_the_package_is_the_stock_one_and_two_files(packages: tuple[Path, Path]) -> None:
    stock, patched = contents(stock_package()), contents(packages[0])

    added = {path: what for path, what in patched.items() if path not in stock}
    files = {path for path, what in added.items() if not what.startswith("d")}
    assert files == {LIBRARY, DROP_IN}
    assert added[LIBRARY] == f"-rw-r--r-- root/root {patched_library().stat().st_size}"
    assert {path: patched[path] for path in stock} == stock


def test_maintainer_scripts_and_configuration_files_are_those_of_the_stock_package(
    packages: tuple[Path, Path], tmp_path: Path
) -> None:
    for name, package in (("stock", stock_package()), ("patched", packages[0])):
        run("dpkg-deb", "--control", str(package), str(tmp_path / name))

    for name in ("conffiles", "preinst", "postinst", "prerm", "postrm"):
        assert (tmp_path / "patched" / name).read_bytes() == (tmp_path / "stock" / name).read_bytes()
    for field in ("Package", "Architecture", "Depends"):
        assert control(packages[0], field) == control(stock_package(), field)


def test_each_version_is_an_upgrade_of_the_one_before(packages: tuple[Path, Path]) -> None:
    versions = [control(package, "Version") for package in (stock_package(), *packages)]

    assert versions[1:] == [package_version(), package_version(broken=True)]
    for lower, higher in itertools.pairwise(versions):
        run("dpkg", "--compare-versions", lower, "lt", higher)


def test_the_same_sources_give_the_same_package(packages: tuple[Path, Path]) -> None:
    before = packages[0].read_bytes()

    assert build_package().read_bytes() == before


def test_the_command_copies_the_package(packages: tuple[Path, Path], tmp_path: Path) -> None:
    printed = run(
        *(sys.executable, "-m", "clickhouse.patched_server.package", "--output", str(tmp_path)),
        env={"PYTHONPATH": str(TESTS)},
    )

    assert Path(printed.strip()) == tmp_path / packages[0].name
    assert (tmp_path / packages[0].name).read_bytes() == packages[0].read_bytes()


@dataclass(frozen=True)
class Host:
    """A booted Debian 12 host."""

    command: tuple[str, ...]

    def run(self, command: str) -> str:
        """Run a shell command and return what it wrote; a failure fails the test."""
        done = subprocess.run(
            [*self.command, command], capture_output=True, text=True, timeout=600, check=False
        )
        assert done.returncode == 0, f"{command} failed: {done.stdout[-3000:]}{done.stderr[-3000:]}"
        return done.stdout.strip()

    def installed(self) -> str:
        """Return the version of the installed package."""
        return self.run("dpkg-query --show --showformat='${Status} ${Version}' clickhouse-server")

    def await_sign(self) -> str:
        """Wait until the server answers and return what it says of the patch."""
        wait_for(lambda: self.run("clickhouse-client --query 'SELECT 1' 2>/dev/null || true") == "1")
        return self.run(f'clickhouse-client --query "{SIGN}"')

    def exists(self, path: str) -> bool:
        """Return whether there is a file."""
        return self.run(f"test -e {path} && echo yes || echo no") == "yes"


def staging(*arguments: str) -> str:
    return run(sys.executable, "-m", "staging", *arguments, env={"PYTHONPATH": str(TESTS)})


@pytest.fixture(scope="module")
def host(packages: tuple[Path, Path]) -> Iterator[Host]:
    """A host whose repository has the stock packages and both patched ones."""
    reason = obstacle()
    if reason is not None:
        pytest.skip(f"no host can be booted on this machine: {reason}")
    folder = str(STAGING / f"patched-package-{os.getpid()}")
    try:
        written = staging("create", folder, "replica", "--owner", str(os.getpid()))
        inventory = json.loads(Path(written.strip()).read_text())["staging_hosts"]
        staging("publish", folder, *map(str, packages))
        how = inventory["vars"]
        yield Host(
            (
                *("ssh", "-q", "-i", how["ansible_ssh_private_key_file"]),
                *how["ansible_ssh_common_args"].split(),
                f"root@{inventory['hosts']['replica']['ansible_host']}",
            )
        )
    finally:
        staging("destroy", folder)
        Path(f"{folder}.lock").unlink()


def test_install_upgrade_and_downgrade_with_apt_and_dpkg(packages: tuple[Path, Path], host: Host) -> None:
    stock, patched, broken = (control(package, "Version") for package in (stock_package(), *packages))
    host.run("apt-get update")

    host.run(f"{INSTALL} clickhouse-server={stock} clickhouse-client")
    assert host.await_sign() == "0"
    host.run(f"echo '{OWN_LINE}' >> /etc/clickhouse-server/config.xml")

    host.run(f"{INSTALL} clickhouse-server={patched}")
    assert host.installed() == f"install ok installed {patched}"
    assert host.await_sign() == "1"
    assert host.exists(LIBRARY)

    host.run(f"{INSTALL} clickhouse-server={stock}")
    assert host.installed() == f"install ok installed {stock}"
    assert host.await_sign() == "0"
    assert not any(host.exists(path) for path in ADDED_FOLDERS)

    host.run(f"{INSTALL} clickhouse-server={broken}")
    wait_for(lambda: host.run("systemctl is-active clickhouse-server || true") == "failed")
    assert "the patch was made for ClickHouse 18.16.0" in host.run("journalctl --unit clickhouse-server")

    host.run(f"cd /var/cache/apt/archives && apt-get download clickhouse-server={patched}")
    host.run(f"dpkg --install /var/cache/apt/archives/clickhouse-server_{patched}_amd64.deb")
    assert host.await_sign() == "1"
    assert host.run("tail -n 1 /etc/clickhouse-server/config.xml") == OWN_LINE
    assert host.run("dpkg --verify clickhouse-server").split()[-1] == "/etc/clickhouse-server/config.xml"
