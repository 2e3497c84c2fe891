# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A replica without a reading table has nothing to hide."""

from __future__ import annotations

from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.readers.servers import Reading


def test_policies_are_unknown_until_they_are_read() -> None:
    assert Reading(()) == ((), (), "")
