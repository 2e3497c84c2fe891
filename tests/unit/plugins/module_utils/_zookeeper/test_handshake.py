# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Each unreachable member is reported with a reason. tests/integration has the real members."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import (
    EnsembleUnreachable,
    PartMoveError,
)
from ansible_collections.olap.partmove.plugins.module_utils._zookeeper import handshake
from ansible_collections.olap.partmove.plugins.module_utils._zookeeper.handshake import (
    NEW_SESSION,
    MemberAddress,
    check_members,
)


def test_messages_call_a_member_by_its_address() -> None:
    assert MemberAddress("zk1", 2181).label == "zk1:2181"
    assert MemberAddress("[::1]", 2281, secure=True).label == "[::1]:2281"


@pytest.mark.parametrize("timeout", [0, -1.0, float("nan")])
def test_a_timeout_that_nothing_can_answer_in_is_refused(timeout: float) -> None:
    with pytest.raises(PartMoveError, match=f"^member_timeout is {timeout}"):
        check_members([], "", timeout)


def test_no_members_are_all_well() -> None:
    check_members([], "/root", 1.0)


def test_every_member_without_service_is_reported() -> None:
    with pytest.raises(EnsembleUnreachable) as refusal:
        # Nothing listens on these ports.
        check_members([MemberAddress("127.0.0.1", 9), MemberAddress("[::1]", 7, secure=True)], "", 30.0)
    assert refusal.value.message.startswith(
        "2 of 2 members do not serve this host: 127.0.0.1:9 cannot be reached (Connection refused);"
        " [::1]:7 cannot be reached ("
    )


def test_session_request_is_a_connect_request_of_zookeeper() -> None:
    """Its length, then protocol version, last transaction, timeout, session, password and read-only."""
    assert len(NEW_SESSION) == 4 + 45
    assert NEW_SESSION[:4] == b"\x00\x00\x00\x2d"
    assert NEW_SESSION[16:20] == (10_000).to_bytes(4, "big")
    assert NEW_SESSION[-1:] == b"\x00"


@pytest.mark.parametrize(
    ("version", "timeout", "session", "reason"),
    [
        (42, 10_000, 0, "grants no session, as a ClickHouse Keeper without a leader does"),
        (0, 0, 0, "refuses a session"),
        (0, 10_000, 7, ""),
    ],
)
def test_only_a_granted_session_shows_that_a_member_serves(
    version: int, timeout: int, session: int, reason: str
) -> None:
    granted = struct.pack("!iiqi16s?", version, timeout, session, 16, b"", False)
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer() -> None:
            connection, _address = listener.accept()
            with connection:
                connection.recv(len(NEW_SESSION))
                connection.sendall(struct.pack("!i", len(granted)) + granted)
                # Until the other side has read it.
                connection.recv(64)

        thread = threading.Thread(target=answer)
        thread.start()
        member = MemberAddress("127.0.0.1", listener.getsockname()[1])
        with pytest.raises(EnsembleUnreachable, match=reason) if reason else nullcontext():
            check_members([member], "", 30.0)
        thread.join()


GRANTED = struct.pack("!iiqi16s?", 0, 10_000, 7, 16, b"", False)
IDENTITY = "clickhouse:Tr0ub4dor"
EXISTS, AUTH = 3, 100


@contextmanager
def member_that_answers(answers: dict[int, int], asked: list[bytes]) -> Iterator[MemberAddress]:
    """A member that grants a session, and ends it after an error, as members that enforce authentication do.

    answers: operation -> error code.
    asked: gets the requests of the session.
    """
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            connection, _address = listener.accept()
            with connection, connection.makefile("rwb") as stream:

                def receive() -> bytes:
                    length = stream.read(4)
                    return stream.read(int.from_bytes(length, "big")) if length else b""

                def send(content: bytes) -> None:
                    stream.write(struct.pack("!i", len(content)) + content)
                    stream.flush()

                receive()
                send(GRANTED)
                while request := receive():
                    asked.append(request)
                    xid, operation = struct.unpack_from("!ii", request)
                    code = answers.get(operation, 0)
                    if operation in {EXISTS, AUTH}:
                        send(struct.pack("!iqi", xid, 0, code))
                    if code:
                        return

        thread = threading.Thread(target=serve)
        thread.start()
        yield MemberAddress("127.0.0.1", listener.getsockname()[1])
        thread.join()


@pytest.mark.parametrize("root", ["", "/clickhouse"])
def test_the_identity_is_given_before_anything_is_asked(root: str) -> None:
    asked: list[bytes] = []
    with member_that_answers({}, asked) as member:
        check_members([member], root, 30.0, IDENTITY)
    # Request number, operation, type, scheme and credential, each text with its length.
    credential = struct.pack("!i", len(IDENTITY)) + IDENTITY.encode()
    assert asked[0] == struct.pack("!iiii", -4, AUTH, 0, 6) + b"digest" + credential
    assert [struct.unpack_from("!ii", each)[1] for each in asked[1:]] == [*([EXISTS] if root else []), -11]


@pytest.mark.parametrize(
    ("answers", "identity", "reason"),
    [
        ({EXISTS: -124}, "", "serves no client without an identity, and none is known here"),
        ({EXISTS: -124}, IDENTITY, "does not accept the identity"),
        ({EXISTS: -115}, IDENTITY, "does not accept the identity"),
        ({AUTH: -115}, IDENTITY, "refuses the identity"),
    ],
)
def test_a_member_that_enforces_authentication_is_named_with_the_remedy(
    answers: dict[int, int], identity: str, reason: str
) -> None:
    with member_that_answers(answers, []) as member, pytest.raises(EnsembleUnreachable) as refusal:
        check_members([member], "/clickhouse", 30.0, identity)
    assert refusal.value.message == f"1 of 1 members do not serve this host: {member.label} {reason}"
    assert refusal.value.remedy.startswith("Give as identity a user:password that the members accept")
    assert "majority" not in refusal.value.remedy
    assert IDENTITY not in str(refusal.value)


@pytest.mark.parametrize(("identity", "serves"), [(IDENTITY, True), ("", False)])
def test_an_identity_is_not_sent_to_a_certificate_that_nobody_verified(
    identity: str, *, serves: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def connect(member: MemberAddress, timeout: float) -> socket.socket:
        return socket.create_connection((member.host, member.port), timeout)

    monkeypatch.setattr(handshake, "_connect", connect)
    asked: list[bytes] = []
    with member_that_answers({EXISTS: -124}, asked) as plain:
        refused = pytest.raises(EnsembleUnreachable, match="serves no client without an identity")
        with nullcontext() if serves else refused:
            check_members([plain._replace(secure=True)], "/clickhouse", 30.0, identity)
    assert [struct.unpack_from("!ii", each)[1] for each in asked] == [EXISTS]


@pytest.mark.parametrize(
    ("answers", "reason"),
    [
        ({AUTH: -1}, "does not answer whether it accepts the identity (error -1)"),
        ({EXISTS: -1}, "does not answer whether /clickhouse exists (error -1)"),
        ({EXISTS: -101}, "has no znode /clickhouse, without which ClickHouse does not start"),
    ],
)
def test_other_errors_of_a_member(answers: dict[int, int], reason: str) -> None:
    with member_that_answers(answers, []) as member, pytest.raises(EnsembleUnreachable) as refusal:
        check_members([member], "/clickhouse", 30.0, IDENTITY)
    assert refusal.value.message.endswith(f"{member.label} {reason}")
    assert refusal.value.remedy.startswith("Check that each member runs")
