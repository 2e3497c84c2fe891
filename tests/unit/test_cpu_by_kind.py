# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a run of tests prints of the CPU time that its processes took."""

from __future__ import annotations

import re
import subprocess
import sys

PROGRAM = """
import subprocess, sys
from support.cpu_by_kind import CpuByKind
cpu = CpuByKind()
burn = "import time; end = time.process_time() + float(sys.argv[1])\\nwhile time.process_time() < end: pass"
subprocess.run([sys.executable, "-c", f"import sys; {burn}", "0.7"], check=True)
server = f"import sys, time; {burn}\\ntime.sleep(3)"
subprocess.run([sys.executable, "-c", server, "0.7", "org.apache.zookeeper.Main"], check=True)
print("\\n".join(cpu.stop()))
"""


def test_the_cpu_time_of_a_server_is_told_from_that_of_others() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={"PYTHONPATH": "tests"},
        capture_output=True,
        text=True,
        check=True,
    )
    found = re.findall(r"^ +[1-9]\d* CPU-s  (.+)$", done.stdout, re.MULTILINE)
    assert {*found} == {"ZooKeeper", "modules, playbooks and other processes"}, done.stdout
