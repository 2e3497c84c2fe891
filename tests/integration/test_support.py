# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The test servers themselves: they start, break on request, and leave nothing behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path

import pytest
from kazoo.client import KazooClient
from kazoo.exceptions import ConnectionLoss, NoAuthError, NoNodeError
from kazoo.security import make_digest_acl

from support.memory.tables import read_tree
from support.servers.clickhouse import (
    ClickHouseCluster,
    ClusterMaker,
    QueryError,
    ServerOptions,
    ZooKeeperSource,
)
from support.servers.kazoo_client import connected
from support.servers.modern.server import ModernServer
from support.servers.ports import ReservedPorts
from support.servers.process import ServerError, ServerProcess
from support.servers.proxy import Action, ZooKeeperProxy, writes
from support.servers.replicated import wait_for
from support.servers.tls import TlsFiles
from support.servers.zookeeper import Ensemble, EnsembleOptions

Connect = Callable[[str], KazooClient]

TABLE = """
CREATE TABLE visits (day Date, id UInt32)
ENGINE = ReplicatedMergeTree('{base}/{{shard}}/visits', '{{replica}}')
PARTITION BY toYYYYMMDD(day) ORDER BY id
"""


def exists(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def test_no_two_owners_get_the_same_port() -> None:
    first, second = ReservedPorts(), ReservedPorts()
    ports = [owner.take() for owner in (first, second) for _number in range(20)]
    first.release()
    second.release()
    assert len(set(ports)) == 40


def test_a_standalone_ensemble_publishes_no_configuration(hot: Ensemble, connect: Connect) -> None:
    assert hot.members[0].mode() == "standalone"
    assert connect(hot.connect_string).get("/zookeeper/config")[0] == b""


def test_a_write_through_one_member_is_read_through_another(
    cold: Ensemble, connect: Connect, base: str
) -> None:
    connect(cold.members[0].address).create(base, b"text")
    other = connect(cold.members[2].address)
    other.sync(base)
    assert other.get(base)[0] == b"text"


def test_session_ids_name_the_member(cold: Ensemble, connect: Connect) -> None:
    sessions = [connect(member.address).client_id[0] for member in cold.members]
    assert [session >> 56 for session in sessions] == [1, 2, 3]


def test_the_ensemble_survives_a_killed_leader(cold: Ensemble, connect: Connect, base: str) -> None:
    killed = cold.leader()
    killed.kill()
    assert cold.leader() is not killed
    connect(cold.leader().address).create(base)
    follower = connect(cold.followers()[0].address)
    follower.sync(base)
    assert follower.exists(base)
    killed.start()
    assert killed.mode() == "follower"


def test_a_paused_follower_lags_and_catches_up(cold: Ensemble, connect: Connect, base: str) -> None:
    follower = cold.followers()[0]
    lagging = connect(follower.address)
    leader = connect(cold.leader().address)
    follower.pause()
    leader.create(base)
    follower.resume()
    lagging.sync(base)
    assert lagging.exists(base)


def test_a_tree_is_read_whole_although_the_member_is_killed(cold: Ensemble, base: str) -> None:
    follower = cold.followers()[0]
    others = [each.address for each in cold.members if each is not follower]
    with connected(",".join([follower.address, *others]), randomize_hosts=False) as client:
        client.create(base, b"text")
        follower.pause()
        with ThreadPoolExecutor() as pool:
            reading = pool.submit(read_tree, client, base)
            # The request waits for the member then.
            time.sleep(0.5)
            follower.kill()
            assert reading.result()[base][0] == b"text"


def test_healing_brings_back_stopped_and_paused_members(tmp_path: Path) -> None:
    with Ensemble(tmp_path, EnsembleOptions(participants=3)) as ensemble:
        ensemble.members[0].kill()
        ensemble.members[1].pause()
        ensemble.heal()
        assert all(member.serving() for member in ensemble.members)


def test_an_observer_has_no_vote_and_clients_can_be_published(tmp_path: Path, connect: Connect) -> None:
    options = EnsembleOptions(participants=2, observers=1, publish_clients=True)
    with Ensemble(tmp_path, options) as ensemble:
        assert [member.myid for member in ensemble.in_modes({"observer"})] == [3]
        text = connect(ensemble.connect_string).get("/zookeeper/config")[0].decode()
        published = [line.rpartition(";")[2] for line in text.splitlines() if line.startswith("server.")]
        assert published == [member.address for member in ensemble.members]


def test_a_super_user_passes_every_acl(tmp_path: Path) -> None:
    with Ensemble(tmp_path, EnsembleOptions(superuser="super:secret")) as ensemble:
        with connected(ensemble.connect_string, auth_data=[("digest", "owner:1")]) as owner:
            owner.create("/private", b"text", makepath=True, acl=[make_digest_acl("owner", "1", all=True)])
        with connected(ensemble.connect_string) as stranger:
            with pytest.raises(NoAuthError):
                stranger.get("/private")
            stranger.add_auth("digest", "super:secret")
            assert stranger.get("/private")[0] == b"text"


def test_tls_needs_a_certificate_of_the_authority(tmp_path: Path) -> None:
    tls = TlsFiles.create(tmp_path / "tls")
    stranger = TlsFiles.create(tmp_path / "other")
    with Ensemble(tmp_path / "ensemble", EnsembleOptions(tls=tls)) as ensemble:

        def client(files: TlsFiles) -> KazooClient:
            return KazooClient(
                ensemble.secure_connect_string,
                use_ssl=True,
                ca=str(tls.authority),
                certfile=str(files.client),
                keyfile=str(files.client_key),
            )

        welcome = client(tls)
        welcome.start(60)
        assert welcome.get_children("/") == ["zookeeper"]
        welcome.stop()
        welcome.close()
        refused = client(stranger)
        with pytest.raises(refused.handler.timeout_exception):
            refused.start(timeout=2)
        refused.close()


def test_a_server_that_ends_early_shows_its_log(tmp_path: Path) -> None:
    broken = EnsembleOptions(settings={"tickTime": "soon"})
    with pytest.raises(ServerError, match=r'(?s)ended with exit status.*"soon"'), Ensemble(tmp_path, broken):
        pass


def test_servers_die_with_the_process_that_started_them(tmp_path: Path) -> None:
    program = f"""
        import sys, time
        from pathlib import Path
        sys.path[:0] = {sys.path!r}
        from support.servers.zookeeper import Ensemble
        ensemble = Ensemble(Path({str(tmp_path)!r}))
        ensemble.start()
        print(ensemble.members[0].pid, flush=True)
        time.sleep(600)
    """
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(program)], stdout=subprocess.PIPE, text=True
    ) as starter:
        assert starter.stdout is not None
        pid = int(starter.stdout.readline())
        assert exists(pid)
        starter.send_signal(signal.SIGKILL)
        wait_for(lambda: not exists(pid))


