#!/usr/bin/python
# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: config_reload
short_description: Make a running ClickHouse server use an auxiliary ensemble as configured
version_added: 1.0.0
description:
  - Checks whether a server uses an ensemble of C(<auxiliary_zookeepers>) with the given members and settings.
    If not, the module runs C(SYSTEM RELOAD CONFIG) and checks again. The result shows if only a restart can
    help. The module never restarts a server.
  - On the host of the server the module compares the preprocessed configuration file, which the server writes
    after reading its configuration. Versions since 2023 also show in C(system.zookeeper_connection) the
    connected member, and versions since the middle of 2025 in C(system.zookeeper) whether the ensemble
    answers.
notes:
  - ClickHouse applies a change of C(<auxiliary_zookeepers>) without a restart. A server also checks its files
    every few seconds.
  - The module refuses a server before ClickHouse 21.1, whose tables cannot be in such an ensemble.
  - When a server applies changed members of an ensemble, its session with the ensemble ends. Its tables there
    refuse inserts until the new session starts moments later.
  - If none of the changed members answers, the reload fails, and the server keeps the former members. The
    next run of the module reloads again, also on a version that shows nothing of the session. That reload is
    a change only if the server shows another state afterwards.
  - A setting that O(path) marks with C(hide_in_preprocessed), such as C(<identity>), is not compared. The
    module reloads the configuration then, which applies the setting. On a server that cannot reload its
    configuration, only you know whether a changed hidden setting needs a restart.
  - The user of O(clickhouse) needs the privilege C(SYSTEM RELOAD CONFIG), and has to be allowed to read the
    database C(system).
  - M(olap.partmove.clickhouse_config) writes the configuration and checks the members.
requirements:
  - lxml >= 4.9 on the host that runs the module
author:
  - olap.partmove contributors (@olap-partmove)
extends_documentation_fragment:
  - olap.partmove.clickhouse_server
  - olap.partmove.attributes
  - olap.partmove.attributes.action_group
attributes:
  check_mode:
    support: full
    details: Checks the server. A setting that the server does not know yet is returned as a change.
  diff_mode:
    support: none
  idempotent:
    support: full
options:
  name:
    description: Name of the ensemble in C(<auxiliary_zookeepers>), which tables refer to.
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
        description: Whether ClickHouse is to use TLS for this member.
        type: bool
        default: false
  session_timeout_ms:
    description: Session timeout in milliseconds. V(0) for none; by default not checked.
    type: int
  operation_timeout_ms:
    description: Timeout of one request in milliseconds. V(0) for none; by default not checked.
    type: int
  root:
    description: Path of the znode that all paths are relative to. V("") for none; by default not checked.
    type: str
  identity:
    description: Identity of ClickHouse in the ensemble, as C(user:password). V("") for none; by default not
      checked.
    type: str
  preprocessed:
    description: Possible paths of the preprocessed configuration of the server. The first existing file is
      used.
    type: list
    elements: path
    default:
      - /var/lib/clickhouse/preprocessed_configs/config.xml
      - /etc/clickhouse-server/config-preprocessed.xml
  path:
    description: The C(config.xml) of the server. Only C(hide_in_preprocessed) is read from the file and those
      that the server merges into it. Without such a file nothing counts as hidden.
    type: path
    default: /etc/clickhouse-server/config.xml
  reload:
    description: Whether to reload the configuration of the server. Without this option the module only checks
      the server, for example after a restart.
    type: bool
    default: true
seealso:
  - module: olap.partmove.clickhouse_config
"""

EXAMPLES = r"""
- name: Allow tables with znodes in a second ensemble, as cold:/path
  olap.partmove.clickhouse_config:
    element: auxiliary_zookeepers
    name: cold
    nodes: "{{ cold_nodes }}"
    check_members: true

- name: Make the server use the ensemble without a restart
  olap.partmove.config_reload:
    name: cold
    nodes: "{{ cold_nodes }}"
    clickhouse: {user: admin, password: "{{ admin_password }}"}
  register: known
"""

RETURN = r"""
msg:
  description: The error and its remedy.
  returned: failure
  type: str
version:
  description: The version of the server.
  returned: success
  type: str
  sample: 26.9.2.1
read:
  description: Whether the preprocessed configuration of the server has the desired settings, except hidden
    ones; null without such a file, or if the file must not show the members.
  returned: success
  type: bool
answers:
  description: Whether the ensemble answers the server; null if the version of the server does not report
    this.
  returned: success
  type: bool
connected:
  description: Members with a session of the server, as C(host:port), if the server reports them.
  returned: success
  type: list
  elements: str
restart_needed:
  description: Whether only a restart can apply the desired settings.
  returned: success
  type: bool
reason:
  description: Reason for the restart; otherwise empty.
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
            "path": {"type": "path", "default": "/etc/clickhouse-server/config.xml"},
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
