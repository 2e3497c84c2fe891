# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Type numbers of transactions in a log."""

from __future__ import annotations

CREATE, CREATE2, CREATE_TTL, CREATE_CONTAINER = 1, 15, 21, 19
DELETE, DELETE_CONTAINER = 2, 20
SET_DATA, RECONFIG = 5, 16
SET_ACL = 7
CHECK = 13
MULTI = 14
ERROR = -1
CREATE_SESSION, CLOSE_SESSION = -10, -11

CHANGES_NOTHING = frozenset({ERROR, CHECK, CREATE_SESSION})
"""Types of transactions that leave the tree unchanged."""
