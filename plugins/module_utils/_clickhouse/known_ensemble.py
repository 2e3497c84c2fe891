# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Checks whether a running server uses an auxiliary ensemble as desired, and reloads its configuration.

There are three sources: the preprocessed configuration file of the server, if this runs on its host;
``system.zookeeper_connection`` for the member that a session is with, in versions from 2023 on; and
``system.zookeeper`` for any ensemble, in versions from the middle of 2025 on.

The file alone proves little: a server writes it before it connects to changed members. If none of these
members answers, SYSTEM RELOAD CONFIG fails, and the server keeps the former members, even unreachable ones,
until the next SYSTEM RELOAD CONFIG.
"""

from __future__ import annotations

import ipaddress
import time
from collections.abc import Sequence
from typing import NamedTuple

from .._partmove.errors import FormatError, PartMoveError
from .._partmove.formats.sql import literal
from .auxiliary import children_in
from .client import ClickHouseClient, QueryRefused
from .config.files import Config
from .config.hidden import HiddenParts, hidden_parts
from .config.local_files import ConfigFiles
from .config.names import AUXILIARY_ELEMENT
from .config.sections import MergedElement
from .config.zookeeper_element import ElementContent, Node
from .query_errors import KEEPER_EXCEPTION, ServerSilent
from .system_tables import columns_of
from .versions import require_auxiliary_tables

_PAUSES = (0.1, 0.3, 0.6, 1.0)
_UNSUPPORTED_METHOD = 1
_CANNOT_LOAD_CONFIG = 347
_NO_PARENT = "/zookeeper/config"
"""A znode without children; below a root of the element there is no such znode, and the answer is empty too.
A server reads the data of all children of a znode, and ends its session if it may not read one of them."""
_OF_ENSEMBLE = "Coordination::Exception"
_UNKNOWN_NAME = "Unknown auxiliary ZooKeeper name"


class KnownEnsemble(NamedTuple):
    """The current state of an ensemble on a server.

    read: whether the preprocessed configuration has the desired element; None without such a file, and for an
        element that it must not show.
    answers: whether the server knows the ensemble and has a session; None if the version cannot report this.
    problem: why `answers` is False.
    connected: members that the server has a session with, as far as the version reports them.
    is_hidden: whether the preprocessed configuration must not show something desired, which is unknown then.
    """

    read: bool | None
    answers: bool | None
    problem: str
    connected: tuple[Node, ...]
    is_hidden: bool = False

    @property
    def is_known(self) -> bool:
        """Whether nothing shows that the server uses a configuration without the desired ensemble."""
        return self.read is not False and _UNKNOWN_NAME not in self.problem

    @property
    def shows_session(self) -> bool:
        """Whether the server shows a session with the ensemble: the members are known from it then."""
        return self.answers is True or bool(self.connected)


class EnsembleOfServer:
    """Reads the state of one ensemble in ``<auxiliary_zookeepers>`` on one server."""

    def __init__(
        self,
        client: ClickHouseClient,
        name: str,
        desired: ElementContent,
        preprocessed: Sequence[str],
        config: str = "",
    ) -> None:
        """Take the client, the name and the desired content of the ensemble, and paths of files on this host.

        preprocessed: the first existing file counts.
        config: the config.xml, which marks what the preprocessed file must not show; empty if unknown.
        """
        self._client = client
        self._name = name
        self._desired = desired
        self._preprocessed = preprocessed
        self._config = config

    def version(self) -> str:
        """Return the version of the server, whose tables can be in an auxiliary ensemble.

        Raises VersionRefused for another version, and PartMoveError if the server does not answer.
        """
        require_auxiliary_tables(self._client)
        return self._client.version()

    def read_state(self) -> KnownEnsemble:
        """Return the current state. Raises PartMoveError if the server does not answer."""
        answers, problem = self._answers()
        # Without an answer of the ensemble the problem says more than the session does.
        connected = () if answers is False else self._connected()
        read, is_hidden = self._has_read()
        return KnownEnsemble(read, answers, problem, connected, is_hidden)

    def difference(self, known: KnownEnsemble) -> str:
        """Return how the state differs from the desired one, as a part of a sentence; "" if it does not."""
        if known.read is False:
            return "its preprocessed configuration does not have the desired element"
        if known.answers is False:
            return known.problem
        foreign = [each.address for each in known.connected if _is_foreign(each, self._desired.nodes)]
        return f"it has a session with {', '.join(foreign)}, which is no member" if foreign else ""

    def reload(self) -> str:
        """Make the server reload its configuration; return "", or why this version cannot.

        Raises PartMoveError if the user lacks the permission, or if the server cannot read a file or cannot
        connect to an ensemble.
        """
        try:
            self._client.execute("SYSTEM RELOAD CONFIG")
        except QueryRefused as error:
            if error.code == _UNSUPPORTED_METHOD:
                return error.text
            if _is_of_ensemble(error):
                raise PartMoveError(
                    f"{self._client.label} cannot connect to an ensemble of its new configuration:"
                    f" {error.text}",
                    remedy="Check that the members serve this server, and run again: the server keeps the"
                    " former members until then",
                ) from None
            raise PartMoveError(
                error.message,
                remedy="Grant the user SYSTEM RELOAD CONFIG, or repair the named file: the server would not"
                " start with the file either",
            ) from None
        return ""

    def _has_read(self) -> tuple[bool | None, bool]:
        """Return whether the server has read the desired element, and whether something of it is hidden."""
        for path in self._preprocessed:
            if ConfigFiles(path).read(path) is not None:
                return self._compare(self._read_section(path))
        return None, False

    def _read_section(self, path: str) -> MergedElement | None:
        """Return the element in the preprocessed file.

        The server writes the file in place, so that it may be empty or cut off for a moment.
        """
        for pause in _PAUSES:
            try:
                return self._section_of(path)
            except FormatError:
                time.sleep(pause)
        return self._section_of(path)

    def _section_of(self, path: str) -> MergedElement | None:
        sections = Config(ConfigFiles(path)).sections(f"{AUXILIARY_ELEMENT}/{self._name}")
        return sections[0] if sections else None

    def _compare(self, section: MergedElement | None) -> tuple[bool | None, bool]:
        if section is not None and section.has(self._desired):
            return True, False
        members, settings = self._hidden_parts()
        if members:
            return None, True
        shown = {child.tag for child in section.children} if section is not None else set()
        unknown = (settings & {*self._desired.settings}) - shown
        if section is None or not unknown:
            return False, False
        compared = {name: text for name, text in self._desired.settings.items() if name not in unknown}
        return section.has(ElementContent(self._desired.nodes, compared)), True

    def _hidden_parts(self) -> HiddenParts:
        if not self._config or ConfigFiles(self._config).read(self._config) is None:
            return HiddenParts()
        return hidden_parts(Config(ConfigFiles(self._config)), f"{AUXILIARY_ELEMENT}/{self._name}")

    def _answers(self) -> tuple[bool | None, str]:
        if not self._has_column("zookeeper", "zookeeperName"):
            return None, ""
        try:
            self._client.rows(
                f"SELECT name FROM system.zookeeper WHERE {children_in(self._name, _NO_PARENT)}"
            )
        except QueryRefused as error:
            return False, error.text
        except ServerSilent:
            # The server answered earlier queries, so it waits for the ensemble.
            return False, "it waits longer for an answer of the ensemble than a query may take"
        return True, ""

    def _connected(self) -> tuple[Node, ...]:
        if not self._has_column("zookeeper_connection", "name"):
            return ()
        rows = self._client.rows(
            f"SELECT host, port FROM system.zookeeper_connection WHERE name = {literal(self._name)}"
        )
        # Versions before the middle of 2025 show the host with the scheme of TLS.
        return tuple(Node(str(host).removeprefix("secure://"), str(port)) for host, port in rows)

    def _has_column(self, table: str, column: str) -> bool:
        return column in columns_of(self._client, table)


def _is_of_ensemble(error: QueryRefused) -> bool:
    """Whether a reload failed because no member of an ensemble answers; later versions nest the error."""
    return error.code == KEEPER_EXCEPTION or (
        error.code == _CANNOT_LOAD_CONFIG and _OF_ENSEMBLE in error.text
    )


def _is_foreign(connected: Node, desired: Sequence[Node]) -> bool:
    """Whether the address is none of the desired members; an IP address may belong to any name."""
    if _normalized(connected) in map(_normalized, desired):
        return False
    if not _is_ip(connected.host):
        return True
    return all(_is_ip(each.host) or each.port != connected.port for each in desired)


def _normalized(node: Node) -> tuple[str, str]:
    """Return host and port; an IPv6 address loses its brackets, which not every source writes."""
    return node.host.strip("[]").lower(), node.port


def _is_ip(host: str) -> bool:
    try:
        ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return False
    return True
