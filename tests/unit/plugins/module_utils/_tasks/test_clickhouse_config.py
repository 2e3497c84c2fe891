# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What clickhouse_config says on a host that lacks lxml."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

WITHOUT_LXML = """
import sys
sys.modules["lxml"] = None
from contextlib import ExitStack
from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import PartMoveError
from ansible_collections.olap.partmove.plugins.module_utils._tasks.clickhouse_config import EditConfig
from ansible_collections.olap.partmove.plugins.module_utils._tasks.resources import Resources
params = {"path": sys.argv[1], "element": "zookeeper", "state": "absent", "style": "incl"}
params |= {"substitution": None, "drop_in": None}
task = EditConfig(params)
try:
    task.run(Resources(params, ExitStack(), check_mode=False))
except PartMoveError as error:
    print(error, task.result())
"""


def test_missing_package_is_named(tmp_path: Path) -> None:
    config = tmp_path / "config.xml"
    config.write_bytes(b"<yandex><zookeeper/></yandex>")
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_LXML, str(config)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith(f"{sys.executable} lacks the Python package lxml (")
    assert done.stdout.endswith(
        "Run `apt-get install python3-lxml` or `pip install lxml` on this host. {'changed': False}\n"
    )
    assert config.read_bytes() == b"<yandex><zookeeper/></yandex>"
