# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Documentation of the options that say where the ensembles are.

A module names the fragments that it wants; of an option that is in two of them, the first has the last word.
"""

from __future__ import annotations


class ModuleDocFragment:
    """Fragments for modules that know both ensembles, hold locks, only read, or know hot alone."""

    DOCUMENTATION = r"""
    options:
      hot:
        description: The ensemble that the ClickHouse servers use as C(<zookeeper>).
        required: true
        type: dict
        suboptions: &connection
          hosts:
            description:
              - Every member of the ensemble as C(host:port), observers included. The port defaults to 2181.
              - Copies are verified on each member of the cold ensemble, so none of these may be missing.
            type: list
            elements: str
            required: true
          chroot:
            description: Path that all other paths are relative to, such as the C(<root>) of the servers.
            type: str
            default: ''
          session_timeout:
            description: Seconds after which the ensemble gives up on a session that is not heard of.
            type: float
            default: 30.0
          connect_timeout:
            description: Seconds to try to connect.
            type: float
            default: 15.0
          operation_timeout:
            description: Seconds that a request may stay without an answer, reconnecting included.
            type: float
            default: 60.0
          members_complete:
            description:
              - Whether to take for granted that C(hosts) names every member, observers included.
              - Only needed where the ensemble has no C(/zookeeper/config), as before version 3.5. A member
                that is missing may lack a copy that a server looks for there.
            type: bool
            default: false
          auth:
            description:
              - The identity to use, the same that the servers have as C(<identity>) for this ensemble.
              - Znodes that are created get an ACL for it alone; servers with another one could not read them.
            type: dict
            suboptions:
              scheme:
                description:
                  - How to authenticate.
                  - V(sasl_digest_md5) and V(sasl_gssapi) need the Python package C(pure-sasl),
                    V(sasl_gssapi) also C(kerberos).
                type: str
                choices: [digest, sasl_digest_md5, sasl_gssapi]
                required: true
              credential:
                description:
                  - C(user:password).
                  - With V(sasl_gssapi) the principal, or nothing for that of the ticket cache.
                type: str
              service:
                description: Kerberos service of the servers, for V(sasl_gssapi).
                type: str
                default: zookeeper
          tls:
            description: TLS, if the ensemble wants it; an empty mapping is enough to turn it on.
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
                description: Opens the key.
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
        description: The ensemble that patched ClickHouse servers know as C(<cold_zookeeper>).
        required: true
        type: dict
        suboptions: *connection
      coordination_root:
        description:
          - Znode in both ensembles below which locks and epochs of shard paths are kept.
          - It must be the same in every run. Where a table was moved with another one, that is refused.
        type: str
        default: /partmove
    requirements:
      - kazoo >= 2.10 on the host that the module runs on
"""

    LOCK = r"""
    options:
      lock_wait:
        description:
          - How long to wait for the lock of a shard path that another run has, as seconds or with a unit such
            as V(90s) or V(5m).
          - Give more than the session timeout, so that the lock of a killed run is gone by then.
        type: str
        default: 45s
"""

    READ_ONLY = r"""
    options:
      cold:
        description:
          - The ensemble that patched ClickHouse servers know as C(<cold_zookeeper>).
          - Without it only O(hot) is looked at.
        required: false
"""

    ONE = r"""
    options:
      hot:
        description: The ensemble that the ClickHouse servers use as C(<zookeeper>).
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
            description: Seconds after which the ensemble gives up on a session that is not heard of.
            type: float
            default: 30.0
          connect_timeout:
            description: Seconds to try to connect.
            type: float
            default: 15.0
          operation_timeout:
            description: Seconds that a request may stay without an answer, reconnecting included.
            type: float
            default: 60.0
          members_complete:
            description: Not used here; it is there so that one description of the ensemble suits all modules.
            type: bool
            default: false
          auth:
            description:
              - The identity to use, the same that the servers have as C(<identity>) for this ensemble.
            type: dict
            suboptions:
              scheme:
                description:
                  - How to authenticate.
                  - V(sasl_digest_md5) and V(sasl_gssapi) need the Python package C(pure-sasl),
                    V(sasl_gssapi) also C(kerberos).
                type: str
                choices: [digest, sasl_digest_md5, sasl_gssapi]
                required: true
              credential:
                description:
                  - C(user:password).
                  - With V(sasl_gssapi) the principal, or nothing for that of the ticket cache.
                type: str
              service:
                description: Kerberos service of the servers, for V(sasl_gssapi).
                type: str
                default: zookeeper
          tls:
            description: TLS, if the ensemble wants it; an empty mapping is enough to turn it on.
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
                description: Opens the key.
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
      - kazoo >= 2.10 on the host that the module runs on
"""