def test_a_paused_process_can_be_stopped(tmp_path: Path) -> None:
    process = ServerProcess("sleeper", ("sleep", "600"), tmp_path / "log")
    process.spawn()
    pid = process.pid
    process.pause()
    process.stop()
    assert not process.running
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


@pytest.fixture
def proxy(hot: Ensemble) -> Iterator[ZooKeeperProxy]:
    with ZooKeeperProxy(hot.connect_string) as proxy:
        yield proxy


def test_a_lost_reply_hides_a_write_that_happened(
    hot: Ensemble, proxy: ZooKeeperProxy, connect: Connect, base: str
) -> None:
    client = connect(proxy.address)
    trap = proxy.trap(writes(base.encode()), Action.LOSE_REPLY)
    with pytest.raises(ConnectionLoss):
        client.create(base)
    assert trap.sprung
    assert connect(hot.connect_string).exists(base)


def test_a_lost_request_never_happens(
    hot: Ensemble, proxy: ZooKeeperProxy, connect: Connect, base: str
) -> None:
    client = connect(proxy.address)
    trap = proxy.trap(writes(base.encode()), Action.LOSE_REQUEST)
    with pytest.raises(ConnectionLoss):
        client.create(base)
    assert trap.sprung
    assert connect(hot.connect_string).exists(base) is None


