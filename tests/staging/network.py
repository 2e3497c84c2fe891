# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The bridge that connects the hosts with each other and with this machine, and with nothing else."""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path

from .base import locked
from .machine import StagingError, run

# Set aside for tests of networks (RFC 2544), and so neither routed nor likely to be somebody's own.
_BLOCK = ipaddress.IPv4Network("198.18.0.0/15")
_FIRST_HOST = 10
# Other working folders choose networks on this machine too.
_LOCK = Path("/run/lock/olap-partmove-staging")


def add_bridge(name: str) -> ipaddress.IPv4Network:
    """Make a bridge with the first address of a network that is not used here; return the network."""
    with locked(_LOCK):
        network = _unused(json.loads(run("ip", "-json", "-4", "route", "show", "table", "all")))
        run("ip", "link", "add", name, "type", "bridge", "forward_delay", "0")
        run("ip", "address", "add", f"{gateway(network)}/{network.prefixlen}", "dev", name)
        run("ip", "link", "set", name, "up")
    return network


def remove_bridge(name: str) -> None:
    """Remove a bridge; one that is not there is no error."""
    if any(link["ifname"] == name for link in json.loads(run("ip", "-json", "link", "show"))):
        run("ip", "link", "delete", name)


def gateway(network: ipaddress.IPv4Network) -> str:
    """Return the address of this machine on the bridge."""
    return str(network[1])


def addresses(network: ipaddress.IPv4Network, hosts: Sequence[str]) -> dict[str, str]:
    """Return an address for each host."""
    free = islice(network.hosts(), _FIRST_HOST, None)
    return {host: str(address) for host, address in zip(hosts, free, strict=False)}


def _unused(routes: Iterable[dict[str, str]]) -> ipaddress.IPv4Network:
    used = [_destination(route["dst"]) for route in routes if route["dst"] != "default"]
    for network in _BLOCK.subnets(new_prefix=24):
        if not any(network.overlaps(other) for other in used):
            return network
    raise StagingError(f"every network of {_BLOCK} is in use on this machine: remove some routes")


def _destination(text: str) -> ipaddress.IPv4Network:
    return ipaddress.IPv4Network(text, strict=False)
