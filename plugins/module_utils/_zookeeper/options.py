# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Where an ensemble is and how to speak with it."""

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
    """TLS of the connection; every file is PEM.

    ca: certificate authorities of the servers, added to those of the system.
    cert, key: certificate of this client and its key, both or none.
    key_password: opens the key.
    verify: refuse a server whose certificate no known authority has signed.
    check_hostname: refuse a server whose certificate is for another host.
    """

    ca: str = ""
    cert: str = ""
    key: str = ""
    key_password: str = field(default="", repr=False)
    verify: bool = True
    check_hostname: bool = True

    def __post_init__(self) -> None:
        """Refuse files that cannot be read and settings that contradict each other."""
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
    """How to connect to one ensemble; times in seconds.

    name: what messages call it, ``hot`` or ``cold``.
    hosts: ``host:port`` of each member; the port may be left out (2181).
    chroot: the root of every path, ``""`` for none.
    session_timeout: asked of the ensemble, which may grant another.
    connect_timeout: how long to try to connect.
    operation_timeout: how long one request may stay without an answer, reconnecting included.
    reads_per_second: how many znodes a session may read in a second, 0 for any number.
    auth_scheme: ``""``, ``digest``, ``sasl_digest_md5`` or ``sasl_gssapi``.
    auth_credential: ``user:password``; for sasl_gssapi the principal, or ``""`` for that of the ticket cache.
    sasl_service: the Kerberos service of the servers.
    members_complete: whether somebody vouches that ``hosts`` has every member; for ensembles without a list.
    """

    name: str
    hosts: tuple[str, ...]
    chroot: str = ""
    session_timeout: float = 30.0
    connect_timeout: float = 15.0
    operation_timeout: float = 60.0
    reads_per_second: float = 0.0
    auth_scheme: str = ""
    auth_credential: str = field(default="", repr=False)
    sasl_service: str = "zookeeper"
    tls: TlsOptions | None = None
    members_complete: bool = False

    def __post_init__(self) -> None:
        """Refuse options that no ensemble could be reached with."""
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
        """The ensemble and its hosts, for messages."""
        return f"ensemble {self.name} ({','.join(self.hosts)}{self.chroot})"

    def of_member(self, host: str) -> EnsembleOptions:
        """The same options for one member alone."""
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
                remedy="Write one host:port for each member, [address]:port for IPv6, and the chroot apart",
            )

    def _check_chroot(self) -> None:
        if not self.chroot:
            return
        try:
            check_shard_path(self.chroot)
        except FormatError as error:
            raise EnsembleError(
                f"The chroot {self.chroot!r} of ensemble {self.name} is not a path of a znode",
                remedy='Write it as /a/b, without a slash at its end, or "" for none',
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
                remedy=f"Write it as user:password for the scheme {self.auth_scheme}",
            )
