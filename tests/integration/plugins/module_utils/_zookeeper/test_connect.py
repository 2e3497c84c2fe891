# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Connecting: identities, TLS, and one clear sentence for each way it can fail."""

from __future__ import annotations

import socket
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import (
    AccessDenied,
    EnsembleError,
    EnsembleUnreachable,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import Committed, Create
from ansible_collections.olap.partmove.plugins.module_utils._zookeeper.four_letters import ask_member
from ansible_collections.olap.partmove.plugins.module_utils._zookeeper.options import (
    EnsembleOptions as ConnectionOptions,
    TlsOptions,
)
from support.servers.ports import ReservedPorts
from support.servers.tls import TlsFiles
from support.servers.zookeeper import Ensemble, EnsembleOptions

from .conftest import StoreMaker

# kazoo leaves the socket of a failed handshake to the garbage collector.
ignore_left_sockets = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

SHORT = {"session_timeout": 12.0, "connect_timeout": 6.0}


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> TlsFiles:
    return TlsFiles.create(tmp_path_factory.mktemp("tls"))


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory, tls: TlsFiles) -> Iterator[Ensemble]:
    """A server that speaks TLS on its second port and knows one SASL user."""
    options = EnsembleOptions(tls=tls, sasl_users={"alice": "wonder"})
    with Ensemble(tmp_path_factory.mktemp("guarded"), options) as ensemble:
        yield ensemble


@pytest.fixture
def client_tls(tls: TlsFiles) -> TlsOptions:
    return TlsOptions(ca=str(tls.authority), cert=str(tls.client), key=str(tls.client_key))


def test_what_a_store_tells_of_itself(open_store: StoreMaker, hot: Ensemble, chroot: str) -> None:
    address = hot.members[0].address
    store = open_store(address, name="cold", chroot=chroot)
    assert (store.name, store.chroot, store.addresses) == ("cold", chroot, (address,))
    assert store.session_id >> 56 & 0xFF == store.server_id


def test_a_chroot_that_does_not_exist(open_store: StoreMaker, hot: Ensemble) -> None:
    with pytest.raises(EnsembleError, match=r"chroot /clickhosue does not exist in ensemble hot") as refused:
        open_store(hot.members[0].address, chroot="/clickhosue")
    assert "Correct the chroot" in str(refused.value)


def test_a_port_where_nobody_listens(open_store: StoreMaker) -> None:
    ports = ReservedPorts()
    address = f"127.0.0.1:{ports.take()}"
    with pytest.raises(EnsembleUnreachable, match=rf"ensemble hot .* {address}: Connection refused"):
        open_store(address, **SHORT)
    ports.release()


def test_a_host_that_has_no_address(open_store: StoreMaker) -> None:
    with pytest.raises(EnsembleUnreachable, match=r"no-such-host.invalid: .*not known"):
        open_store("no-such-host.invalid:2181", **SHORT)


def test_a_server_that_does_not_answer(open_store: StoreMaker, hot: Ensemble) -> None:
    hot.members[0].pause()
    with pytest.raises(EnsembleUnreachable, match=rf"within 6 s: {hot.members[0].address}: "):
        open_store(hot.members[0].address, **SHORT)


def test_a_server_that_is_no_zookeeper(open_store: StoreMaker) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def greet() -> None:
            with suppress(OSError):
                while True:
                    connections.append(server.accept()[0])
                    connections[-1].sendall(b"SSH-2.0-OpenSSH_9.2\r\n")

        connections: list[socket.socket] = []
        greeter = threading.Thread(target=greet, daemon=True)
        greeter.start()
        with pytest.raises(
            EnsembleUnreachable, match=r"does not speak ZooKeeper's protocol, but answers b'SSH-"
        ):
            open_store(f"127.0.0.1:{server.getsockname()[1]}", **SHORT)
        server.shutdown(socket.SHUT_RDWR)
        greeter.join()
        for connection in connections:
            connection.close()


def test_the_other_hosts_are_tried(open_store: StoreMaker, hot: Ensemble) -> None:
    ports = ReservedPorts()
    dead = [f"127.0.0.1:{ports.take()}" for _each in range(3)]
    assert open_store(*dead, hot.members[0].address).read(["/"])[0] is not None
    ports.release()


def test_a_member_says_how_it_is_over_tls(guarded: Ensemble, client_tls: TlsOptions) -> None:
    address = guarded.members[0].secure_address
    state = ask_member(ConnectionOptions("hot", (address,), tls=client_tls), address, 60.0)
    assert state is not None
    assert state.outstanding == 0


