# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Direct connections to all members of an ensemble, with proof of completeness."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from .._partmove.errors import EnsembleError
from .._partmove.zip_strict import zip_strict
from .four_letters import ask_server_id
from .options import EnsembleOptions
from .reader import Reader
from .session import Session
from .window import RequestWindow

ZOOKEEPER_CONFIG = "/zookeeper/config"
KEEPER_CONFIG = "/keeper/config"
"""Where ClickHouse Keeper lists its members. A tree that was converted from ZooKeeper may have both."""

_SERVER_LINE = re.compile(rb"^server\.(\d+)=([^\s;]*)", re.MULTILINE)


class _Listed(NamedTuple):
    """The members that an ensemble lists; those of a standalone ZooKeeper are empty."""

    path: str
    addresses: Mapping[int, str]
    """Number of the server → its address; for Keeper the one between servers, not the one for clients."""


_NO_LIST = _Listed(ZOOKEEPER_CONFIG, {})


def connect_members(store: Reader, options: EnsembleOptions) -> tuple[Reader, ...]:
    """Connect to each host directly, and compare the hosts with the ensemble's own list of members.

    Raises:
        EnsembleUnreachable: a host does not answer.
        AccessDenied: the list of members is unreadable, so completeness cannot be proved.
        EnsembleError: two hosts are one server, a member is missing in hosts, a host is not a member, or the
        ensemble has no member list and members_complete is not set.
    """
    with ThreadPoolExecutor(max_workers=len(options.hosts)) as pool:
        futures = [pool.submit(_connect, host, options, store.window) for host in options.hosts]
    members = [future.result() for future in futures if future.exception() is None]
    try:
        for future in futures:
            future.result()
        listed = _listed_servers(store)
        if listed is None and not options.members_complete:
            raise _no_list(options)
        _check(members, listed or _NO_LIST, options)
    except BaseException:
        close_all(members)
        raise
    return tuple(members)


def close_all(members: Sequence[Reader]) -> None:
    """End the sessions with the members, in parallel."""
    if members:
        with ThreadPoolExecutor(max_workers=len(members)) as pool:
            list(pool.map(Reader.close, members))


def _connect(host: str, options: EnsembleOptions, window: RequestWindow) -> Reader:
    direct = options.of_member(host)
    return Reader(direct, Session(direct, f"member {host} of ensemble {options.name}", window))


def _listed_servers(store: Reader) -> _Listed | None:
    """Return the members that the ensemble lists; None if it has no list.

    A standalone ZooKeeper lists no member. A standalone Keeper lists itself, so its list is never empty.
    """
    paths = (KEEPER_CONFIG, ZOOKEEPER_CONFIG)
    for path, config in zip_strict(paths, store.read(paths, absolute=True)):
        found = [] if config is None else _SERVER_LINE.findall(config.data)
        if found or (config is not None and path == ZOOKEEPER_CONFIG):
            return _Listed(path, {int(number): address.decode() for number, address in found})
    return None


def _no_list(options: EnsembleOptions) -> EnsembleError:
    """Return the error for a missing member list. Proving a copy requires reading it from every member."""
    return EnsembleError(
        f"Ensemble {options.name} has no {ZOOKEEPER_CONFIG} and no {KEEPER_CONFIG}, so nothing proves that"
        " hosts names all members: it is ZooKeeper before 3.5, or another server with the same protocol",
        remedy="Update the ensemble to 3.5 or later, or make sure that hosts names every member, observers"
        " included, and set members_complete",
    )


def _check(members: list[Reader], listed: _Listed, options: EnsembleOptions) -> None:
    named: dict[int, str] = {}
    for member in members:
        if (_listed_servers(member) or _NO_LIST) != listed:
            raise EnsembleError(
                f"{member.name} has other members in {listed.path} than ensemble {options.name}",
                remedy="Name hosts of one ensemble only; retry after a change of its configuration",
            )
        number = _number_of(member, listed, options)
        if number in named:
            raise EnsembleError(
                f"{named[number]} and {member.name} of ensemble {options.name} are both server {number}",
                remedy="Name each member once in hosts; name members of one ensemble only",
            )
        if listed.addresses and number not in listed.addresses:
            raise EnsembleError(
                f"{member.name} is server {number}, not listed in {listed.path} of ensemble {options.name}",
                remedy="Remove the host from hosts, or add it to the ensemble's configuration",
            )
        named[number] = member.name
    for number, address in listed.addresses.items():
        if number not in named:
            raise EnsembleError(
                f"Server {number} ({address}) of ensemble {options.name} is not among the hosts",
                remedy="Name every member in hosts, observers included: each is read to prove a copy",
            )


def _number_of(member: Reader, listed: _Listed, options: EnsembleOptions) -> int:
    """Return the number of the server, which ZooKeeper puts into session ids, and Keeper tells on request."""
    if listed.path == ZOOKEEPER_CONFIG:
        return member.server_id
    number = ask_server_id(options, member.name, options.connect_timeout)
    if number is None:
        raise EnsembleError(
            f"{member.name} of ensemble {options.name}, a ClickHouse Keeper, does not tell its server_id",
            remedy="Allow the command conf in four_letter_word_allow_list of keeper_server, which has it by"
            " default, and name the address of the member itself, not that of a proxy",
        )
    return number
