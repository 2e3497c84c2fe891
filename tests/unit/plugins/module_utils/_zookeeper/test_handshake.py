# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Each unreachable member is reported with a reason. tests/integration has the real members."""

from __future__ import annotations

import socket
import struct
import threading
from contextlib import nullcontext

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import (
    EnsembleUnreachable,
    PartMoveError,
)
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
