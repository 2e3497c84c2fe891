# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Real ZooKeeper ensembles, run from the jars that the installed pyspark package carries."""

from __future__ import annotations

import base64
import hashlib
import shutil
import socket
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Self

from support.ports import ReservedPorts
from support.process import POLL_SECONDS, ServerError, ServerProcess
from support.tls import TlsFiles

START_SECONDS = 60.0
SMALL_JVM = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto")

_JARS = (
    "zookeeper-*",
    "netty-*",
    "slf4j-api-*",
    "log4j-api-*",
    "log4j-core-*",
    "log4j-slf4j2-impl-*",
    "commons-cli-*",
    "commons-io-*",
    "metrics-core-*",
    "snappy-java-*",
)

_LOG4J = """\
appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{ISO8601} [myid:%X{myid}] %-5p [%t] %c{1} - %m%n
rootLogger.level = INFO
rootLogger.appenderRef.console.ref = console
"""


@dataclass(frozen=True)
class EnsembleOptions:
    """What an ensemble is made of.

    participants: voting members; 1 is a standalone server.
    observers: members without a vote; they need at least 2 participants.
    tick_ms: ZooKeeper's tickTime; session timeouts lie between 2 ticks and 60 s.
    jvm: options of every JVM.
    superuser: "name:password" of the digest super user, which may do anything with every znode.
    tls: also listen with TLS on `Member.secure_address`; clients need a certificate of `tls`.
    sasl_users: passwords by user name for SASL DIGEST-MD5.
    properties: further Java system properties, for example {"jute.maxbuffer": "4194304"}.
    settings: further lines of zoo.cfg.
    publish_clients: name the client address in each server line, so that /zookeeper/config lists it;
        with a separate clientPort line, as by default, that znode knows the quorum ports only.
    """

    participants: int = 1
    observers: int = 0
    tick_ms: int = 500
    jvm: tuple[str, ...] = SMALL_JVM
    superuser: str | None = None
    tls: TlsFiles | None = None
    sasl_users: Mapping[str, str] = field(default_factory=dict)
    properties: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)
    publish_clients: bool = False

    def __post_init__(self) -> None:
        """Refuse an ensemble that ZooKeeper would not form."""
        if self.participants < 1:
            raise ValueError("an ensemble needs at least one participant")
        if self.observers and self.participants == 1:
            raise ValueError("observers need at least 2 participants: a standalone server accepts none")


@dataclass(frozen=True)
class MemberPorts:
    """The loopback ports of one member."""

    client: int
    quorum: int
    election: int
    secure: int


class Member:
    """One ZooKeeper server of an ensemble."""

    def __init__(self, myid: int, role: str, ports: MemberPorts, folder: Path) -> None:
        """Describe the member; `Ensemble` writes its files and sets `process`."""
        self.myid = myid
        self.role = role
        self.ports = ports
        self.folder = folder
        self.process = ServerProcess(f"ZooKeeper member {myid}", (), folder / "zookeeper.log")

    @property
    def address(self) -> str:
        """Where clients connect, as 127.0.0.1:port."""
        return f"127.0.0.1:{self.ports.client}"

    @property
    def secure_address(self) -> str:
        """Where clients connect with TLS; only listening with `EnsembleOptions.tls`."""
        return f"127.0.0.1:{self.ports.secure}"

    @property
    def data_dir(self) -> Path:
        """The folder whose version-2 subfolder holds snapshots and transaction logs."""
        return self.folder / "data"

    @property
    def pid(self) -> int:
        """The process id of the JVM."""
        return self.process.pid

    @property
    def running(self) -> bool:
        """Whether the JVM exists."""
        return self.process.running

    def start(self) -> None:
        """Start the server and wait until it serves clients; needs a majority that runs.

        Raises:
            ServerError: it did not; the text holds the end of its log.
        """
        self.process.start(self.serving, START_SECONDS)

    def stop(self) -> None:
        """End the server in an orderly way."""
        self.process.stop()

    def kill(self) -> None:
        """End the server at once."""
        self.process.kill()

    def pause(self) -> None:
        """Freeze the server: connections stay open, nobody answers."""
        self.process.pause()

    def resume(self) -> None:
        """Let a paused server go on."""
        self.process.resume()

    def log_tail(self, lines: int = 40) -> str:
        """Return the last lines of the server's log."""
        return self.process.log_tail(lines)

    def four_letter(self, word: str, seconds: float = 5.0) -> str:
        """Send a four-letter command such as `srvr`, `mntr` or `cons`, and return the answer.

        Raises:
            OSError: nobody answers.
        """
        with socket.create_connection(("127.0.0.1", self.ports.client), seconds) as connection:
            connection.sendall(word.encode())
            chunks = iter(lambda: connection.recv(65_536), b"")
            return b"".join(chunks).decode()

    def mode(self) -> str | None:
        """Return standalone, leader, follower or observer, or None when the member does not serve."""
        try:
            answer = self.four_letter("srvr", 2.0)
        except OSError:
            return None
        modes = [line.removeprefix("Mode: ") for line in answer.splitlines() if line.startswith("Mode: ")]
        return modes[0] if modes else None

    def serving(self) -> bool:
        """Whether the member answers clients now."""
        return self.mode() is not None

    def monitor(self) -> dict[str, str]:
        """Return the values of `mntr`, for example zk_znode_count and zk_packets_received."""
        lines = self.four_letter("mntr").splitlines()
        return {name: value for name, _, value in (line.partition("\t") for line in lines)}


