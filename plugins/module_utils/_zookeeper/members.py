# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Direct connections to all members of an ensemble, with proof of completeness."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from .._partmove.errors import EnsembleError
from .options import EnsembleOptions
from .reader import Reader
from .session import Session

CONFIG_PATH = "/zookeeper/config"

_SERVER_LINE = re.compile(rb"^server\.(\d+)=(\S*)", re.MULTILINE)


def connect_members(store: Reader, options: EnsembleOptions) -> tuple[Reader, ...]:
    """Connect to each host directly, and compare the hosts with the ensemble's own list of members.

    Raises:
        EnsembleUnreachable: a host does not answer.
        AccessDenied: the list of members is unreadable, so completeness cannot be proved.
        EnsembleError: two hosts are one server, a member is missing in hosts, a host is not a member, or the
        ensemble has no member list and members_complete is not set.
    """
    with ThreadPoolExecutor(max_workers=len(options.hosts)) as pool:
        futures = [pool.submit(_connect, host, options) for host in options.hosts]
    members = [future.result() for future in futures if future.exception() is None]
    try:
        for future in futures:
            future.result()
        listed = _listed_servers(store)
        if listed is None and not options.members_complete:
            raise _no_list(options)
        _check(members, listed or {}, options)
    except BaseException:
        close_all(members)
        raise
    return tuple(members)


def close_all(members: Sequence[Reader]) -> None:
    """End the sessions with the members, in parallel."""
    if members:
        with ThreadPoolExecutor(max_workers=len(members)) as pool:
            list(pool.map(Reader.close, members))


def _connect(host: str, options: EnsembleOptions) -> Reader:
    direct = options.of_member(host)
    return Reader(direct, Session(direct, f"member {host} of ensemble {options.name}"))


def _listed_servers(store: Reader) -> Mapping[int, str] | None:
    """Return the servers of /zookeeper/config by id; None if the znode is missing.

    The list of a standalone server is empty.
    """
    (config,) = store.read([CONFIG_PATH], absolute=True)
    if config is None:
        return None
    return {int(number): address.decode() for number, address in _SERVER_LINE.findall(config.data)}


def _no_list(options: EnsembleOptions) -> EnsembleError:
    """Return the error for a missing member list. Proving a copy requires reading it from every member."""
    return EnsembleError(
        f"Ensemble {options.name} has no {CONFIG_PATH}, so nothing proves that hosts names all members: it is"
        " ZooKeeper before 3.5, or another server with the same protocol",
        remedy="Update the ensemble to 3.5 or later, or make sure that hosts names every member, observers"
        " included, and set members_complete",
    )


def _check(members: list[Reader], listed: Mapping[int, str], options: EnsembleOptions) -> None:
    named: dict[int, str] = {}
    for member in members:
        if (_listed_servers(member) or {}) != listed:
            raise EnsembleError(
                f"{member.name} has other members in {CONFIG_PATH} than ensemble {options.name}",
                remedy="Name hosts of one ensemble only; retry after a change of its configuration",
            )
        number = member.server_id
        if number in named:
            raise EnsembleError(
                f"{named[number]} and {member.name} of ensemble {options.name} are both server {number}",
                remedy="Name each member once in hosts; name members of one ensemble only",
            )
        if listed and number not in listed:
            raise EnsembleError(
                f"{member.name} is server {number}, not listed in {CONFIG_PATH} of ensemble {options.name}",
                remedy="Remove the host from hosts, or add it to the ensemble's configuration",
            )
        named[number] = member.name
    for number, address in listed.items():
        if number not in named:
            raise EnsembleError(
                f"Server {number} ({address}) of ensemble {options.name} is not among the hosts",
                remedy="Name every member in hosts, observers included: each is read to prove a copy",
            )
