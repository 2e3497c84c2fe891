# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Fetches the plan of a driver in a cluster: ``spark-submit --py-files PACKAGE fetch.py``."""

from __future__ import annotations

import sys

from partition_classify.fetch import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
