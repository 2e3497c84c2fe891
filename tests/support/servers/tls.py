# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Certificates for ZooKeeper servers and clients that speak TLS."""

from __future__ import annotations

import datetime
import ipaddress
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

_VALID_FOR = datetime.timedelta(days=2)


@dataclass(frozen=True)
class TlsFiles:
    """PEM files: a certificate authority, and a certificate with its key for servers and for clients."""

    authority: Path
    server: Path
    client: Path
    client_key: Path

    @classmethod
    def create(cls, folder: Path, *hosts: str) -> TlsFiles:
        """Make a new authority and both certificates below `folder`, for these names and addresses.

        Without any they are for 127.0.0.1 and localhost.
        """
        names = [_general_name(host) for host in hosts or ("localhost", "127.0.0.1")]
        folder.mkdir(parents=True, exist_ok=True)
        files = cls(*(folder / f"{name}.pem" for name in ("ca", "server", "client", "client-key")))
        authority_key = ec.generate_private_key(ec.SECP256R1())
        authority = _certificate("test authority", authority_key, names, None, authority_key)
        files.authority.write_bytes(authority.public_bytes(serialization.Encoding.PEM))
        server_key = ec.generate_private_key(ec.SECP256R1())
        server = _certificate("server", server_key, names, authority, authority_key)
        # ZooKeeper reads the key and its certificate from one file.
        _write_private(files.server, _key_pem(server_key) + server.public_bytes(serialization.Encoding.PEM))
        client_key = ec.generate_private_key(ec.SECP256R1())
        client = _certificate("client", client_key, names, authority, authority_key)
        files.client.write_bytes(client.public_bytes(serialization.Encoding.PEM))
        _write_private(files.client_key, _key_pem(client_key))
        return files

    def server_settings(self) -> dict[str, str]:
        """Return the lines of zoo.cfg that name the server's certificate and the authority."""
        return {
            "ssl.keyStore.location": str(self.server),
            "ssl.keyStore.type": "PEM",
            "ssl.trustStore.location": str(self.authority),
            "ssl.trustStore.type": "PEM",
            "ssl.clientAuth": "need",
        }


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _certificate(
    name: str,
    key: ec.EllipticCurvePrivateKey,
    names: list[x509.GeneralName],
    issuer: x509.Certificate | None,
    issuer_key: ec.EllipticCurvePrivateKey,
) -> x509.Certificate:
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer.subject if issuer else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + _VALID_FOR)
        .add_extension(x509.BasicConstraints(ca=issuer is None, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .sign(issuer_key, hashes.SHA256())
    )


def _key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def _write_private(path: Path, content: bytes) -> None:
    path.touch(mode=0o600)
    path.write_bytes(content)
