# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Documentation of the option that says how to ask ClickHouse servers."""

from __future__ import annotations


class ModuleDocFragment:
    """Fragments for what asks one server, those of the replicas, or those that are named."""

    DOCUMENTATION = r"""
    options:
      clickhouse:
        description: How to ask the ClickHouse server over its HTTP interface.
        type: dict
        suboptions:
          host:
            description: Name or address of the server, seen from the host that this runs on.
            type: str
            default: localhost
          port:
            description: Port of the HTTP interface; with TLS usually 8443.
            type: int
            default: 8123
          user:
            description: A user that may read the database C(system).
            type: str
            default: default
          password:
            description: Password of O(clickhouse.user).
            type: str
            default: ''
          secure:
            description: Whether to speak TLS.
            type: bool
            default: false
          ca:
            description: PEM file of certificate authorities, added to those of the system.
            type: path
          verify:
            description: Whether to refuse a server whose certificate no known authority has signed for its
              host.
            type: bool
            default: true
          timeout:
            description: Seconds to wait for a connection, and for each answer.
            type: float
            default: 30.0
    """

    REPLICAS = r"""
    options:
      clickhouse:
        description: How to ask the ClickHouse servers of the replicas which parts they have.
        type: dict
        suboptions:
          port:
            description: Port of the HTTP interface; with TLS usually 8443.
            type: int
            default: 8123
          user:
            description: A user that may read the database C(system).
            type: str
            default: default
          password:
            description: Password of O(clickhouse.user).
            type: str
            default: ''
          secure:
            description: Whether to speak TLS.
            type: bool
            default: false
          ca:
            description: PEM file of certificate authorities, added to those of the system.
            type: path
          verify:
            description: Whether to refuse a server whose certificate no known authority has signed for its
              host.
            type: bool
            default: true
          endpoints:
            description:
              - Address as C(host:port) by name of the replica, where it is not the host that the replica
                itself has published in ZooKeeper with O(clickhouse.port).
            type: dict
            default: {}
          timeout:
            description: Seconds to wait for a connection, and for each answer.
            type: float
            default: 30.0
    """

    NAMED = r"""
    options:
      clickhouse:
        description: The ClickHouse servers to ask.
        type: dict
        suboptions:
          hosts:
            description: Each server as C(host), or C(host:port), of its HTTP interface.
            type: list
            elements: str
            required: true
          port:
            description: Port of the HTTP interface where the host has none; with TLS usually 8443.
            type: int
            default: 8123
          user:
            description: A user that may read the database C(system).
            type: str
            default: default
          password:
            description: Password of O(clickhouse.user).
            type: str
            default: ''
          secure:
            description: Whether to speak TLS.
            type: bool
            default: false
          ca:
            description: PEM file of certificate authorities, added to those of the system.
            type: path
          verify:
            description: Whether to refuse a server whose certificate no known authority has signed for its
              host.
            type: bool
            default: true
          timeout:
            description: Seconds to wait for a connection, and for each answer.
            type: float
            default: 30.0
    """
