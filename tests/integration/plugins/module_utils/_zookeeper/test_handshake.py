# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether members serve a host, asked without a ZooKeeper client."""

from __future__ import annotations

import re
import socket
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import (
    EnsembleUnreachable,
    PartMoveError,
)
from ansible_collections.olap.partmove.plugins.module_utils._zookeeper.handshake import (
    MemberAddress,
    check_members,
)
from support.servers.tls import TlsFiles
from support.servers.zookeeper import Ensemble, EnsembleOptions


def members_of(ensemble: Ensemble) -> list[MemberAddress]:
    return [MemberAddress("127.0.0.1", member.files.ports.client) for member in ensemble.members]


def refusal(members: Sequence[MemberAddress], root: str = "", timeout: float = 60.0) -> str:
    with pytest.raises(EnsembleUnreachable) as caught:
        check_members(members, root, timeout)
    return caught.value.message


def test_members_that_serve(cold: Ensemble) -> None:
    check_members(members_of(cold), "", 60.0)
    check_members(members_of(cold), "/zookeeper", 60.0)


def test_znode_that_is_not_there(cold: Ensemble, base: str) -> None:
    label = cold.members[0].address
    assert f"3 of 3 members do not serve this host: {label} has no znode {base}, without which" in refusal(
        members_of(cold), base
    )


def test_follower_that_is_down_then_one_that_is_frozen_then_no_majority(cold: Ensemble) -> None:
    leader = cold.leader()
    dead, frozen = (member for member in cold.members if member is not leader)
    dead.kill()
    assert refusal(members_of(cold)) == (
        f"1 of 3 members do not serve this host: {dead.address} cannot be reached (Connection refused)"
    )
    frozen.pause()
    address = MemberAddress("127.0.0.1", frozen.files.ports.client)
    assert refusal([address], timeout=0.5).endswith(f"{frozen.address} gives no answer within 0.5 s")
    frozen.kill()
    while "not currently serving" not in leader.four_letter("srvr"):
        time.sleep(0.05)
    assert refusal([MemberAddress("127.0.0.1", leader.files.ports.client)]) == (
        f"1 of 1 members do not serve this host: {leader.address} closes the connection,"
        " as members without a majority do"
    )


def test_member_that_speaks_tls(tmp_path: Path) -> None:
    """It wants a certificate that only ClickHouse has: it is there, and that is all that can be told."""
    tls = TlsFiles.create(tmp_path / "tls")
    with Ensemble(tmp_path / "zookeeper", EnsembleOptions(tls=tls)) as ensemble:
        files = ensemble.members[0].files
        check_members([MemberAddress("127.0.0.1", files.ports.secure, secure=True)], "/none", 60.0)
        plain = refusal([MemberAddress("127.0.0.1", files.ports.client, secure=True)], timeout=2.0)
        assert re.search("does not speak TLS as expected|gives no answer|cannot be reached", plain)


def test_members_that_enforce_authentication(tmp_path: Path) -> None:
    settings = {"enforce.auth.enabled": "true", "enforce.auth.schemes": "digest"}
    with Ensemble(tmp_path / "zookeeper", EnsembleOptions(settings=settings)) as ensemble:
        members = members_of(ensemble)
        label = ensemble.members[0].address
        check_members(members, "/zookeeper", 60.0, "clickhouse:secret")
        assert refusal(members, "/zookeeper") == (
            f"1 of 1 members do not serve this host: {label} serves no client without an identity,"
            " and none is known here"
        )


def test_members_with_tls_that_enforce_authentication(tmp_path: Path) -> None:
    """The identity is not for everybody who has a certificate."""
    settings = {
        "enforce.auth.enabled": "true",
        "enforce.auth.schemes": "digest",
        "ssl.clientAuth": "none",
    }
    options = EnsembleOptions(settings=settings, tls=TlsFiles.create(tmp_path / "tls"))
    with Ensemble(tmp_path / "zookeeper", options) as ensemble:
        members = [MemberAddress("127.0.0.1", ensemble.members[0].files.ports.secure, secure=True)]
        check_members(members, "/none", 60.0, "clickhouse:secret")
        assert "serves no client without an identity" in refusal(members, "/none")


def test_members_that_know_no_passwords(tmp_path: Path) -> None:
    options = EnsembleOptions(
        settings={"enforce.auth.enabled": "true", "enforce.auth.schemes": "sasl"},
        sasl_users={"clickhouse": "secret"},
    )
    with Ensemble(tmp_path / "zookeeper", options) as ensemble, pytest.raises(EnsembleUnreachable) as caught:
        check_members(members_of(ensemble), "/zookeeper", 60.0, "clickhouse:secret")
    assert caught.value.message.endswith(" does not accept the identity")
    assert "secret" not in str(caught.value)


def test_something_else_that_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        assert refusal([MemberAddress("127.0.0.1", port)], timeout=0.2).endswith(
            "gives no answer within 0.2 s"
        )
    assert "cannot be reached" in refusal([MemberAddress("nowhere.invalid", 2181)])
    with pytest.raises(PartMoveError, match="member_timeout is 0"):
        check_members([MemberAddress("127.0.0.1", port)], "", 0)
