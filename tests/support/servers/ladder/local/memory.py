# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Makes clickhouse-local take itself for a server: functions of its library are changed in memory.

The libraries of these versions export their functions by name, so none is searched for.
"""

from __future__ import annotations

import ctypes
import struct
import uuid

from support.servers.modern.functions import FunctionsNotFound, give_string, give_zeros, overwrite

_CREDENTIALS = "_ZNK2DB7Context25getInterserverCredentialsEv"
_ADDRESS = "_ZNK2DB7Context23getInterserverIOAddressEv"
_SCHEME = "_ZNK2DB7Context20getInterserverSchemeEv"
_ATTACH_LOCAL = "_ZN2DB23attachSystemTablesLocalENSt3__110shared_ptrIKNS_7ContextEEERNS_9IDatabaseE"
_ATTACH_SERVER = "_ZN2DB24attachSystemTablesServerENSt3__110shared_ptrIKNS_7ContextEEERNS_9IDatabaseEb"
_SERVER_UUID = "_ZN2DB10ServerUUID11server_uuidE"

_JUMP_BYTES = 12

_PROCESS_ERROR = (
    "_ZNK2DB11LocalServer12processErrorERKNSt3__112basic_stringIcNS1_11char_traitsIcEENS1_9allocatorIcEEEE"
)
_PROCESSES_ERROR = bytes.fromhex(
    "53 4883ec40 80bffc00000000 7406 4883c440 5b c3 4889fb 80bff800000000 6690 7450"
)
"""How the function begins: it returns if errors are ignored, and jumps unless this is interactive."""
_WRITES_ERROR = bytes.fromhex(
    "53 4883ec40 80bffc00000000 eb06 4883c440 5b c3 4889fb 80bff800000000 6690 6690"
)
"""The same, but it always goes on, to where it writes the error."""

_KEPT: list[object] = []
"""What machine code of the library points to, for as long as the process lives."""


def become_server(library: ctypes.CDLL, host: str, port: int, identity: uuid.UUID) -> None:
    """Let other replicas find this process at `host` and `port`, and give it the tables of a server.

    identity: the UUID of the server, the same after each start: by it a server knows sessions of its own.
    The library is loaded, and nothing of it was called yet.

    Raises:
        FunctionsNotFound: a function is built in another way.
    """
    overwrite(_place(library, _CREDENTIALS), give_zeros())
    overwrite(_place(library, _ADDRESS), give_string(host, port))
    overwrite(_place(library, _SCHEME), give_string("http"))
    ctypes.memmove(_place(library, _SERVER_UUID), identity.bytes, len(identity.bytes))
    _attach_tables_of_a_server(library)
    _write_errors(library)


def _write_errors(library: ctypes.CDLL) -> None:
    """Have every error written to the standard error output: the engine logs those of a server alone."""
    place = _place(library, _PROCESS_ERROR)
    if ctypes.string_at(place, len(_PROCESSES_ERROR)) != _PROCESSES_ERROR:
        raise FunctionsNotFound("the function that processes errors begins in another way")
    overwrite(place, _WRITES_ERROR)


def _attach_tables_of_a_server(library: ctypes.CDLL) -> None:
    """Redirect the function that attaches local system tables, once: that of a server calls it itself.

    Its arguments are a pointer of two words, which the callee gives up, and the database.
    """
    local = _place(library, _ATTACH_LOCAL)
    beginning = ctypes.string_at(local, _JUMP_BYTES)
    pointer = ctypes.c_void_p

    def attach(context: int, control: int, database: int) -> None:
        overwrite(local, beginning)
        has_zookeeper = ctypes.c_int(1)
        library[_ATTACH_SERVER](pointer(context), pointer(control), pointer(database), has_zookeeper)

    redirected = ctypes.CFUNCTYPE(None, pointer, pointer, pointer)(attach)
    _KEPT.append(redirected)
    target = ctypes.cast(redirected, pointer).value
    assert target is not None
    # Machine code: jump to the target by way of rax.
    overwrite(local, b"\x48\xb8" + struct.pack("<Q", target) + b"\xff\xe0")


def _place(library: ctypes.CDLL, name: str) -> int:
    place = ctypes.cast(library[name], ctypes.c_void_p).value
    assert place is not None
    return place
