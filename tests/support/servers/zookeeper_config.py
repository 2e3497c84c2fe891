# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The configuration files and the command line of a ZooKeeper server."""

from __future__ import annotations

import base64
import hashlib
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

from support.servers.downloads import NotToBeHad
from support.servers.jvm import ZOOKEEPER, small_jvm
from support.servers.process import ServerError
from support.servers.tls import TlsFiles
from support.servers.zookeeper_releases import Release

# Figures for jps and the like, which nobody reads, are written twenty times a second.
_JVM = ("-Xmx256m", "-XX:-UsePerfData", *small_jvm(ZOOKEEPER))

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

_DEBIAN_JARS = Path("/usr/share/java")
_DEBIAN_CLASSES = (
    "zookeeper",
    "zookeeper-jute",
    "slf4j-api",
    "slf4j-simple",
    "netty-all",
    "commons-io",
    "commons-cli",
    "metrics-core",
    "snappy-java",
)

_LOG4J = """\
appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{ISO8601} [myid:%X{myid}] %-5p [%t] %c{1} - %m%n
rootLogger.level = INFO
rootLogger.appenderRef.console.ref = console
# One line a connection otherwise, and one for each time the harness asks whether it serves.
logger.connections.name = org.apache.zookeeper.server.NIOServerCnxn
logger.connections.level = WARN
logger.sessions.name = org.apache.zookeeper.server.ZooKeeperServer
logger.sessions.level = ERROR
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
    debian: run the ZooKeeper of the package libzookeeper-java (3.8) instead of that of pyspark.
    release: run this release of ZooKeeper instead.
    """

    participants: int = 1
    observers: int = 0
    tick_ms: int = 500
    jvm: tuple[str, ...] = _JVM
    superuser: str | None = None
    tls: TlsFiles | None = None
    sasl_users: Mapping[str, str] = field(default_factory=dict)
    properties: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)
    publish_clients: bool = False
    debian: bool = False
    release: Release | None = None

    def __post_init__(self) -> None:
        """Refuse an ensemble that ZooKeeper would not form."""
        if self.participants < 1:
            raise ValueError("an ensemble needs at least one participant")
        if self.observers and self.participants == 1:
            raise ValueError("observers need at least 2 participants: a standalone server accepts none")
        if self.publish_clients and self.participants == 1:
            raise ValueError("a standalone server publishes no client addresses: leave publish_clients out")


@dataclass(frozen=True)
class MemberPorts:
    """The loopback ports of one member."""

    client: int
    quorum: int
    election: int
    secure: int


@dataclass(frozen=True)
class MemberFiles:
    """Where one member listens, what it may do (participant or observer) and where its files lie."""

    myid: int
    role: str
    ports: MemberPorts
    folder: Path

    @property
    def data_dir(self) -> Path:
        """The folder whose version-2 subfolder holds snapshots and transaction logs."""
        return self.folder / "data"


def write_files(options: EnsembleOptions, member: MemberFiles, members: Sequence[MemberFiles]) -> None:
    """Write all that one of `members` reads at its start."""
    member.data_dir.mkdir(parents=True, exist_ok=True)
    (member.data_dir / "myid").write_text(f"{member.myid}\n")
    (member.folder / "log4j2.properties").write_text(_LOG4J)
    (member.folder / "jaas.conf").write_text(_jaas(options.sasl_users))
    settings = _settings(options, member, members)
    (member.folder / "zoo.cfg").write_text("".join(f"{key}={value}\n" for key, value in settings.items()))


