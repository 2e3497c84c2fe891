# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Unusable options are refused; endpoints are parsed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.options import (
    ClickHouseOptions,
    endpoint,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import PartMoveError


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"port": 0}, "The HTTP port of ClickHouse is 0"),
        ({"port": 65_536}, "The HTTP port of ClickHouse is 65536"),
        ({"timeout": 0}, "The timeout for ClickHouse is 0"),
        ({"timeout": -1.0}, "The timeout for ClickHouse is -1.0"),
        ({"timeout": float("nan")}, "The timeout for ClickHouse is nan"),
        ({"user": "mover\n"}, "The user for ClickHouse has a character that cannot be sent"),
        ({"password": "hunter2\n"}, "The password for ClickHouse has a character that cannot be sent"),
        ({"ca": "/ca.pem"}, "ClickHouse has a ca, but secure is false"),
        ({"ca": "/none", "secure": True}, "The TLS file /none (ca of ClickHouse) cannot be read"),
        ({"endpoints": {"r1": "ch1:x"}}, "The endpoint 'ch1:x' of replica r1 is not host:port"),
    ],
)
def test_options_that_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(PartMoveError) as refusal:
        ClickHouseOptions(**options)
    assert refusal.value.message == message
    assert refusal.value.remedy
    assert "hunter2" not in str(refusal.value)


def test_options_that_are_taken(tmp_path: Path) -> None:
    ca = tmp_path / "ca.pem"
    ca.touch()
    options = ClickHouseOptions(port=65_535, timeout=0.1, secure=True, ca=str(ca), password="hunter2")
    assert options.ca == str(ca)
    assert "hunter2" not in repr(options)


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("ch1", ("ch1", 8123)),
        ("ch1:9", ("ch1", 9)),
        ("10.0.0.1:8124", ("10.0.0.1", 8124)),
        ("[::1]", ("::1", 8123)),
        ("[fe80::1]:8124", ("fe80::1", 8124)),
    ],
)
def test_endpoints(text: str, address: tuple[str, int]) -> None:
    assert endpoint(text, 8123, "replica r1") == address


@pytest.mark.parametrize(
    "text", ["", ":8123", "ch1:0", "ch1:x", "ch1:70000", "http://ch1", "ch1/x", "u@ch1", "ch1:1?", "::1:8123"]
)
def test_invalid_endpoints_are_refused(text: str) -> None:
    with pytest.raises(PartMoveError) as refusal:
        endpoint(text, 8123, "replica r1")
    assert refusal.value.message == f"The endpoint {text!r} of replica r1 is not host:port"


def test_only_replicas_that_are_named_have_an_endpoint_of_their_own() -> None:
    options = ClickHouseOptions(port=8124, endpoints={"r1": "ch1"})
    assert options.endpoint_of("r1") == ("ch1", 8124)
    assert options.endpoint_of("r2") is None
