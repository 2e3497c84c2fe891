# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Fixtures: real ensembles, real ClickHouse servers, and a place of its own for every test."""

from __future__ import annotations

import gc
import os
import shutil
import sys
import uuid
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from kazoo.client import KazooClient

from support.cpu_by_kind import CpuByKind
from support.servers import warm_spark
from support.servers.clickhouse import (
    ClickHouseCluster,
    ClusterMaker,
    ServerOptions,
    ZooKeeperSource,
    clickhouse_program,
    cluster,
)
from support.servers.downloads import NotToBeHad
from support.servers.ensembles import make_ensemble
from support.servers.kazoo_client import connected
from support.servers.keeper.ensemble import KeeperStandIn
from support.servers.ladder.guarded import GuardedShard
from support.servers.ladder.rungs import Rung, rung
from support.servers.ladder.table import SERVER_MB
from support.servers.modern.library import NoModernEngine, engine_library
from support.servers.modern.server import ENGINE, ModernShard, ModernShardMaker, modern_shard
from support.servers.process import ServerError
from support.servers.reaper import Reaper
from support.servers.spark_home import spark_home
from support.servers.sql_server import SqlServer, SqlServers
from support.servers.zookeeper import Ensemble, Member

pytest_plugins = ["support.choice"]

_TESTS = Path(__file__).resolve().parent
_INTEGRATION = _TESTS / "integration"

# How fast the machine is says nothing about the code.
settings.register_profile("any_speed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any_speed")


_REAPER = pytest.StashKey[Reaper]()
_CPU = pytest.StashKey[CpuByKind]()


def pytest_configure(config: pytest.Config) -> None:
    """Have Spark start quickly, and ended where this run is killed.

    What workers start belongs to the run that started them.
    """
    if not hasattr(config, "workerinput"):
        config.stash[_REAPER] = Reaper()
        if config.getoption("numprocesses", None):
            config.stash[_CPU] = CpuByKind()
        os.environ["SPARK_HOME"] = str(spark_home())
        # One for all workers, in the environment that they have of this process.
        warm_spark.program()


def pytest_unconfigure(config: pytest.Config) -> None:
    """Let the run end by itself, and print what it took."""
    if _REAPER in config.stash:
        config.stash[_REAPER].dismiss()
    if _CPU in config.stash:
        sys.stdout.write("\n".join(("CPU time by kind of process:", *config.stash[_CPU].stop(), "")))


# All that is made while tests are collected stays: to look through it for garbage is a fifth of that work.
gc.disable()


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop() -> None:
    """Look for garbage from now on, in what tests make alone."""
    gc.freeze()
    gc.enable()


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Name a test that failed at once: a run may be ended before it prints its summary.

    Workers hand their reports to the process that started them, which prints.
    """
    if report.failed and "PYTEST_XDIST_WORKER" not in os.environ:
        lines = report.longreprtext.splitlines() or [""]
        reason = next((line for line in lines if line.startswith("E ")), lines[-1])
        sys.stdout.write(f"\nFAILED {report.nodeid} ({report.when}) {reason.removeprefix('E').strip()}\n")
        sys.stdout.flush()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the figures that tests recorded as ``explored``."""
    for report in terminalreporter.getreports("passed"):
        for name, value in report.user_properties:
            if name == "explored":
                terminalreporter.write_line(f"{report.nodeid}: {value}")


@pytest.fixture(scope="session", autouse=True)
def own_state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Let modules keep their journals elsewhere than this user does."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield


@pytest.fixture(scope="session")
def hot_ensemble(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ensemble | KeeperStandIn]:
    """A standalone server, shared by all tests; use `hot`, which puts it right after each test."""
    with make_ensemble(tmp_path_factory.mktemp("ensemble"), "hot", 1) as ensemble:
        yield ensemble


@pytest.fixture(scope="session")
def cold_ensemble(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ensemble | KeeperStandIn]:
    """Three members, shared by all tests; use `cold`, which puts them right after each test."""
    with make_ensemble(tmp_path_factory.mktemp("ensemble"), "cold", 3) as ensemble:
        yield ensemble


@pytest.fixture
def hot(hot_ensemble: Ensemble) -> Iterator[Ensemble]:
    """The standalone server; members that the test stopped or paused run again afterwards."""
    yield hot_ensemble
    hot_ensemble.heal()


@pytest.fixture
def cold(cold_ensemble: Ensemble) -> Iterator[Ensemble]:
    """The ensemble of three; members that the test stopped or paused run again afterwards."""
    yield cold_ensemble
    cold_ensemble.heal()


@pytest.fixture
def base() -> str:
    """A path that no other test uses; it does not exist yet."""
    return f"/test-{uuid.uuid4().hex[:12]}"


@pytest.fixture
def connect() -> Iterator[Callable[[str], KazooClient]]:
    """Return a started kazoo client for a connect string; closed when the test ends."""
    with ExitStack() as stack:
        yield lambda hosts: stack.enter_context(connected(hosts))