class Ensemble:
    """A standalone server or a quorum of members; as a context manager it is started and stopped."""

    def __init__(self, folder: Path, options: EnsembleOptions | None = None) -> None:
        """Reserve ports and write every member's configuration below `folder`.

        Raises:
            ServerError: no Java, or no ZooKeeper jars, on this machine.
        """
        self.options = options or EnsembleOptions()
        self.folder = folder
        self._reserved = ReservedPorts()
        count = self.options.participants + self.options.observers
        self.members = [self._member(myid) for myid in range(1, count + 1)]
        for member in self.members:
            self._write_files(member)
            member.process.command = self._command(member)

    def __enter__(self) -> Self:
        """Start all members."""
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop all members and give the ports back."""
        self.close()

    @property
    def connect_string(self) -> str:
        """The addresses of all members, separated by commas."""
        return ",".join(member.address for member in self.members)

    @property
    def secure_connect_string(self) -> str:
        """The TLS addresses of all members, separated by commas."""
        return ",".join(member.secure_address for member in self.members)

    def start(self) -> None:
        """Start all members together and wait until each serves clients.

        Raises:
            ServerError: a member did not; all members are stopped then.
        """
        try:
            for member in self.members:
                member.process.spawn()
            for member in self.members:
                member.process.wait_until(member.serving, START_SECONDS)
        except BaseException:
            self.kill()
            raise

    def stop(self) -> None:
        """End all members in an orderly way, keeping data and ports."""
        for member in self.members:
            member.stop()

    def kill(self) -> None:
        """End all members at once, keeping data and ports."""
        for member in self.members:
            member.kill()

    def close(self) -> None:
        """End all members and give the ports back; the data stays in `folder`."""
        self.kill()
        self._reserved.release()

    def leader(self) -> Member:
        """Return the leader, or the only member of a standalone ensemble.

        Raises:
            ServerError: no member leads within START_SECONDS.
        """
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            leaders = self.in_modes({"leader", "standalone"})
            if leaders:
                return leaders[0]
            time.sleep(POLL_SECONDS)
        raise ServerError(f"no member of {self.connect_string} became leader within {START_SECONDS:g} s")

    def followers(self) -> list[Member]:
        """Return the members that follow now."""
        return self.in_modes({"follower"})

    def in_modes(self, modes: Iterable[str]) -> list[Member]:
        """Return the running members whose mode is one of `modes`."""
        wanted = set(modes)
        return [member for member in self.members if member.running and member.mode() in wanted]

    def _member(self, myid: int) -> Member:
        take = self._reserved.take
        ports = MemberPorts(client=take(), quorum=take(), election=take(), secure=take())
        role = "participant" if myid <= self.options.participants else "observer"
        return Member(myid, role, ports, self.folder / f"member-{myid}")

    def _write_files(self, member: Member) -> None:
        member.data_dir.mkdir(parents=True, exist_ok=True)
        (member.data_dir / "myid").write_text(f"{member.myid}\n")
        (member.folder / "log4j2.properties").write_text(_LOG4J)
        (member.folder / "jaas.conf").write_text(self._jaas())
        settings = self._settings(member)
        (member.folder / "zoo.cfg").write_text("".join(f"{key}={value}\n" for key, value in settings.items()))

    def _settings(self, member: Member) -> dict[str, str]:
        options = self.options
        settings = {
            "tickTime": str(options.tick_ms),
            "minSessionTimeout": str(2 * options.tick_ms),
            "maxSessionTimeout": "60000",
            "dataDir": str(member.data_dir),
            "clientPort": str(member.ports.client),
            "clientPortAddress": "127.0.0.1",
            "maxClientCnxns": "0",
            "admin.enableServer": "false",
            "4lw.commands.whitelist": "*",
            "extendedTypesEnabled": "true",
        }
        if len(self.members) > 1:
            settings |= {"initLimit": "40", "syncLimit": "20"} | self._server_lines()
            if member.role == "observer":
                settings["peerType"] = "observer"
            if options.publish_clients:
                del settings["clientPort"], settings["clientPortAddress"]
        if options.tls:
            settings |= options.tls.server_settings() | {
                "secureClientPort": str(member.ports.secure),
                "secureClientPortAddress": "127.0.0.1",
                "serverCnxnFactory": "org.apache.zookeeper.server.NettyServerCnxnFactory",
            }
        if options.sasl_users:
            settings["authProvider.sasl"] = "org.apache.zookeeper.server.auth.SASLAuthenticationProvider"
        return settings | dict(options.settings)

    def _server_lines(self) -> dict[str, str]:
        return {
            f"server.{other.myid}": f"127.0.0.1:{other.ports.quorum}:{other.ports.election}:{other.role}"
            + (f";{other.address}" if self.options.publish_clients else "")
            for other in self.members
        }

    def _jaas(self) -> str:
        users = "\n".join(f'  user_{name}="{password}"' for name, password in self.options.sasl_users.items())
        login = "org.apache.zookeeper.server.auth.DigestLoginModule required"
        return f"Server {{\n  {login}\n{users};\n}};\n" if users else ""

    def _command(self, member: Member) -> tuple[str, ...]:
        properties = {
            "zookeeper.forceSync": "no",
            "log4j2.configurationFile": str(member.folder / "log4j2.properties"),
        }
        if self.options.superuser:
            digest = super_digest(self.options.superuser)
            properties["zookeeper.DigestAuthenticationProvider.superDigest"] = digest
        if self.options.sasl_users:
            properties["java.security.auth.login.config"] = str(member.folder / "jaas.conf")
        properties |= dict(self.options.properties)
        return (
            java(),
            *self.options.jvm,
            *(f"-D{name}={value}" for name, value in properties.items()),
            "-cp",
            classpath(),
            "org.apache.zookeeper.server.quorum.QuorumPeerMain",
            str(member.folder / "zoo.cfg"),
        )


def java() -> str:
    """Return the path of the `java` program.

    Raises:
        ServerError: it is not on the PATH.
    """
    program = shutil.which("java")
    if program is None:
        raise ServerError("no `java` on the PATH: apt-get install openjdk-17-jre-headless, or any JRE 17")
    return program


def classpath() -> str:
    """Return the class path of a ZooKeeper server.

    Raises:
        ServerError: pyspark is not installed, or carries no ZooKeeper.
    """
    spec = find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise ServerError("the package pyspark is not installed: run `make setup`")
    folder = Path(spec.origin).parent / "jars"
    jars = sorted(str(jar) for pattern in _JARS for jar in folder.glob(f"{pattern}.jar"))
    if not any("/zookeeper-" in jar for jar in jars):
        raise ServerError(f"{folder} holds no zookeeper-*.jar: install a pyspark of requirements.txt")
    return ":".join(jars)


def super_digest(credentials: str) -> str:
    """Return what ZooKeeper stores of the digest credentials "name:password"."""
    name, _, _ = credentials.partition(":")
    digest = base64.b64encode(hashlib.sha1(credentials.encode(), usedforsecurity=False).digest()).decode()
    return f"{name}:{digest}"
