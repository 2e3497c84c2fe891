#!/usr/bin/python
# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: clickhouse_config
short_description: Configure the cold ensemble of a ClickHouse server, or remove it from the configuration
version_added: 1.0.0
description:
  - Adds C(<cold_zookeeper>) with the given members and settings to the configuration of a ClickHouse server,
    updates the element, or removes the element. The module can write C(<zookeeper>) and the ensembles in
    C(<auxiliary_zookeepers>) in the same way.
  - Inserts or removes bytes at the place of the element. All other bytes of a file stay unchanged, including
    comments, blank lines, line ends, byte order mark and encoding. The module parses the result before
    writing. It fails if more than the element differs, or if a server of any version that may load the files
    would not find the element. It also fails with O(state=absent) if a server would still find the element.
  - The element may be in any file that the server merges, in several files, or be replaced in one file. An
    optional reference without a value yields to a section, as in the server. The module follows
    C(<include incl>). Values that only a running server can resolve, such as C(from_env), stay unchanged, and
    a warning explains why members were not compared.
  - An existing element is changed in its file and in its style. The options O(style), O(substitution) and
    O(drop_in) apply to a new element only.
  - With O(state=absent), the module removes its own additions so that the files are restored byte for byte.
notes:
  - ClickHouse reads these elements at its start. From version 21.1 on it also reads changes of
    C(<auxiliary_zookeepers>) while running, see M(olap.partmove.config_reload). This module does not restart
    the server.
  - The module refuses a common address of hot and cold, whatever element names the hot ensemble;
    C(<zookeeper>), C(<keeper>) or C(<keeper_server>). One member with two names is not detected.
  - With O(element=zookeeper), the module refuses an element beside C(<keeper>), with which a server does not
    start, and one that would replace C(<keeper_server>) as the hot ensemble.
  - A file is replaced as a whole. Other names of the file (hard links) keep the former content, and a warning
    lists such files.
  - For a configuration in YAML the module reads the YAML files, and creates a drop-in file in XML.
requirements:
  - lxml >= 4.9 on the host that runs the module
  - PyYAML on this host, if a YAML file of the configuration has one of the ensembles
author:
  - olap.partmove contributors (@olap-partmove)
extends_documentation_fragment:
  - olap.partmove.attributes
  - olap.partmove.attributes.action_group
attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
    details: Shows only the lines around the edit. Elements that this module does not write are shown as tags
      without content. The content of C(identity) is hidden.
  idempotent:
    support: full
options:
  path:
    description: The C(config.xml) of the server. Files in C(config.d) and C(conf.d) beside the file are read
      as well, as in the server.
    type: path
    default: /etc/clickhouse-server/config.xml
  element:
    description: Element of the ensemble; in V(auxiliary_zookeepers) the ensemble O(name).
    type: str
    choices: [cold_zookeeper, zookeeper, auxiliary_zookeepers]
    default: cold_zookeeper
  name:
    description:
      - Name of the ensemble in C(<auxiliary_zookeepers>), which tables refer to. V(default) is refused,
        because a server uses this name for the hot ensemble.
      - Needed with O(element=auxiliary_zookeepers), and refused with other elements.
    type: str
  state:
    description: Whether the configuration is to have the element.
    type: str
    choices: [present, absent]
    default: present
  nodes:
    description:
      - Every member of the ensemble, in any order.
      - Needed with O(state=present).
    type: list
    elements: dict
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
    description: Session timeout in milliseconds. V(0) removes the setting; by default the setting stays
      unchanged.
    type: int
  operation_timeout_ms:
    description: Timeout of one request in milliseconds. V(0) removes the setting; by default the setting
      stays unchanged.
    type: int
  root:
    description:
      - Path of the znode that all paths are relative to. The znode has to exist when ClickHouse starts.
      - V("") removes the setting; by default the setting stays unchanged.
    type: str
  identity:
    description: Identity of ClickHouse in the ensemble, as C(user:password). V("") removes the setting; by
      default the setting stays unchanged.
    type: str
  style:
    description: How to write a new element.
    type: str
    choices:
      auto: V(incl) if every server finds a substitution, otherwise V(drop_in). Older servers such as 18.16
        find substitutions below C(<yandex>) only, and need the whole path of the file in C(<include_from>).
        In C(<auxiliary_zookeepers>) always V(drop_in).
      incl: The members are written to the file of substitutions under a name of their own, and an element in
        O(path) refers to this name. The file is C(<include_from>), or C(/etc/metrika.xml) by default. Not for
        C(<auxiliary_zookeepers>).
      inline: The element with its members is written to O(path).
      drop_in: The element with its members is written to a separate file in C(config.d).
    default: auto
  substitution:
    description: Name in the file of substitutions, with O(style=incl). By default V(cold-zookeeper-servers),
      or V(zookeeper-servers) with O(element=zookeeper).
    type: str
  drop_in:
    description: Name of the file in C(config.d), with O(style=drop_in). By default the value of O(element)
      with C(.xml), or V(auxiliary_zookeepers_NAME.xml).
    type: str
  check_members:
    description:
      - Whether to connect from this host to all O(nodes) first. The module writes only if each member accepts
        a session and the O(identity), and has the znode O(root). Without these options, the current values of
        the configuration count. Members with TLS do not get the identity, as the module does not verify their
        certificate; those that require an identity are not asked for the znode.
      - Also checked in check mode. From a member that requires a client certificate, the module reads only
        the certificate of the member.
    type: bool
    default: false
  member_timeout:
    description: Seconds to wait for each answer of a member.
    type: float
    default: 5.0
  backup:
    description: Whether to keep a copy of each changed or removed file beside the file, with the time in its
      name.
    type: bool
    default: false
