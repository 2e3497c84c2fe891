# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Options that no ensemble could be reached with are refused in one clear sentence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import EnsembleError
from ansible_collections.olap.partmove.plugins.module_utils._zookeeper.options import (
    EnsembleOptions,
    TlsOptions,
)

HOSTS = ("zk1:2181",)


@pytest.mark.parametrize(
    "host", ["zk1", "zk1:2181", "10.0.0.1:2181", "[::1]:2181", "[fe80::1]", "zk-1.example.com:12181"]
)
def test_hosts(host: str) -> None:
    assert EnsembleOptions("hot", (host,)).hosts == (host,)


@pytest.mark.parametrize(
    "host",
    [
        "",
        ":2181",
        "zk1:",
        "zk1:port",
        "zk1:0",
        "zk1:70000",
        "zk1:2181/chroot",
        "zk1:2181,zk2:2181",
        "zk1 :2181",
        "::1:2181",
        "zk://zk1:2181",
        "user@zk1:2181",
        "zk1:2181 ",
    ],
)
def test_invalid_host(host: str) -> None:
    with pytest.raises(EnsembleError, match="is not host:port"):
        EnsembleOptions("hot", ("zk1:2181", host))


def test_no_hosts() -> None:
    with pytest.raises(EnsembleError, match="Ensemble cold has no hosts. Name each"):
        EnsembleOptions("cold", ())


@pytest.mark.parametrize("chroot", ["", "/a", "/clickhouse/cold-1"])
def test_chroots(chroot: str) -> None:
    assert EnsembleOptions("hot", HOSTS, chroot=chroot).chroot == chroot


@pytest.mark.parametrize("chroot", ["a", "/", "/a/", "//a", "/a//b", "/a/../b", "/."])
def test_invalid_chroot(chroot: str) -> None:
    with pytest.raises(EnsembleError, match="is not a path of a znode"):
        EnsembleOptions("hot", HOSTS, chroot=chroot)


@pytest.mark.parametrize("setting", ["session_timeout", "connect_timeout", "operation_timeout"])
@pytest.mark.parametrize("seconds", [0, -1.0, float("nan")])
def test_times(setting: str, seconds: float) -> None:
    values: dict[str, Any] = {setting: seconds}
    with pytest.raises(EnsembleError, match=f"{setting} of ensemble hot is {seconds}"):
        EnsembleOptions("hot", HOSTS, **values)


@pytest.mark.parametrize(
    ("scheme", "credential", "message"),
    [
        ("kerberos", "x", "unknown authentication scheme 'kerberos'. Use one of digest"),
        ("", "alice:wonder", "credential but no authentication scheme"),
        ("digest", "", "is not user:password"),
        ("digest", "alice", "is not user:password"),
        ("digest", ":wonder", "is not user:password"),
        ("sasl_digest_md5", "alice:", "is not user:password"),
    ],
)
def test_identities_that_are_refused(scheme: str, credential: str, message: str) -> None:
    with pytest.raises(EnsembleError, match=message):
        EnsembleOptions("hot", HOSTS, auth_scheme=scheme, auth_credential=credential)


@pytest.mark.parametrize(
    ("scheme", "credential"),
    [("digest", "alice:won:der"), ("sasl_digest_md5", "alice:wonder"), ("sasl_gssapi", "")],
)
def test_identities(scheme: str, credential: str) -> None:
    options = EnsembleOptions("hot", HOSTS, auth_scheme=scheme, auth_credential=credential)
    assert options.auth_scheme == scheme


def test_secrets_are_not_shown() -> None:
    tls = TlsOptions(key_password="opensesame")
    options = EnsembleOptions("hot", HOSTS, auth_scheme="digest", auth_credential="alice:wonder", tls=tls)
    assert "opensesame" not in repr(options)
    assert "wonder" not in repr(options)
    assert "wonder" not in options.label


def test_missing_tls_file(tmp_path: Path) -> None:
    with pytest.raises(EnsembleError, match=r"The TLS file .*/ca.pem \(ca\) cannot be read"):
        TlsOptions(ca=str(tmp_path / "ca.pem"))


def test_a_certificate_without_its_key(tmp_path: Path) -> None:
    file = tmp_path / "file.pem"
    file.touch()
    with pytest.raises(EnsembleError, match="without its key"):
        TlsOptions(cert=str(file))
    with pytest.raises(EnsembleError, match="without its certificate"):
        TlsOptions(key=str(file))


def test_a_host_name_cannot_be_checked_without_verifying() -> None:
    with pytest.raises(EnsembleError, match="cannot check the host name"):
        TlsOptions(verify=False)
    assert not TlsOptions(verify=False, check_hostname=False).verify
