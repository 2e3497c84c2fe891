# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs the classification: ``spark-submit --py-files PACKAGE classify.py`` or ``python classify.py``.

PACKAGE is the output of build_package.py. Started by plain Python on one machine, this script builds the
package itself.
"""

from __future__ import annotations

import os
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

LOG_SETTINGS = Path(__file__).resolve().with_name("log4j2.properties")
# Most Java code runs once: the optimizing compiler would cost more time than it saves. The larger initial
# metaspace avoids several garbage collections during class loading.
_QUICK = "-XX:TieredStopAtLevel=1 -XX:MetaspaceSize=256m"


def main() -> int:
    """Run the job. Exit status: 0, 1 for a failure, 2 for invalid arguments."""
    if find_spec("olap_partmove") is not None:
        return _run()
    from build_package import build  # noqa: PLC0415 - missing when spark-submit copied this file alone

    with tempfile.TemporaryDirectory(prefix="partition_classify.") as folder:
        package = Path(folder, "partition_classify.zip")
        build(package)
        sys.path.insert(0, str(package))
        given = os.environ.get("PYSPARK_SUBMIT_ARGS", "pyspark-shell")
        java = f"-Dlog4j2.configurationFile={LOG_SETTINGS.as_uri()} {_QUICK}"
        os.environ["PYSPARK_SUBMIT_ARGS"] = f"--py-files {package} --driver-java-options '{java}' {given}"
        return _run()


def _run() -> int:
    from partition_classify.packages import DRIVER_PACKAGES, missing_packages, missing_packages_error  # noqa: PLC0415 - found only now

    if lacks := missing_packages(DRIVER_PACKAGES):
        sys.stderr.write(f"partition_classify failed: {missing_packages_error(sys.executable, lacks)}\n")
        return 1
    from partition_classify.job import main as run_job  # noqa: PLC0415 - needs these packages

    return run_job(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
