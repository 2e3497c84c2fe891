# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Understands the errors of queries over HTTP, and names the remedy for each."""

from __future__ import annotations

import http.client
import json
import re
import ssl
from contextlib import suppress

from .._partmove.errors import PartMoveError, ServerAway
from .._partmove.text import shortened
from .options import ClickHouseOptions
from .plain_settings import READONLY, forbidden_setting

# Unknown user, wrong password, missing password, address not allowed for the user, other failed
# authentication.
REFUSED_USER = frozenset({192, 193, 194, 195, 516})
UNKNOWN_SETTING = 115
FEATURE_DISABLED = 344
UNFINISHED = 341
UNKNOWN_TABLE = 60
TOO_LARGE = 359
"""A part or table that is larger than the limit for drops; the statement has no effect."""
LEADERSHIP_CHANGED = 292
"""The server does not know the leader of the table, for a moment after its start; it began nothing."""
NOT_FOUND_NODE = 142
"""A znode that the server needs is not there."""
KEEPER_EXCEPTION = 999
"""The ensemble refused a request of the server, or did not answer."""
UNKNOWN_EFFECT = frozenset({159, 160, 209, 210, 225, 236, 241, 242, 319, 341, 394, 425, 517, 722, 999})
"""Codes after which the statement may have taken effect: timeouts, lost sessions, cancelled waits."""
_LIMITS = frozenset({158, 159, 160, 191, 241, 307, 396})
"""Codes of a query above a limit: of rows, bytes, time, memory, or the size of a set or of the answer."""
_REMEDIES = {
    READONLY: "Use a user without readonly for what changes tables",
    UNKNOWN_TABLE: "Use a user that may read the database system, and see the log of the server",
    FEATURE_DISABLED: "Enable what the message names, in the profile of the user or on the server",
    UNFINISHED: "See that the replicas of the message run and execute their system.replication_queue, and run"
    " again",
    TOO_LARGE: "Raise max_partition_size_to_drop, or max_table_size_to_drop for a table, in the configuration"
    " of that server, which takes effect without a restart (SYSTEM RELOAD CONFIG), and run again",
    LEADERSHIP_CHANGED: "Run again in some seconds",
    201: "Raise the quota of the user, or run again after the interval of the quota",
    497: "GRANT the named right to the user; docs/operate/clickhouse-rights.md lists those of each module",
    **dict.fromkeys(_LIMITS, "Raise the limit in the profile of the user, and run again"),
}
_CERTIFICATE = (
    "Give the file of the authority that signed the certificate as ca, and name the server as its certificate"
    " does"
)
_ENDED = (ConnectionResetError, http.client.RemoteDisconnected)
_ENDED_REMEDY = "If this port speaks TLS, set secure to true; else see the log of the server"
UNFINISHED_REMEDY = (
    "The server may still execute it: see system.processes there, and run again once it has ended. Raise"
    " timeout of clickhouse if it takes longer"
)
_NO_ANSWER = (
    "The server accepted the query: see system.processes and the log there, or raise timeout of clickhouse if"
    " it is slow"
)
_COLUMNS = re.compile(r"(?<=SELECT)\([^()]*\)(?= ON )")
_EXCEPTION = re.compile(
    r"(?:Poco::Exception\. )?Code: (?P<code>\d+)[.,] (?:e\.displayText\(\) = )?(?:DB::Exception: )?"
    r"(?P<text>.*?)(?:, e\.what\(\) = .*| \(version .*)?",
    re.DOTALL,
)


def exception_of(body: str) -> tuple[int, str] | None:
    """Return code and text of the error in an answer; None for an answer that is no error of ClickHouse."""
    match = _EXCEPTION.fullmatch(_exception_text(body).strip())
    if match is None:
        return None
    # A right to read many columns is named with all of them, in front of the table.
    return int(match["code"]), shortened(_COLUMNS.sub("", match["text"]))


def remedy_of(code: int, text: str) -> str:
    """Return the remedy for a query that the server refused with this error."""
    setting = forbidden_setting(code, text)
    if setting:
        return f"Let the user change {setting}: {_CHANGEABLE}"
    return _REMEDIES.get(code, "Correct what the message names, and see the log of the server")


_CHANGEABLE = "readonly = 2 instead of 1, and no constraint on the setting in its profiles"


def forbids_setting(label: str, user: str, setting: str, value: str, text: str) -> PartMoveError:
    """Return the error for a setting that queries have to override, and that the user may not change."""
    return PartMoveError(
        f"{label}: the profile of the user {user} has a {setting} with which answers are short, have other"
        f" values or cannot be read, and does not let the user change it: {text}",
        remedy=f"Set {setting} to {value!r} in the profile, or let the user change it: {_CHANGEABLE}",
    )


class ServerSilent(ServerAway):
    """The server sent no answer within the timeout, although it may have accepted the connection."""


class NoAnswer(TimeoutError):
    """The server accepted the connection and the query, and did not answer."""


def unreachable(error: Exception, options: ClickHouseOptions) -> tuple[str, str]:
    """Return why a server cannot be reached, and the remedy."""
    if isinstance(error, NoAnswer):
        return f"no answer within {options.timeout:g} s", _NO_ANSWER
    if isinstance(error, TimeoutError):
        reason = f"no answer within {options.timeout:g} s"
    elif isinstance(error, ssl.SSLCertVerificationError):
        return f"certificate verify failed: {error.verify_message.rstrip('.')}", _CERTIFICATE
    elif isinstance(error, ssl.SSLError) and error.reason == "WRONG_VERSION_NUMBER":
        return "the port does not speak TLS", "Give the port of HTTPS, usually 8443, or set secure to false"
    elif isinstance(error, _ENDED) and not options.secure:
        return "it closed the connection without an answer", _ENDED_REMEDY
    else:
        reason = (isinstance(error, OSError) and error.strerror) or repr(error)
    return reason, "Check that the server runs, its HTTP port, and whether that port speaks TLS"


def _exception_text(body: str) -> str:
    """Return the error in an answer; newer versions write it into the format of the query, after its rows."""
    for text in (body, body.strip().rpartition("\n")[2]):
        with suppress(ValueError):
            answer = json.loads(text)
            if isinstance(answer, dict) and isinstance(answer.get("exception"), str):
                return str(answer["exception"])
    return body