@pytest.fixture(scope="session")
def clickhouse() -> str:
    """The path of clickhouse-server; skips only where the machine has no Debian packages to get it from."""
    try:
        return clickhouse_program()
    except ServerError as error:
        if shutil.which("apt-get") is None:
            pytest.skip(f"{error} (this machine has no apt-get)")
        raise


@pytest.fixture
def start_cluster(clickhouse: str, tmp_path: Path) -> Iterator[ClusterMaker]:
    """Return a function that starts ClickHouse servers for this test; see ClusterMaker."""
    with ExitStack() as stack:

        def start(
            zookeeper: ZooKeeperSource,
            shards: int = 1,
            replicas: int = 2,
            options: ServerOptions | None = None,
        ) -> ClickHouseCluster:
            folder = tmp_path / f"clickhouse-{uuid.uuid4().hex[:6]}"
            own = replace(options or ServerOptions(), program=(options and options.program) or clickhouse)
            return stack.enter_context(cluster(folder, zookeeper, shards, replicas, own))

        yield start


@pytest.fixture(scope="session")
def real_rung(request: pytest.FixtureRequest) -> Rung:
    """A version of which there are real servers, in turn each of the ladder that this run is for."""
    return _had(rung(request.param))


@pytest.fixture(scope="session")
def modern_engine() -> None:
    """Skip the test, with the reason, where servers of a modern ClickHouse cannot be had."""
    try:
        engine_library()
    except NoModernEngine as error:
        pytest.skip(f"NOT RUN: {error}. See docs/internals/modern-server.md.")


@pytest.fixture(scope="module")
def modern_version(request: pytest.FixtureRequest) -> str:
    """The version of modern servers: 26.9, and in files with the mark `ladder` in turn each of this run."""
    version: str = getattr(request, "param", ENGINE)
    if version == ENGINE:
        request.getfixturevalue("modern_engine")
    else:
        _had(rung(version))
    return version


def _had(version: Rung) -> Rung:
    """Return the version, or skip the test where this machine does not have it."""
    reason = _absence(version)
    if reason:
        pytest.skip(f"NOT RUN: ClickHouse {version.version}: {reason}")
    return version


def _absence(version: Rung) -> str:
    """Why this machine has no server of the version; empty if it has one."""
    try:
        version.library()
    except NotToBeHad as error:
        return str(error)
    return ""


@pytest.fixture
def start_modern(modern_version: str, tmp_path: Path) -> Iterator[ModernShardMaker]:
    """Return a function that starts modern servers for this test; see ModernShardMaker."""
    with ExitStack() as stack:

        def start(
            zookeeper: ZooKeeperSource,
            auxiliary: Mapping[str, ZooKeeperSource] | None = None,
            replicas: int = 2,
            version: str | None = None,
        ) -> ModernShard:
            folder = tmp_path / f"modern-{uuid.uuid4().hex[:6]}"
            shard = modern_shard(folder, zookeeper, auxiliary, replicas, version or modern_version)
            return stack.enter_context(shard)

        yield start


@pytest.fixture(scope="module")
def modern(
    modern_version: str,
    hot_ensemble: Ensemble,
    cold_ensemble: Ensemble,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[ModernShard]:
    """Two modern servers for the tests of one module; the auxiliary ensemble is called `cold`."""
    hot, cold = ZooKeeperSource(hot_ensemble.connect_string), ZooKeeperSource(cold_ensemble.connect_string)
    folder = tmp_path_factory.mktemp("modern")
    with modern_shard(folder, hot, {"cold": cold}, version=modern_version) as shard:
        yield shard


_SHARED_SERVERS = ("modern", "guarded", "disks", "limited", "two_shards")
"""Fixtures with servers for all tests of a module."""


@pytest.fixture(autouse=True)
def no_tables_left(request: pytest.FixtureRequest) -> Iterator[None]:
    """The servers of a module have no work with the tables of tests that have ended."""
    with ExitStack() as stack:
        for name in set(_SHARED_SERVERS) & set(request.fixturenames):
            servers = request.getfixturevalue(name)
            if isinstance(servers, GuardedShard):
                servers = servers.shard
            if isinstance(servers, SqlServers):
                stack.enter_context(servers.detaching_new_tables())
        yield


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show the end of every server's log beside the failure of a test that uses the server.

    Reports say how much memory ClickHouse has had, for the table of `make ladder`.
    """
    if call.when == "call" and isinstance(item, pytest.Function):
        peaks = [each.process.peak_mb for each in _servers(item) if isinstance(each, SqlServer)]
        item.user_properties += [(SERVER_MB, max(peaks))] if peaks else []
    report = yield
    if report.failed and isinstance(item, pytest.Function):
        for server in _servers(item):
            report.sections.append((f"log of {server.process.name}", server.log_tail(30)))
    return report


def _servers(item: pytest.Function) -> list[Member | SqlServer]:
    servers: list[Member | SqlServer] = []
    for value in item.funcargs.values():
        if isinstance(value, Ensemble):
            servers += value.members
        elif isinstance(value, (ClickHouseCluster, ModernShard)):
            servers += value.servers
        elif isinstance(value, SqlServer):
            servers.append(value)
    return servers
