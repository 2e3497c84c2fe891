# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Options of the connections to the HTTP interfaces of ClickHouse servers."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from .._partmove.errors import PartMoveError

_CONTROL_CHARACTER = re.compile(r"[\x00-\x1f\x7f]")


@dataclass(frozen=True)
class ClickHouseOptions:
    """How to connect to the servers of the replicas.

    port: port of the HTTP interface, which ZooKeeper does not know; with TLS usually 8443.
    user, password: a user with access to the database ``system``.
    secure: whether to use TLS.
    ca: PEM file of certificate authorities of the servers, in addition to the system's.
    verify: whether to refuse a server whose certificate no known authority has signed for its host.
    endpoints: replica name → ``host:port``, or ``host`` alone. For replicas that are not reachable at
        ``port`` of the host that they published.
    timeout: seconds to wait for a connection, and for each answer.
    """

    port: int = 8123
    user: str = "default"
    password: str = field(default="", repr=False)
    secure: bool = False
    ca: str = ""
    verify: bool = True
    endpoints: Mapping[str, str] = field(default_factory=dict)
    timeout: float = 30.0

    def __post_init__(self) -> None:
        """Raise PartMoveError for options with which no server could be queried."""
        if not 0 < self.port < 65_536:
            raise PartMoveError(
                f"The HTTP port of ClickHouse is {self.port}", remedy="Give a port from 1 to 65535"
            )
        if not self.timeout > 0:
            raise PartMoveError(
                f"The timeout for ClickHouse is {self.timeout}",
                remedy="Give a number of seconds greater than 0",
            )
        for setting, text in (("user", self.user), ("password", self.password)):
            if _CONTROL_CHARACTER.search(text):
                raise PartMoveError(
                    f"The {setting} for ClickHouse has a character that cannot be sent",
                    remedy="Check whether it ends with a line break",
                )
        self._check_tls()
        for replica in self.endpoints:
            self.endpoint_of(replica)

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> ClickHouseOptions:
        """Build the options from the option ``clickhouse``; None means not set. Raises PartMoveError."""
        return cls(**{name: value for name, value in settings.items() if value is not None})

    def endpoint_of(self, replica: str) -> tuple[str, int] | None:
        """Return the configured host and port of the replica; None if the replica has no endpoint."""
        if replica not in self.endpoints:
            return None
        return endpoint(self.endpoints[replica], self.port, f"replica {replica}")

    def _check_tls(self) -> None:
        if self.ca and not self.secure:
            raise PartMoveError(
                "ClickHouse has a ca, but secure is false", remedy="Set secure to true, or remove ca"
            )
        if self.ca and not os.access(self.ca, os.R_OK):
            raise PartMoveError(
                f"The TLS file {self.ca} (ca of ClickHouse) cannot be read",
                remedy="Give the path of a PEM file that this user may read",
            )


def endpoint(text: str, port: int, owner: str) -> tuple[str, int]:
    """Split ``host:port``; the default of the port is ``port``. Raises PartMoveError for other text."""
    try:
        parts = urlsplit(f"//{text}")
        port_given = parts.port
    except ValueError:
        port_given = 0
    if port_given == 0 or not parts.hostname or parts.netloc != text or "@" in text:
        raise PartMoveError(
            f"The endpoint {text!r} of {owner} is not host:port",
            remedy="Write host:port, or [address]:port for IPv6",
        )
    return parts.hostname, port if port_given is None else port_given
