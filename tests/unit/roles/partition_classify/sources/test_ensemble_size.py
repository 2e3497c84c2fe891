# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The size of a running ensemble: hosts in every form that an ensemble may be given with."""

from __future__ import annotations

from typing import Any

import pytest

from olap_partmove._zookeeper import client
from olap_partmove._zookeeper.options import EnsembleOptions
from partition_classify.sources.ensemble_size import EnsembleSize, size_of_live

MNTR = b"zk_version\t3.8.0\nzk_znode_count\t12\nzk_approximate_data_size\t345\n"
REFUSED = b"mntr is not executed because it is not in the whitelist.\n"
SRVR = b"Zookeeper version: 3.8.0\nMode: standalone\nNode count: 12\n"


class Connection:
    """A connection of a member. Implements what four-letter commands need of a socket."""

    def __init__(self, answers: dict[bytes, bytes]) -> None:
        self._answers = answers
        self._answer = b""

    def settimeout(self, seconds: float) -> None:
        pass

    def sendall(self, command: bytes) -> None:
        self._answer = self._answers[command]

    def recv(self, _most: int) -> bytes:
        answer, self._answer = self._answer, b""
        return answer

    def close(self) -> None:
        pass


def members(monkeypatch: pytest.MonkeyPatch, answers: dict[bytes, bytes]) -> list[tuple[str, int]]:
    """Let every address answer, except port 2182. Returns the addresses that get a connection."""
    addresses: list[tuple[str, int]] = []

    def connect(_module: Any, address: tuple[str, int], **_options: Any) -> Connection:
        addresses.append(address)
        if address[1] == 2182:
            raise OSError
        return Connection(answers)

    monkeypatch.setattr(client, "create_tcp_connection", connect)
    return addresses


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("zk1", ("zk1", 2181)),
        ("zk1:2281", ("zk1", 2281)),
        ("[::1]", ("::1", 2181)),
        ("[::1]:2281", ("::1", 2281)),
    ],
)
def test_a_host_may_be_without_a_port(
    monkeypatch: pytest.MonkeyPatch, host: str, address: tuple[str, int]
) -> None:
    asked = members(monkeypatch, {b"mntr": MNTR})
    assert size_of_live(EnsembleOptions("hot", (host,))) == EnsembleSize(12, 345 + 76 * 12)
    assert asked == [address]


def test_members_without_mntr_are_asked_for_srvr(monkeypatch: pytest.MonkeyPatch) -> None:
    members(monkeypatch, {b"mntr": REFUSED, b"srvr": SRVR})
    assert size_of_live(EnsembleOptions("hot", ("zk1",))) == EnsembleSize(12, None)


def test_the_next_member_is_asked_where_one_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = members(monkeypatch, {b"mntr": MNTR})
    assert size_of_live(EnsembleOptions("hot", ("zk1:2182", "zk2"))) is not None
    assert asked == [("zk1", 2182), ("zk2", 2181)]
    assert size_of_live(EnsembleOptions("hot", ("zk1:2182",))) is None
