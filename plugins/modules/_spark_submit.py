#!/usr/bin/python
# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: _spark_submit
short_description: Internal helper of the role partition_classify, not for playbooks
version_added: 0.1.0
description:
  - This is an internal helper of the role P(olap.partmove.partition_classify#role). It is no part of the
    public interface of the collection, and may change or go with any release. Use the role.
  - Runs a program on the host, shows while it runs what it says for people, and waits for its exit status.
  - Lines on stderr that begin with C(partition_classify:) are shown, and what YARN and Kubernetes say of the
    state of a driver.
  - If the program fails, RV(msg) is the last such line, and not all the output of Java.
  - The program runs in the background of the host. It is ended a minute after nobody has asked for it, so
    interrupting the play ends it too.
author:
  - olap.partmove contributors (@olap-partmove)
extends_documentation_fragment:
  - olap.partmove.attributes
attributes:
  check_mode:
    support: none
    details: Skipped, because it cannot tell what the program would do.
  diff_mode:
    support: none
  idempotent:
    support: none
options:
  argv:
    description: The program and its arguments.
    type: list
    elements: str
    required: true
  folder:
    description: A folder of this run alone on the host. What the program writes is kept in it.
    type: path
    required: true
  python:
    description: The Python that runs O(background) on the host.
    type: str
    required: true
  background:
    description: Path of C(background.py) of the role on the host.
    type: path
    required: true
"""

EXAMPLES = r"""
- name: Run the job on Spark
  olap.partmove._spark_submit:
    argv: [spark-submit, --master, "local[*]", /opt/partmove/classify.py, --help]
    folder: /tmp/run
    python: python3
    background: /opt/partmove/background.py
"""

RETURN = r"""
rc:
  description: Exit status of the program.
  returned: always
  type: int
  sample: 0
stdout:
  description: The last line that the program wrote to stdout.
  returned: always
  type: str
msg:
  description: Why it failed, in one sentence.
  returned: failure
  type: str
"""