def test_a_held_request_happens_after_its_release(
    hot: Ensemble, proxy: ZooKeeperProxy, connect: Connect, base: str
) -> None:
    trap = proxy.trap(writes(base.encode()), Action.HOLD)
    answer = connect(proxy.address).create_async(base)
    trap.wait(60)
    witness = connect(hot.connect_string)
    assert witness.exists(base) is None
    trap.release()
    assert answer.get(60) == base
    assert witness.exists(base)


def test_a_held_reply_is_of_a_request_that_happened(
    hot: Ensemble, proxy: ZooKeeperProxy, connect: Connect, base: str
) -> None:
    trap = proxy.trap(writes(base.encode()), Action.HOLD_REPLY)
    answer = connect(proxy.address).create_async(base)
    trap.wait(60)
    assert connect(hot.connect_string).exists(base)
    assert not answer.ready()
    trap.release()
    assert answer.get(60) == base


def test_a_trap_that_is_cleared_does_nothing(proxy: ZooKeeperProxy, connect: Connect, base: str) -> None:
    trap = proxy.trap(writes(base.encode()), Action.LOSE_REQUEST)
    proxy.clear()
    assert connect(proxy.address).create(base) == base
    assert not trap.sprung


def test_a_trap_that_nothing_springs_says_so(proxy: ZooKeeperProxy, connect: Connect, base: str) -> None:
    trap = proxy.trap(writes(b"/somewhere-else"), Action.HOLD)
    connect(proxy.address).create(base)
    with pytest.raises(TimeoutError, match="no request sprang the trap"):
        trap.wait(0.1)


def test_cut_and_restore(proxy: ZooKeeperProxy, connect: Connect, base: str) -> None:
    client = connect(proxy.address)
    proxy.cut()
    wait_for(lambda: not client.connected)
    proxy.restore()
    assert client.retry(client.create, base) == base


def test_dropped_replies_leave_the_write_in_place(
    hot: Ensemble, proxy: ZooKeeperProxy, connect: Connect, base: str
) -> None:
    client, witness = connect(proxy.address), connect(hot.connect_string)
    proxy.drop_replies()
    answer = client.create_async(base)
    wait_for(lambda: witness.exists(base) is not None)
    assert not answer.ready()
    proxy.cut()
    with pytest.raises(ConnectionLoss):
        answer.get(60)


def test_a_paused_proxy_keeps_connections(proxy: ZooKeeperProxy, connect: Connect, base: str) -> None:
    client = connect(proxy.address)
    proxy.pause()
    answer = client.create_async(base)
    time.sleep(0.3)
    assert not answer.ready()
    proxy.restore()
    assert answer.get(60) == base


@pytest.fixture
def servers(start_cluster: ClusterMaker, hot: Ensemble, base: str) -> ClickHouseCluster:
    running = start_cluster(ZooKeeperSource(hot.connect_string))
    running.execute(TABLE.format(base=base))
    return running


@pytest.mark.clickhouse
def test_replicas_share_their_parts(servers: ClickHouseCluster, hot: Ensemble, connect: Connect) -> None:
    first, second = servers.shard(1)
    first.execute("INSERT INTO visits VALUES ('2019-12-01', 7)")
    wait_for(lambda: second.value("SELECT count() FROM visits") == 1)
    assert second.query("SELECT day, id FROM visits") == [("2019-12-01", 7)]
    replica = first.value("SELECT replica_path FROM system.replicas")
    assert connect(hot.connect_string).get_children(f"{replica}/parts") == ["20191201_0_0_0"]


@pytest.mark.clickhouse
def test_outdated_parts_vanish_quickly(servers: ClickHouseCluster) -> None:
    first = servers.servers[0]
    for number in range(2):
        first.execute(f"INSERT INTO visits VALUES ('2019-12-01', {number})")
    names = "SELECT name FROM system.parts WHERE table = 'visits'"

    def is_one() -> bool:
        # Servers may have merged them before they are told to, and 18.16 may do nothing when it is told.
        if len(first.query(f"{names} AND active")) > 1:
            first.execute("OPTIMIZE TABLE visits PARTITION 20191201 FINAL")
        return len(first.query(names)) == 1

    wait_for(is_one)


