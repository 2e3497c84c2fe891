#!/usr/bin/python
# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: _needed_variables
short_description: Internal helper of the playbooks, which refuses variables that are missing
version_added: 0.1.0
description:
  - This is an internal helper of the playbooks of this collection. It is no part of the public interface, and
    may change or go with any release. Use C(ansible.builtin.assert).
  - Reads variables and fails with one sentence that names all that are missing or cannot be read, before a
    play does anything. It shows no values but those of O(choices).
  - It runs on the controller alone, and does nothing on the host.
author:
  - olap.partmove contributors (@olap-partmove)
extends_documentation_fragment:
  - olap.partmove.attributes
attributes:
  check_mode:
    support: full
  diff_mode:
    support: none
    details: Changes nothing.
  idempotent:
    support: full
options:
  needed:
    description: Names of variables that have to be given.
    type: list
    elements: str
    default: []
  one_of:
    description: Lists of names. Of each list at least one variable has to be given and not empty.
    type: list
    elements: list
    default: []
  choices:
    description:
      - Lists of values by name. A variable that is given has to have one of them; another value is shown.
    type: dict
    default: {}
  roles:
    description:
      - Names of roles of this collection. Every variable that begins with the name of such a role is read,
        so that what is undefined in it is found.
    type: list
    elements: str
    required: true
"""

EXAMPLES = r"""
- name: Refuse variables that are missing
  olap.partmove._needed_variables:
    needed: [part_move_hot, part_move_cold]
    one_of: [[part_move_clickhouse, part_move_assume_active]]
    choices:
      separation: [patched, twin]
    roles: [part_move]
"""

RETURN = r"""
msg:
  description: What is missing, in one sentence, and how to give it.
  returned: failure
  type: str
"""
