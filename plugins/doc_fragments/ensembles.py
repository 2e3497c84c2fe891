# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Documentation of the options that describe the ensembles.

A module lists its fragments. If two fragments document an option, the first fragment takes precedence.
"""

from __future__ import annotations


class ModuleDocFragment:
    """Fragments for modules with both ensembles, with locks, with read access only, or with hot only."""

    DOCUMENTATION = r"""
    options:
      hot:
        description: The ensemble in C(<zookeeper>) of the ClickHouse servers.
        required: true
        type: dict
        suboptions: &connection
          hosts:
            description:
              - Every member of the ensemble as C(host:port), observers included. The port defaults to 2181.
              - No member may be missing, because copies are verified on each member of the cold ensemble.
            type: list
            elements: str
            required: true
          chroot:
            description: Path that all other paths are relative to, such as the C(<root>) of the servers.
            type: str
            default: ''
          session_timeout:
            description: Seconds without contact after which the ensemble ends a session.
            type: float
            default: 30.0
          connect_timeout:
            description: Seconds to try to connect.
            type: float
            default: 15.0
          operation_timeout:
            description: Seconds to wait for the answer to a request, including reconnects.
            type: float
            default: 60.0
          members_complete:
            description:
              - Whether to assume that C(hosts) lists every member, observers included.
              - Only needed for an ensemble that has neither C(/zookeeper/config) nor C(/keeper/config), such
                as ZooKeeper before version 3.5. On an unlisted member a copy may be missing when a server
                reads the copy there.
            type: bool
            default: false
          auth:
            description:
              - The identity to use, the C(<identity>) of the servers for this ensemble.
              - New znodes get an ACL for this identity only, so servers with another identity cannot read the
                znodes.
            type: dict
            suboptions:
              scheme:
                description:
                  - How to authenticate.
                  - V(sasl_digest_md5) and V(sasl_gssapi) need the Python package C(pure-sasl), V(sasl_gssapi)
                    also C(kerberos).
                type: str
                choices: [digest, sasl_digest_md5, sasl_gssapi]
                required: true
              credential:
                description:
                  - C(user:password).
                  - With V(sasl_gssapi) the principal, or empty for the principal of the ticket cache.
                type: str
              service:
                description: Kerberos service of the servers, for V(sasl_gssapi).
                type: str
                default: zookeeper
          tls:
            description: TLS, if the ensemble requires TLS; an empty mapping turns TLS on.
            type: dict
            suboptions:
              ca:
                description: PEM file of certificate authorities, added to those of the system.
                type: path
              cert:
                description: PEM file of the client's certificate. Needs C(key) as well.
                type: path
              key:
                description: PEM file of the client's key.
                type: path
              key_password:
                description: Password of the key.
                type: str
              verify:
                description: Whether to refuse a server whose certificate no known authority has signed.
                type: bool
                default: true
              check_hostname:
                description: Whether to refuse a server whose certificate is for another host.
                type: bool
                default: true
      cold:
        description: The ensemble in C(<cold_zookeeper>) of patched ClickHouse servers.
        required: true
        type: dict
        suboptions: *connection
      coordination_root:
        description:
          - Znode in both ensembles with the locks and epochs of shard paths.
          - Use the same value in every run. A table that was moved with another value is refused.
        type: str
        default: /partmove
    requirements:
      - kazoo >= 2.10 on the host that runs the module
"""

    LOCK = r"""
    options:
      lock_wait:
        description:
          - How long to wait for a lock of another run, in seconds or with a unit such as V(90s) or V(5m).
          - Give more than the session timeout, so that the lock of a killed run expires meanwhile.
        type: str
        default: 45s
"""

    READ_ONLY = r"""
    options:
      cold:
        description:
          - The ensemble in C(<cold_zookeeper>) of patched ClickHouse servers.
          - Without this option only O(hot) is read.
        required: false
"""

    ONE = r"""
    options:
      hot:
        description: The ensemble in C(<zookeeper>) of the ClickHouse servers.
        required: true
        type: dict
        suboptions:
          hosts:
            description:
              - Every member of the ensemble as C(host:port), observers included. The port defaults to 2181.
            type: list
            elements: str
            required: true
          chroot:
            description: Path that all other paths are relative to, such as the C(<root>) of the servers.
            type: str
            default: ''
          session_timeout:
            description: Seconds without contact after which the ensemble ends a session.
            type: float
            default: 30.0
          connect_timeout:
            description: Seconds to try to connect.
            type: float
            default: 15.0
          operation_timeout:
            description: Seconds to wait for the answer to a request, including reconnects.
            type: float
            default: 60.0
          members_complete:
            description: Ignored. The option exists so that all modules accept the same description of the
              ensemble.
            type: bool
            default: false
          auth:
            description:
              - The identity to use, the C(<identity>) of the servers for this ensemble.
            type: dict
            suboptions:
              scheme:
                description:
                  - How to authenticate.
                  - V(sasl_digest_md5) and V(sasl_gssapi) need the Python package C(pure-sasl), V(sasl_gssapi)
                    also C(kerberos).
                type: str
                choices: [digest, sasl_digest_md5, sasl_gssapi]
                required: true
              credential:
                description:
                  - C(user:password).
                  - With V(sasl_gssapi) the principal, or empty for the principal of the ticket cache.
                type: str
              service:
                description: Kerberos service of the servers, for V(sasl_gssapi).
                type: str
                default: zookeeper
          tls:
            description: TLS, if the ensemble requires TLS; an empty mapping turns TLS on.
            type: dict
            suboptions:
              ca:
                description: PEM file of certificate authorities, added to those of the system.
                type: path
              cert:
                description: PEM file of the client's certificate. Needs C(key) as well.
                type: path
              key:
                description: PEM file of the client's key.
                type: path
              key_password:
                description: Password of the key.
                type: str
              verify:
                description: Whether to refuse a server whose certificate no known authority has signed.
                type: bool
                default: true
              check_hostname:
                description: Whether to refuse a server whose certificate is for another host.
                type: bool
                default: true
    requirements:
      - kazoo >= 2.10 on the host that runs the module
"""
