# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Documentation of the option ``clickhouse``, which describes how to query servers."""

from __future__ import annotations


class ModuleDocFragment:
    """Fragments for queries to a single server, to the servers of replicas, or to named servers."""

    DOCUMENTATION = r"""
    options:
      clickhouse:
        description: How to query the ClickHouse server over its HTTP interface.
        type: dict
        suboptions:
          host:
            description: Name or address of the server, as seen from the host that runs the module.
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
            description: Whether to use TLS.
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
        description: How to query the parts on the ClickHouse servers of the replicas.
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
            description: Whether to use TLS.
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
              - Dictionary from the name of a replica to its address as C(host:port), for replicas whose
                address differs from the host in ZooKeeper with O(clickhouse.port).
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
        description: The ClickHouse servers to query.
        type: dict
        suboptions:
          hosts:
            description: Each server as C(host), or C(host:port), of its HTTP interface.
            type: list
            elements: str
            required: true
          port:
            description: Default port of the HTTP interface; with TLS usually 8443.
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
            description: Whether to use TLS.
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
