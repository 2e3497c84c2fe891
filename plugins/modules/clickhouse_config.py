#!/usr/bin/python
# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: clickhouse_config
short_description: Put the cold ensemble into the configuration of a ClickHouse server
version_added: 0.1.0
description:
  - Sees to it that the configuration of a ClickHouse server has C(<cold_zookeeper>) with the given members
    and settings, or that it does not have it. C(<zookeeper>) and the ensembles in C(<auxiliary_zookeepers>)
    are written the same way.
  - Files are never written anew. Bytes are inserted or removed where the element is, and all others stay as
    they are, also comments, blank lines, line ends, byte order mark and encoding. The result is read again
    before it is written, and refused if anything but the element is different, or if a server would not find
    the element in it.
  - An element may be in any file that the server merges, in several of them, or be replaced in one. An
    optional reference that has no value yields to a section, as it does in the server. What only a running
    server can resolve, such as C(from_env), is left alone, and a warning tells why members were not compared.
  - An element that is there is changed where it is, in the file and in the style it was written in. The
    options O(style), O(substitution) and O(drop_in) only count for one that is not there yet.
  - With O(state=absent), what this module has put in is taken out so that the files are what they were
    before, byte for byte.
notes:
  - ClickHouse reads these elements when it starts, and from 20.12 on C(<auxiliary_zookeepers>) also while it
    runs, which M(olap.partmove.config_reload) sees to. This module does not restart it.
  - Hot and cold with a common address are refused. One member with two names is not seen.
  - A file is replaced as a whole. Where it has other names (hard links), these keep what was there before,
    and a warning tells so.
  - A configuration in YAML is read, and gets a drop-in in XML beside it.
requirements:
  - lxml >= 4.9 on the host that the module runs on
  - PyYAML there, if a YAML file of the configuration speaks of one of the ensembles
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
    details: Only the lines around the edit are shown, and of what this module does not write itself the tags
      alone. The content of C(identity) is hidden.
  idempotent:
    support: full
options:
  path:
    description: The C(config.xml) of the server. Files in C(config.d) and C(conf.d) beside it count as well,
      as they do for the server.
    type: path
    default: /etc/clickhouse-server/config.xml
  element:
    description: Which ensemble the options are about; in V(auxiliary_zookeepers) the one called O(name).
    type: str
    choices: [cold_zookeeper, zookeeper, auxiliary_zookeepers]
    default: cold_zookeeper
  name:
    description:
      - The name of the ensemble in C(<auxiliary_zookeepers>), by which tables refer to it. V(default) is the
        hot ensemble for a server, and refused.
      - Needed with O(element=auxiliary_zookeepers), and refused with any other.
    type: str
  state:
    description: Whether the configuration is to have the element.
    type: str
    choices: [present, absent]
    default: present
  nodes:
    description:
      - Every member of the ensemble. Their order does not count.
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
        description: Whether ClickHouse is to speak TLS there.
        type: bool
        default: false
  session_timeout_ms:
    description: Session timeout in milliseconds. V(0) removes the setting; left out, it stays as it is.
    type: int
  operation_timeout_ms:
    description: How long one request may take, in milliseconds. V(0) removes the setting; left out, it stays
      as it is.
    type: int
  root:
    description:
      - Path of the znode that all paths are relative to. It has to exist when ClickHouse starts.
      - V("") removes the setting; left out, it stays as it is.
    type: str
  identity:
    description: Who ClickHouse is for the ensemble, as C(user:password). V("") removes the setting; left out,
      it stays as it is.
    type: str
  style:
    description: How to write an element that is not there yet.
    type: str
    choices:
      auto: V(incl) where every server finds a substitution, and else V(drop_in). Older servers such as
        18.16 find them below C(<yandex>) only, and the file has to be known, so C(<include_from>) has to name
        it with its whole path. In C(<auxiliary_zookeepers>) it is always V(drop_in).
      incl: The members under a name of their own in the file of substitutions, which C(<include_from>) names
        or else is C(/etc/metrika.xml), and in O(path) an element that refers to that name. Not for
        C(<auxiliary_zookeepers>).
      inline: The element with its members in O(path).
      drop_in: The element with its members in a file of its own in C(config.d).
    default: auto
  substitution:
    description: The name in the file of substitutions, with O(style=incl). By default
      V(cold-zookeeper-servers), or V(zookeeper-servers) with O(element=zookeeper).
    type: str
  drop_in:
    description: The name of the file in C(config.d), with O(style=drop_in). By default that of O(element)
      with C(.xml), or V(auxiliary_zookeepers_NAME.xml).
    type: str
  check_members:
    description:
      - Whether to connect to every one of O(nodes) first, from this host. Nothing is written unless each
        serves a session, and has the znode O(root).
      - Done in check mode as well. A member that wants a certificate is only asked for its own.
    type: bool
    default: false
  member_timeout:
    description: Seconds to wait for each answer of a member.
    type: float
    default: 5.0
  backup:
    description: Whether to keep each file that is changed or removed beside it, with the time in its name.
    type: bool
    default: false
seealso:
  - module: olap.partmove.config_reload
  - module: olap.partmove.part_move
"""

EXAMPLES = r"""
- name: See what would change
  olap.partmove.clickhouse_config:
    nodes:
      - host: cold1.example.org
      - host: cold2.example.org
      - host: cold3.example.org
    check_members: true
  check_mode: true
  diff: true

- name: Put the cold ensemble into a file of its own
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

- name: Name the members of the hot ensemble
  olap.partmove.clickhouse_config:
    element: zookeeper
    nodes:
      - host: hot1.example.org

- name: Let tables of any ClickHouse be in a second ensemble, as cold:/path
  olap.partmove.clickhouse_config:
    element: auxiliary_zookeepers
    name: cold
    nodes:
      - host: cold1.example.org

- name: Take the cold ensemble out again
  olap.partmove.clickhouse_config:
    state: absent
"""

RETURN = r"""
msg:
  description: What is wrong and the way out.
  returned: failure
  type: str
element:
  description: Which element it is about.
  returned: success
  type: str
name:
  description: The name of the auxiliary ensemble; empty for other elements.
  returned: success
  type: str
state:
  description: Whether it is to be there.
  returned: success
  type: str
style:
  description: How the element is written, V(incl), V(inline) or V(drop_in); V(absent) when it is not there.
  returned: success
  type: str
config_path:
  description: The file that has the element; empty when it is not there.
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
  description: What became of each file, or would in check mode, in the order in which it was done.
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
  description: Copies of what was changed or removed.
  returned: success
  type: list
  elements: str
modified:
  description:
    - When the newest of the files that have the element was written, in seconds since 1970. A server that was
      started before that may not have read it.
    - When it is not there, the same of all files of the configuration and the folders of those that are gone.
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
    from ansible_collections.olap.partmove.plugins.module_utils._tasks.clickhouse_config import ClickHouseConfig

    return ClickHouseConfig(params)


if __name__ == "__main__":
    main()