seealso:
  - module: olap.partmove.config_reload
  - module: olap.partmove.part_move
"""

EXAMPLES = r"""
- name: Show the changes
  olap.partmove.clickhouse_config:
    nodes:
      - host: cold1.example.org
      - host: cold2.example.org
      - host: cold3.example.org
    check_members: true
  check_mode: true
  diff: true

- name: Write the cold ensemble to a separate file
  olap.partmove.clickhouse_config:
    nodes:
      - host: cold1.example.org
        port: 2281
        secure: true
    session_timeout_ms: 30000
    root: /clickhouse
    identity: "{{ cold_identity }}"
    style: drop_in
    backup: true

- name: Set the members of the hot ensemble
  olap.partmove.clickhouse_config:
    element: zookeeper
    nodes:
      - host: hot1.example.org

- name: Allow tables with znodes in a second ensemble, as cold:/path
  olap.partmove.clickhouse_config:
    element: auxiliary_zookeepers
    name: cold
    nodes:
      - host: cold1.example.org

- name: Remove the cold ensemble
  olap.partmove.clickhouse_config:
    state: absent
"""

RETURN = r"""
msg:
  description: The error and its remedy.
  returned: failure
  type: str
element:
  description: The value of O(element).
  returned: success
  type: str
name:
  description: The name of the auxiliary ensemble; empty for other elements.
  returned: success
  type: str
state:
  description: The value of O(state).
  returned: success
  type: str
style:
  description: "Style of the element: V(incl), V(inline) or V(drop_in); V(absent) without the element."
  returned: success
  type: str
config_path:
  description: The file with the element; empty without the element.
  returned: success
  type: str
substitution:
  description: The name in the file of substitutions; empty for other styles.
  returned: success
  type: str
substitutions_path:
  description: The file of substitutions; empty for other styles.
  returned: success
  type: str
nodes:
  description: The members, as C(host:port).
  returned: success
  type: list
  elements: str
files:
  description: Changed files in the order of the changes; in check mode, files to change.
  returned: success
  type: list
  elements: dict
  contains:
    path:
      description: Path of the file.
      type: str
    action:
      description: V(created), V(changed) or V(removed).
      type: str
backup_files:
  description: Copies of changed and removed files.
  returned: success
  type: list
  elements: str
modified:
  description:
    - Time when the newest file with the element was written, in seconds since 1970. A server with an earlier
      start may not have read the file.
    - Without the element, the newest time over all files of the configuration and the folders of removed
      files.
  returned: success
  type: float
"""

from collections.abc import Mapping
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.olap.partmove.plugins.module_utils._tasks.runner import Task, run


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "path": {"type": "path", "default": "/etc/clickhouse-server/config.xml"},
            "element": {
                "type": "str",
                "choices": ["cold_zookeeper", "zookeeper", "auxiliary_zookeepers"],
                "default": "cold_zookeeper",
            },
            "name": {"type": "str"},
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
            "nodes": {
                "type": "list",
                "elements": "dict",
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
            "style": {"type": "str", "choices": ["auto", "incl", "inline", "drop_in"], "default": "auto"},
            "substitution": {"type": "str"},
            "drop_in": {"type": "str"},
            "check_members": {"type": "bool", "default": False},
            "member_timeout": {"type": "float", "default": 5.0},
            "backup": {"type": "bool", "default": False},
        },
        required_if=[("state", "present", ["nodes"]), ("element", "auxiliary_zookeepers", ["name"])],
        supports_check_mode=True,
    )
    run(module, _task)


def _task(params: Mapping[str, Any]) -> Task:
    from ansible_collections.olap.partmove.plugins.module_utils._tasks.clickhouse_config import (
        ClickHouseConfig,
    )

    return ClickHouseConfig(params)


if __name__ == "__main__":
    main()
