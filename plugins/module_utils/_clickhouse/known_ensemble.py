# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether a running server works with an auxiliary ensemble as it is wanted, and has it read that again.

Two things tell it: the file in which a server keeps what it has made of its configuration, where this runs on
its host, and, in versions since the middle of 2025, ``system.zookeeper`` for any ensemble.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from typing import NamedTuple

from .._partmove.errors import PartMoveError
from .._partmove.formats.sql import literal
from .client import ClickHouseClient, QueryRefused, ServerSilent
from .config.files import Config
from .config.local_files import ConfigFiles
from .config.names import AUXILIARY_ELEMENT
from .config.zookeeper_element import ElementContent, Node

_UNSUPPORTED_METHOD = 1
_UNKNOWN_NAME = "Unknown auxiliary ZooKeeper name"


class KnownEnsemble(NamedTuple):
    """What a server has of an ensemble.

    read: whether it has read of it what is wanted; None where there is no file that tells.
    answers: whether it knows the name and has a session that answers; None where the version does not tell.
    problem: why `answers` is False.
    connected: members that it has a session with, as far as it tells.
    """

    read: bool | None
    answers: bool | None
    problem: str
    connected: tuple[Node, ...]

    @property
    def is_known(self) -> bool:
        """Whether nothing says that the server works with a configuration without it, or with another one."""
        return self.read is not False and _UNKNOWN_NAME not in self.problem


class EnsembleOfServer:
    """Looks at one ensemble in ``<auxiliary_zookeepers>`` of one server."""

    def __init__(
        self, client: ClickHouseClient, name: str, wanted: ElementContent, preprocessed: Sequence[str]
    ) -> None:
        """Take whom to ask, what is wanted, and where the server may keep what it has read.

        preprocessed: paths on this host, of which the first that is there counts.
        """
        self._client = client
        self._name = name
        self._wanted = wanted
        self._preprocessed = preprocessed

    def version(self) -> str:
        """The version that the server says it has; raises PartMoveError where it does not answer."""
        return str(self._client.rows("SELECT version()")[0][0])

    def look(self) -> KnownEnsemble:
        """What the server has now; raises PartMoveError where it does not answer."""
        answers, problem = self._answers()
        return KnownEnsemble(self._has_read(), answers, problem, self._connected() if answers else ())

    def unlike(self, known: KnownEnsemble) -> str:
        """What the server has otherwise than wanted, as a part of a sentence; empty where nothing is."""
        if known.read is False:
            return "what it has read of its configuration does not have it so"
        if known.answers is False:
            return known.problem
        strange = [each.address for each in known.connected if _is_strange(each, self._wanted.nodes)]
        return f"it has a session with {', '.join(strange)}, which is no member" if strange else ""

    def reload(self) -> str:
        """Have the server read its configuration again; why it cannot, empty where it did.

        Raises PartMoveError where it refuses, as where the user may not, or where it cannot read a file.
        """
        try:
            self._client.execute("SYSTEM RELOAD CONFIG")
        except QueryRefused as error:
            if error.code == _UNSUPPORTED_METHOD:
                return error.text
            raise PartMoveError(
                error.message,
                remedy="Grant the user SYSTEM RELOAD CONFIG, or put right the file that is named, with which"
                " the server would not start either",
            ) from None
        return ""

    def _has_read(self) -> bool | None:
        for path in self._preprocessed:
            files = ConfigFiles(path)
            if files.read(path) is not None:
                sections = Config(files).sections(f"{AUXILIARY_ELEMENT}/{self._name}")
                return bool(sections) and sections[0].says(self._wanted)
        return None

    def _answers(self) -> tuple[bool | None, str]:
        if not self._has_column("zookeeper", "zookeeperName"):
            return None, ""
        try:
            self._client.rows(
                "SELECT name FROM system.zookeeper"
                f" WHERE path = '/' AND zookeeperName = {literal(self._name)} LIMIT 1"
            )
        except QueryRefused as error:
            return False, error.text
        except ServerSilent:
            # It has answered what it is asked before this.
            return False, "it waits for an answer of the ensemble for longer than a query may take"
        return True, ""

    def _connected(self) -> tuple[Node, ...]:
        if not self._has_column("zookeeper_connection", "name"):
            return ()
        rows = self._client.rows(
            f"SELECT host, port FROM system.zookeeper_connection WHERE name = {literal(self._name)}"
        )
        return tuple(Node(str(host), str(port)) for host, port in rows)

    def _has_column(self, table: str, column: str) -> bool:
        return bool(
            self._client.rows(
                "SELECT name FROM system.columns WHERE database = 'system'"
                f" AND table = {literal(table)} AND name = {literal(column)}"
            )
        )


def _is_strange(connected: Node, wanted: Sequence[Node]) -> bool:
    """Whether it is none of the members that are wanted; an address may be that of any name."""
    if _plain(connected) in map(_plain, wanted):
        return False
    if not _is_ip(connected.host):
        return True
    return all(_is_ip(each.host) or each.port != connected.port for each in wanted)


def _plain(node: Node) -> tuple[str, str]:
    """Host and port, with no brackets around an IPv6 address, which only some write."""
    return node.host.strip("[]").lower(), node.port


def _is_ip(host: str) -> bool:
    try:
        ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return False
    return True