def test_tls(open_store: StoreMaker, guarded: Ensemble, client_tls: TlsOptions) -> None:
    store = open_store(guarded.members[0].secure_address, tls=client_tls)
    data = bytes(range(256)) * 400
    creates = [Create(f"/tls{number}", data) for number in range(20)]
    assert store.commit([(create,) for create in creates]) == [Committed()] * 20
    assert [znode and znode.data for znode in store.read([create.path for create in creates])] == [data] * 20


@ignore_left_sockets
def test_a_server_certificate_of_another_authority(
    open_store: StoreMaker, guarded: Ensemble, client_tls: TlsOptions, tmp_path: Path
) -> None:
    foreign = TlsFiles.create(tmp_path)
    wrong = TlsOptions(ca=str(foreign.authority), cert=client_tls.cert, key=client_tls.key)
    with pytest.raises(EnsembleUnreachable, match=r"CERTIFICATE_VERIFY_FAILED.*TLS settings"):
        open_store(guarded.members[0].secure_address, tls=wrong, **SHORT)


@ignore_left_sockets
def test_a_client_without_the_certificate_that_the_server_asks_for(
    open_store: StoreMaker, guarded: Ensemble, tls: TlsFiles
) -> None:
    with pytest.raises(EnsembleUnreachable, match=r"SSL.*TLS settings"):
        open_store(guarded.members[0].secure_address, tls=TlsOptions(ca=str(tls.authority)), **SHORT)


@ignore_left_sockets
def test_tls_on_a_port_without_it(open_store: StoreMaker, guarded: Ensemble, client_tls: TlsOptions) -> None:
    with pytest.raises(EnsembleUnreachable, match=r"SSL.*TLS settings"):
        open_store(guarded.members[0].address, tls=client_tls, **SHORT)


def test_no_tls_on_a_port_with_it(open_store: StoreMaker, guarded: Ensemble) -> None:
    with pytest.raises(EnsembleUnreachable, match=r"connection broken.*TLS settings"):
        open_store(guarded.members[0].secure_address, **SHORT)


def test_sasl_digest(open_store: StoreMaker, guarded: Ensemble) -> None:
    sasl = {"auth_scheme": "sasl_digest_md5", "auth_credential": "alice:wonder"}
    store = open_store(guarded.members[0].address, **sasl)
    assert store.commit([(Create("/hers", b""),)]) == [Committed()]
    assert store.read(["/hers"])[0] is not None
    with pytest.raises(AccessDenied, match=r"may not read /hers"):
        open_store(guarded.members[0].address).read(["/hers"])


def test_a_wrong_sasl_password(open_store: StoreMaker, guarded: Ensemble) -> None:
    with pytest.raises(AccessDenied, match=r"authentication failed. Check auth_scheme .sasl_digest_md5."):
        open_store(guarded.members[0].address, auth_scheme="sasl_digest_md5", auth_credential="alice:wrong")


PIP = f"{sys.executable} -m pip install"
NO_KAZOO = (
    f"{sys.executable} lacks the Python package kazoo (import of kazoo.client halted; None in sys.modules)."
    f" Run `{PIP} kazoo` on this host."
)
OLD_KAZOO = (
    f"{sys.executable} has kazoo 2.8.0, and 2.10 or later is needed. Run `{PIP} 'kazoo>=2.10'` on this host."
)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ('sys.modules["kazoo.client"] = None', NO_KAZOO),
        ('import kazoo.version; kazoo.version.__version__ = "2.8.0"', OLD_KAZOO),
    ],
    ids=["none", "older"],
)
def test_a_python_without_kazoo_or_with_an_older_one(hot: Ensemble, change: str, said: str) -> None:
    program = f"""
        import sys
        sys.path[:0] = {sys.path!r}
        {change}
        from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import PartMoveError
        from ansible_collections.olap.partmove.plugins.module_utils._zookeeper.options import EnsembleOptions
        from ansible_collections.olap.partmove.plugins.module_utils._zookeeper.store import connect
        try:
            connect(EnsembleOptions(name="hot", hosts=({hot.members[0].address!r},)))
        except PartMoveError as error:
            sys.exit(str(error))
    """
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, check=False
    )
    assert (run.returncode, run.stderr) == (1, f"{said}\n")