def command(options: EnsembleOptions, member: MemberFiles) -> tuple[str, ...]:
    """Return the command line of a member.

    Raises:
        ServerError: no Java, or no ZooKeeper jars, on this machine.
    """
    properties = {
        "zookeeper.forceSync": "no",
        # Releases before 3.6 would look for log4j 1.
        "zookeeper.jmx.log4j.disable": "true",
        "log4j2.configurationFile": str(member.folder / "log4j2.properties"),
    }
    if options.superuser:
        properties["zookeeper.DigestAuthenticationProvider.superDigest"] = super_digest(options.superuser)
    if options.sasl_users:
        properties["java.security.auth.login.config"] = str(member.folder / "jaas.conf")
    properties |= dict(options.properties)
    return (
        java(),
        *options.jvm,
        *(f"-D{name}={value}" for name, value in properties.items()),
        "-cp",
        debian_classpath() if options.debian else classpath(options.release),
        options.release.main_class
        if options.release
        else "org.apache.zookeeper.server.quorum.QuorumPeerMain",
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


def classpath(release: Release | None = None) -> str:
    """Return the class path of a ZooKeeper server, of that of pyspark or of another release.

    Raises:
        ServerError: pyspark is not installed, or carries no ZooKeeper; the release is not there.
    """
    spec = find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise ServerError("the package pyspark is not installed: run `make setup`")
    folder = Path(spec.origin).parent / "jars"
    jars = sorted(str(jar) for pattern in _JARS for jar in folder.glob(f"{pattern}.jar"))
    if not any("/zookeeper-" in jar for jar in jars):
        raise ServerError(f"{folder} holds no zookeeper-*.jar: install a pyspark of requirements.txt")
    return ":".join(jars if release is None else [*_jars_of(release), *_without_zookeeper(jars)])


def _jars_of(release: Release) -> list[str]:
    try:
        return [str(jar) for jar in release.jars()]
    except NotToBeHad as error:
        raise ServerError(f"no ZooKeeper {release.version} here: {error}") from error


def _without_zookeeper(jars: Sequence[str]) -> list[str]:
    return [jar for jar in jars if "/zookeeper-" not in jar]


def debian_classpath() -> str:
    """Return the class path of the ZooKeeper server that Debian packages.

    Raises:
        ServerError: it is not installed.
    """
    jars = [_DEBIAN_JARS / f"{name}.jar" for name in _DEBIAN_CLASSES]
    if not all(jar.exists() for jar in jars):
        raise ServerError("no ZooKeeper of Debian here: apt-get install libzookeeper-java, or `make setup`")
    return ":".join(map(str, jars))


def super_digest(credentials: str) -> str:
    """Return what ZooKeeper stores of the digest credentials "name:password"."""
    name = credentials.partition(":")[0]
    digest = base64.b64encode(hashlib.sha1(credentials.encode(), usedforsecurity=False).digest()).decode()
    return f"{name}:{digest}"


def _settings(
    options: EnsembleOptions, member: MemberFiles, members: Sequence[MemberFiles]
) -> dict[str, str]:
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
    if len(members) > 1:
        settings |= _quorum_settings(options, member, members)
    if options.tls:
        settings |= options.tls.server_settings() | {
            "secureClientPort": str(member.ports.secure),
            "secureClientPortAddress": "127.0.0.1",
            "serverCnxnFactory": "org.apache.zookeeper.server.NettyServerCnxnFactory",
        }
    if options.publish_clients:
        del settings["clientPort"], settings["clientPortAddress"]
    if options.sasl_users:
        settings["authProvider.sasl"] = "org.apache.zookeeper.server.auth.SASLAuthenticationProvider"
    return settings | dict(options.settings)


def _quorum_settings(
    options: EnsembleOptions, member: MemberFiles, members: Sequence[MemberFiles]
) -> dict[str, str]:
    settings = {"initLimit": "40", "syncLimit": "20"}
    if member.role == "observer":
        settings["peerType"] = "observer"
    for other in members:
        line = f"127.0.0.1:{other.ports.quorum}:{other.ports.election}:{other.role}"
        client = f";127.0.0.1:{other.ports.client}" if options.publish_clients else ""
        settings[f"server.{other.myid}"] = line + client
    return settings


def _jaas(users: Mapping[str, str]) -> str:
    if not users:
        return ""
    lines = "\n".join(f'  user_{name}="{password}"' for name, password in users.items())
    return f"Server {{\n  org.apache.zookeeper.server.auth.DigestLoginModule required\n{lines};\n}};\n"
