# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Extracts part znodes from a member's files; see partition_classify.registrations."""

from __future__ import annotations

import sys

from packaged import run

if __name__ == "__main__":
    sys.exit(run("registrations"))
