# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Address of an ensemble and connection options."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from math import isnan
from urllib.parse import urlsplit

from .._partmove.errors import EnsembleError, FormatError
from .._partmove.formats.layout import check_shard_path

AUTH_SCHEMES = ("digest", "sasl_digest_md5", "sasl_gssapi")


@dataclass(frozen=True)
class TlsOptions:
    """TLS options of a connection; all files are PEM.

    ca: certificate authorities of the servers, in addition to the system's.
    cert, key: client certificate and key, both or none.
    key_password: password of the key.
    verify: reject server certificates without a known authority.
    check_hostname: reject server certificates of other hosts.
    """

    ca: str = ""
    cert: str = ""
    key: str = ""
    key_password: str = field(default="", repr=False)
    verify: bool = True
    check_hostname: bool = True

    def __post_init__(self) -> None:
        """Reject unreadable files and contradictory settings."""
        for setting, path in (("ca", self.ca), ("cert", self.cert), ("key", self.key)):
            if path and not os.access(path, os.R_OK):
                raise EnsembleError(
                    f"The TLS file {path} ({setting}) cannot be read",
                    remedy="Give the path of a PEM file that this user may read",
                )
        if bool(self.cert) != bool(self.key):
            raise EnsembleError(
                "TLS has a certificate without its key, or a key without its certificate",
                remedy="Give both cert and key, or neither",
            )
        if self.check_hostname and not self.verify:
            raise EnsembleError(
                "TLS cannot check the host name of a certificate that is not verified",
                remedy="Set verify to true, or check_hostname to false as well",
            )


@dataclass(frozen=True)
class EnsembleOptions:
    """Connection options of one ensemble. Times in seconds.

    name: the ensemble in messages, ``hot`` or ``cold``.
    hosts: ``host:port`` of each member; default port 2181.
    chroot: prefix of every path, ``""`` for none.
    session_timeout: requested session timeout; the ensemble may grant another.
    connect_timeout: time limit for connecting.
    operation_timeout: time limit for a request, reconnections included.
    reads_per_second: maximum number of znodes a session reads per second, 0 for no limit.
    latency_target: what the session may add to the latency of other clients, 0 for any.
    auth_scheme: ``""``, ``digest``, ``sasl_digest_md5`` or ``sasl_gssapi``.
    auth_credential: ``user:password``; for sasl_gssapi the principal, or ``""`` for the ticket cache's.
    sasl_service: Kerberos service name of the servers.
    members_complete: the user guarantees that ``hosts`` has every member; for ensembles without a member
        list.
    """

    name: str
    hosts: tuple[str, ...]
    chroot: str = ""
    session_timeout: float = 30.0
    connect_timeout: float = 15.0
    operation_timeout: float = 60.0
    reads_per_second: float = 0.0
    latency_target: float = 0.0
    auth_scheme: str = ""
    auth_credential: str = field(default="", repr=False)
    sasl_service: str = "zookeeper"
    tls: TlsOptions | None = None
    members_complete: bool = False

    def __post_init__(self) -> None:
        """Reject invalid options."""
        if not self.hosts:
            raise EnsembleError(
                f"Ensemble {self.name} has no hosts", remedy="Name each of its members as host:port"
            )
        for host in self.hosts:
            self._check_host(host)
        self._check_chroot()
        for setting in ("session_timeout", "connect_timeout", "operation_timeout"):
            seconds = getattr(self, setting)
            if isnan(seconds) or seconds <= 0:
                raise EnsembleError(
                    f"{setting} of ensemble {self.name} is {seconds}",
                    remedy="Give a number of seconds greater than 0",
                )
        self._check_auth()

    @property
    def label(self) -> str:
        """Ensemble, hosts and chroot, for messages."""
        return f"ensemble {self.name} ({','.join(self.hosts)}{self.chroot})"

    def of_member(self, host: str) -> EnsembleOptions:
        """Return the options for a single member."""
        return replace(self, name=host, hosts=(host,))

    def _check_host(self, host: str) -> None:
        try:
            parts = urlsplit(f"//{host}")
            valid = bool(parts.hostname) and parts.port != 0 and host == parts.netloc and "@" not in host
        except ValueError:
            valid = False
        if not valid or host.endswith(":") or any(character in host for character in ", \t\n"):
            raise EnsembleError(
                f"{host!r} among the hosts of ensemble {self.name} is not host:port",
                remedy="Write host:port for each member, [address]:port for IPv6; chroot is another option",
            )

    def _check_chroot(self) -> None:
        if not self.chroot:
            return
        try:
            check_shard_path(self.chroot)
        except FormatError as error:
            raise EnsembleError(
                f"The chroot {self.chroot!r} of ensemble {self.name} is not a path of a znode",
                remedy='Write the chroot as /a/b, without a slash at the end, or "" for none',
            ) from error

    def _check_auth(self) -> None:
        if self.auth_scheme not in ("", *AUTH_SCHEMES):
            raise EnsembleError(
                f"Ensemble {self.name} has the unknown authentication scheme {self.auth_scheme!r}",
                remedy=f"Use one of {', '.join(AUTH_SCHEMES)}",
            )
        if not self.auth_scheme and self.auth_credential:
            raise EnsembleError(
                f"Ensemble {self.name} has a credential but no authentication scheme",
                remedy=f"Name the scheme: one of {', '.join(AUTH_SCHEMES)}",
            )
        user, _colon, password = self.auth_credential.partition(":")
        if self.auth_scheme in ("digest", "sasl_digest_md5") and not (user and password):
            raise EnsembleError(
                f"The credential of ensemble {self.name} is not user:password",
                remedy=f"Write the credential as user:password for the scheme {self.auth_scheme}",
            )
