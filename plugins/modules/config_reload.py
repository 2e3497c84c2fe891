#!/usr/bin/python
# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: config_reload
short_description: Have a running ClickHouse server work with an auxiliary ensemble as it was configured
version_added: 0.1.0
description:
  - Asks a server whether it works with an ensemble of C(<auxiliary_zookeepers>) as it is wanted. Where it
    does not, C(SYSTEM RELOAD CONFIG) has it read its configuration again, and it is asked once more. Tells
    where only a restart can help; it restarts nothing.
  - The file in which a server writes down what it has made of its configuration tells what it has read, where
    the module runs on its host. Versions since the middle of 2025 also tell by C(system.zookeeper) whether
    the ensemble answers them, and by C(system.zookeeper_connection) which member they are connected with.
notes:
  - From 20.12 on ClickHouse takes a change of C(<auxiliary_zookeepers>) over without a restart. Versions
    before have no tables there. A server also looks at its files by itself, every few seconds.
  - A session with an ensemble whose members have changed ends when they are taken over. Its tables take no
    inserts until they have the new one, moments later.
  - The user of O(clickhouse) needs C(SYSTEM RELOAD CONFIG), and may read the database C(system).
  - M(olap.partmove.clickhouse_config) writes the configuration, and tries the members.
requirements:
  - lxml >= 4.9 on the host that the module runs on
author:
  - olap.partmove contributors (@olap-partmove)
extends_documentation_fragment:
  - olap.partmove.clickhouse_server
  - olap.partmove.attributes
  - olap.partmove.attributes.action_group
attributes:
  check_mode:
    support: full
    details: The server is asked, and what it does not know yet is told as a change.
  diff_mode:
    support: none
  idempotent:
    support: full
options:
  name:
    description: The name of the ensemble in C(<auxiliary_zookeepers>), by which tables refer to it.
    type: str
    required: true
  nodes:
    description: Every member of the ensemble, as in M(olap.partmove.clickhouse_config).
    type: list
    elements: dict
    required: true
    suboptions:
      host:
        description: Name or address; IPv6 in brackets.
        type: str
        required: true
      port:
        description: Port for clients.
        type: int
        default: 2181
      secure:
        description: Whether ClickHouse is to speak TLS there.
        type: bool
        default: false
  session_timeout_ms:
    description: Session timeout in milliseconds. V(0) for none; left out, it is not looked at.
    type: int
  operation_timeout_ms:
    description: How long one request may take, in milliseconds. V(0) for none; left out, it is not looked at.
    type: int
  root:
    description: Path of the znode that all paths are relative to. V("") for none; left out, it is not looked
      at.
    type: str
  identity:
    description: Who ClickHouse is for the ensemble, as C(user:password). V("") for none; left out, it is not
      looked at.
    type: str
  preprocessed:
    description: Where the server writes down what it has made of its configuration. The first of these files
      that is there counts.
    type: list
    elements: path
    default:
      - /var/lib/clickhouse/preprocessed_configs/config.xml
      - /etc/clickhouse-server/config-preprocessed.xml
  reload:
    description: Whether to have the server read its configuration again. Without it, it is only asked, as
      after a restart.
    type: bool
    default: true
seealso:
  - module: olap.partmove.clickhouse_config
"""

EXAMPLES = r"""
- name: Let tables be in a second ensemble, as cold:/path
  olap.partmove.clickhouse_config:
    element: auxiliary_zookeepers
    name: cold
    nodes: "{{ cold_nodes }}"
    check_members: true

- name: Have the server know it without a restart
  olap.partmove.config_reload:
    name: cold
    nodes: "{{ cold_nodes }}"
    clickhouse: {user: admin, password: "{{ admin_password }}"}
  register: known
"""

RETURN = r"""
msg:
  description: What is wrong and the way out.
  returned: failure
  type: str
version:
  description: The version of the server.
  returned: success
  type: str
  sample: 26.9.2.1
read:
  description: Whether the server has read what is wanted, by its own file; null where there is none.
  returned: success
  type: bool
answers:
  description: Whether the ensemble answers the server; null where its version does not tell.
  returned: success
  type: bool
connected:
  description: The members that the server has a session with, as C(host:port), where it tells.
  returned: success
  type: list
  elements: str
restart_needed:
  description: Whether only a restart can have the server know the ensemble as it is wanted.
  returned: success
  type: bool
reason:
  description: Why a restart is needed; empty where it is not.
  returned: success
  type: str
"""

from collections.abc import Mapping
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.olap.partmove.plugins.module_utils._tasks import argspec
from ansible_collections.olap.partmove.plugins.module_utils._tasks.runner import Task, run


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "clickhouse": argspec.clickhouse_server(),
            "name": {"type": "str", "required": True},
            "nodes": {
                "type": "list",
                "elements": "dict",
                "required": True,
                "options": {
                    "host": {"type": "str", "required": True},
                    "port": {"type": "int", "default": 2181},
                    "secure": {"type": "bool", "default": False},
                },
            },
            "session_timeout_ms": {"type": "int"},
            "operation_timeout_ms": {"type": "int"},
            "root": {"type": "str"},
            "identity": {"type": "str", "no_log": True},
            "preprocessed": {
                "type": "list",
                "elements": "path",
                "default": [
                    "/var/lib/clickhouse/preprocessed_configs/config.xml",
                    "/etc/clickhouse-server/config-preprocessed.xml",
                ],
            },
            "reload": {"type": "bool", "default": True},
        },
        supports_check_mode=True,
    )
    run(module, _task)


def _task(params: Mapping[str, Any]) -> Task:
    from ansible_collections.olap.partmove.plugins.module_utils._tasks.config_reload import ConfigReload

    return ConfigReload(params)


if __name__ == "__main__":
    main()
