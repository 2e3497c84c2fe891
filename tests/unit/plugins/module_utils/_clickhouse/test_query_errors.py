# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Errors of servers, and of connections to them, with the remedy of each."""

from __future__ import annotations

import http.client
import ssl

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.options import ClickHouseOptions
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.query_errors import (
    NoAnswer,
    exception_of,
    forbids_setting,
    remedy_of,
    unreachable,
)


@pytest.mark.parametrize(
    ("code", "text", "remedy"),
    [
        (60, "Table a.b does not exist", "Use a user that may read the database system"),
        (344, "Experimental feature is not enabled", "Enable what the message names"),
        (341, "Timeout while waiting for replicas r2", "See that the replicas of the message run"),
        (999, "Anything", "Correct what the message names"),
        (158, "Limit for rows exceeded", "Raise the limit in the profile of the user"),
        (164, "Cannot execute query in readonly mode", "Use a user without readonly"),
        (
            164,
            "Cannot modify 'alter_sync' setting in readonly mode",
            "Let the user change alter_sync: readonly = 2",
        ),
        (292, "Leader was suddenly changed or logical error.", "Run again in some seconds"),
        (201, "Quota for user `u` has been exceeded", "Raise the quota of the user"),
        (396, "Limit for result exceeded", "Raise the limit in the profile of the user"),
        (452, "Setting alter_sync should not be changed", "Let the user change alter_sync: readonly = 2"),
        (
            497,
            "Not enough privileges",
            "GRANT the named right to the user; docs/operate/clickhouse-rights.md",
        ),
    ],
)
def test_the_remedy_fits_the_error(code: int, text: str, remedy: str) -> None:
    assert remedy_of(code, text).startswith(remedy)


def test_a_right_to_read_many_columns_is_named_by_its_table() -> None:
    columns = ", ".join(f"column_{number}" for number in range(60))
    body = (
        "Code: 497. DB::Exception: u: Not enough privileges. To execute this query, it's necessary to have"
        f" the grant SELECT({columns}) ON system.replicas. (ACCESS_DENIED) (version 25.8.2.1)"
    )
    found = exception_of(body)
    assert found is not None
    assert "the grant SELECT ON system.replicas. (ACCESS_DENIED)" in found[1]
    assert exception_of("<html>") is None


def test_a_setting_that_shortens_answers_is_named_with_its_value() -> None:
    error = forbids_setting("ch1", "u", "limit", "0", "Cannot modify 'limit' setting in readonly mode")
    assert "ch1: the profile of the user u has a limit with which answers are short" in str(error)
    assert "Set limit to '0' in the profile, or let the user change it: readonly = 2" in str(error)


def _wrong_version() -> ssl.SSLError:
    error = ssl.SSLError(1, "wrong version number")
    error.reason = "WRONG_VERSION_NUMBER"
    return error


def _unverified() -> ssl.SSLCertVerificationError:
    error = ssl.SSLCertVerificationError(1, "certificate verify failed")
    error.verify_message = "self-signed certificate."
    return error


@pytest.mark.parametrize("secure", [False, True])
@pytest.mark.parametrize(
    ("error", "reason", "remedy"),
    [
        (TimeoutError(), "no answer within 30 s", "Check that the server runs"),
        (NoAnswer(), "no answer within 30 s", "The server accepted the query: see system.processes"),
        (
            ConnectionRefusedError(111, "Connection refused"),
            "Connection refused",
            "Check that the server runs",
        ),
        (_wrong_version(), "the port does not speak TLS", "Give the port of HTTPS"),
        (
            _unverified(),
            "certificate verify failed: self-signed certificate",
            "Give the file of the authority",
        ),
    ],
)
def test_the_reason_of_a_failed_connection(error: Exception, reason: str, remedy: str, secure: bool) -> None:
    found = unreachable(error, ClickHouseOptions(secure=secure))
    assert found[0] == reason
    assert found[1].startswith(remedy)


@pytest.mark.parametrize("error", [ConnectionResetError(), http.client.RemoteDisconnected("")])
def test_a_connection_that_ends_without_an_answer_may_have_met_tls(error: Exception) -> None:
    assert "set secure to true" in unreachable(error, ClickHouseOptions())[1]
    assert "set secure to true" not in unreachable(error, ClickHouseOptions(secure=True))[1]
