# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A direct connection to each member of an ensemble, proved to be all of them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from .._partmove.errors import EnsembleError
from .options import EnsembleOptions
from .reader import Reader

CONFIG_PATH = "/zookeeper/config"

_SERVER_LINE = re.compile(rb"^server\.(\d+)=(\S*)", re.MULTILINE)


def connect_members(store: Reader, options: EnsembleOptions) -> tuple[Reader, ...]:
    """Connect to each of the hosts alone, and compare them with the ensemble's own list of members.

    Raises:
        EnsembleUnreachable: a host does not answer.
        AccessDenied: the list of members may not be read, so nothing proves that the hosts are all.
        EnsembleError: two hosts are one server, a member is not among the hosts, a host is no member, or the
            ensemble has no list of its members and nobody vouches for the hosts.
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
    """End the sessions with the members; those that do not answer are waited for together."""
    if members:
        with ThreadPoolExecutor(max_workers=len(members)) as pool:
            list(pool.map(Reader.close, members))


def _connect(host: str, options: EnsembleOptions) -> Reader:
    return Reader(options.of_member(host), f"member {host} of ensemble {options.name}")


def _listed_servers(store: Reader) -> Mapping[int, str] | None:
    """The servers of /zookeeper/config by id, none for a standalone server; None where there is no list."""
    (config,) = store.read([CONFIG_PATH], absolute=True)
    if config is None:
        return None
    return {int(number): address.decode() for number, address in _SERVER_LINE.findall(config.data)}


def _no_list(options: EnsembleOptions) -> EnsembleError:
    """A copy is proved by reading it from every member, which takes that all of them are known."""
    return EnsembleError(
        f"Ensemble {options.name} has no {CONFIG_PATH}, so nothing proves that its hosts are all of its"
        " members: it is ZooKeeper before 3.5, or another server with its protocol",
        remedy="Update it to 3.5 or later, or see that hosts names every member, observers included, and"
        " set members_complete",
    )


def _check(members: list[Reader], listed: Mapping[int, str], options: EnsembleOptions) -> None:
    named: dict[int, str] = {}
    for member in members:
        if (_listed_servers(member) or {}) != listed:
            raise EnsembleError(
                f"{member.name} has other members in {CONFIG_PATH} than ensemble {options.name}",
                remedy="Name hosts of one ensemble only, and not while its configuration changes",
            )
        number = member.server_id
        if number in named:
            raise EnsembleError(
                f"{named[number]} and {member.name} of ensemble {options.name} are both server {number}",
                remedy="Name each member once in hosts, and members of one ensemble only",
            )
        if listed and number not in listed:
            raise EnsembleError(
                f"{member.name} is server {number}, not listed in {CONFIG_PATH} of ensemble {options.name}",
                remedy="Remove it from hosts, or add it to the ensemble's configuration",
            )
        named[number] = member.name
    for number, address in listed.items():
        if number not in named:
            raise EnsembleError(
                f"Server {number} ({address}) of ensemble {options.name} is not among the hosts",
                remedy="Name every member in hosts, observers included: each is read to prove a copy",
            )