@pytest.mark.clickhouse
@pytest.mark.parametrize("how", ["stop", "kill"])
def test_a_restarted_server_has_its_data(servers: ClickHouseCluster, how: str) -> None:
    first = servers.servers[0]
    first.execute("INSERT INTO visits VALUES ('2019-12-01', 7)")
    getattr(first, how)()
    assert not first.serving()
    first.start()
    assert first.value("SELECT count() FROM visits") == 1


@pytest.mark.clickhouse
def test_servers_listen_on_loopback_only(servers: ClickHouseCluster) -> None:
    ports = servers.servers[0].ports
    tables = Path("/proc/net/tcp").read_text() + Path("/proc/net/tcp6").read_text()
    sockets = [line.split() for line in tables.splitlines()]
    listening = [fields[1] for fields in sockets if fields[3] == "0A"]
    for port in (ports.http, ports.tcp, ports.interserver):
        mine = [address for address in listening if address.endswith(f":{port:04X}")]
        assert mine == [f"0100007F:{port:04X}"]


@pytest.mark.clickhouse
def test_root_and_identity_guard_the_znodes(
    start_cluster: ClusterMaker, hot: Ensemble, connect: Connect, base: str
) -> None:
    client = connect(hot.connect_string)
    client.create(base)
    source = ZooKeeperSource(hot.connect_string, root=base, identity="house:secret")
    server = start_cluster(source, replicas=1).servers[0]
    server.execute(TABLE.format(base="/tables"))
    with pytest.raises(NoAuthError):
        client.get(f"{base}/tables/01/visits")
    client.add_auth("digest", "house:secret")
    assert b"data format version: 1" in client.get(f"{base}/tables/01/visits/metadata")[0]
    with pytest.raises(NoNodeError):
        client.get("/tables/01/visits")


@pytest.mark.clickhouse
def test_shards_have_their_own_macros(start_cluster: ClusterMaker, hot: Ensemble) -> None:
    options = ServerOptions(macros={"layer": "a"}, merge_tree={"index_granularity": 4096})
    running = start_cluster(ZooKeeperSource(hot.connect_string), shards=2, replicas=1, options=options)
    macros = "SELECT macro, substitution FROM system.macros ORDER BY macro"
    assert running.shard(2)[0].query(macros) == [("layer", "a"), ("replica", "r1"), ("shard", "02")]
    setting = "SELECT value FROM system.merge_tree_settings WHERE name = 'index_granularity'"
    assert running.servers[0].value(setting) == "4096"


@pytest.mark.clickhouse
def test_a_refused_statement_says_which(servers: ClickHouseCluster) -> None:
    with pytest.raises(QueryError, match=r"s1r1: Code: 60.*\[SELECT 1 FROM nowhere\]"):
        servers.servers[0].execute("SELECT 1 FROM nowhere")


@pytest.mark.parametrize(
    ("ends", "starts"),
    [
        (["exec sleep 60"], 1),
        (["kill -ABRT $$", "exec sleep 60"], 2),
        (["kill -ABRT $$", "kill -ABRT $$"], 2),
        (["exit 1"], 1),
        (["kill -ABRT $$", "exit 1"], 2),
    ],
)
def test_a_server_that_crashed_while_it_loaded_tables_is_started_once_more(
    tmp_path: Path, ends: list[str], starts: int
) -> None:
    begun = tmp_path / "begun"
    program = f"echo >> {begun}; case $(wc -l < {begun}) in 1) {ends[0]} ;; *) {ends[-1]} ;; esac"
    server = ModernServer.__new__(ModernServer)
    server.process = ServerProcess("crashing", ["sh", "-c", program], tmp_path / "log")
    comm = "/proc/{}/comm"
    server.serving = lambda: Path(comm.format(server.pid)).read_text() == "sleep\n"  # type: ignore[method-assign]
    with nullcontext() if ends[-1].startswith("exec") else pytest.raises(ServerError):
        server.start()
    assert len(begun.read_text().splitlines()) == starts
    server.process.kill()
