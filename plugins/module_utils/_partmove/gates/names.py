# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The gate names, shared by refusals, plans, results and the documentation."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

from ..errors import PartMoveError
from ..text import first_few


class GateName(str, Enum):
    """The name of each gate; docs/reference/gates.md explains each gate and its remedy."""

    # Where the partition is.
    PARTITION_EXISTS = "partition_exists"
    NOT_DRIFTED = "not_drifted"
    REGISTERED = "registered"

    # The servers.
    PATCHED_REPLICAS = "patched_replicas"
    ACTIVE_ON_DISK = "active_on_disk"

    # The whole table, in the order of the checks.
    KNOWN_LAYOUT = "known_layout"
    TABLE_KEPT = "table_kept"
    REPLICAS_PRESENT = "replicas_present"
    REPLICAS_HEALTHY = "replicas_healthy"
    NO_TTL = "no_ttl"
    NO_ALTER_PENDING = "no_alter_pending"
    SAME_TABLE = "same_table"
    NO_SHARED_STORAGE = "no_shared_storage"

    # The partition, in the order of the checks.
    QUEUE_CLEAR = "queue_clear"
    BLOCK_NUMBERS_PRESENT = "block_numbers_present"
    NO_INSERT_IN_FLIGHT = "no_insert_in_flight"
    NO_QUORUM_OPEN = "no_quorum_open"
    EQUAL_PARTS = "equal_parts"
    ONE_PART = "one_part"
    PAYLOAD_READABLE = "payload_readable"
    EQUAL_PAYLOADS = "equal_payloads"
    MUTATIONS_APPLIED = "mutations_applied"
    OLD_ENOUGH = "old_enough"
    NO_STRAY_COPIES = "no_stray_copies"

    # When a partition is brought back to hot.
    COPIES_NEEDED = "copies_needed"
    HOT_MEMBERS = "hot_members"

    # During a run.
    BOUND_HERE = "bound_here"
    LOCK_FREE = "lock_free"
    LOCK_KEPT = "lock_kept"
    NOT_HELD = "not_held"
    ALTER_FINISHED = "alter_finished"
    READABLE = "readable"
    COPIES_EQUAL = "copies_equal"
    QUIET_TABLE = "quiet_table"
    FITS_ONE_MULTI = "fits_one_multi"

    # Between a table and its cold twin.
    NOT_INNER = "not_inner"
    TWIN_READY = "twin_ready"
    TWIN_ALIKE = "twin_alike"
    TWIN_AT_REST = "twin_at_rest"
    TWIN_EVEN = "twin_even"
    TWIN_WHOLE = "twin_whole"
    TWIN_APART = "twin_apart"
    PARTS_DISTINCT = "parts_distinct"
    LINKS_MADE = "links_made"
    ROOM_FOR_CLONES = "room_for_clones"
    PARTS_DROPPABLE = "parts_droppable"
    READERS_READY = "readers_ready"
    READERS_DONE = "readers_done"
    CLONES_EQUAL = "clones_equal"
    TWIN_KNOWN = "twin_known"

    # After the switch.
    LATE_INSERT = "late_insert"
    COPIES_KEPT = "copies_kept"
    POST_SWITCH_CHECK = "post_switch_check"


FORESEEN = (GateName.QUEUE_CLEAR, GateName.ONE_PART, GateName.MUTATIONS_APPLIED)
"""The gates foreseen by partition_classify, so that the plan can name them."""


def gates_named(names: Iterable[str], setting: str) -> frozenset[str]:
    """Return the names as a set. Raises PartMoveError for a name that is no gate.

    setting: the name of the option, for the message.
    """
    given = frozenset(names)
    unknown = sorted(given - {gate.value for gate in GateName})
    if unknown:
        raise PartMoveError(
            f"{setting} names {first_few(unknown)}, which is no gate",
            remedy="Give names from docs/reference/gates.md, such as active_on_disk",
        )
    return given
