# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The closed vocabulary of an audit: every partition of every replica is of exactly one kind."""

from __future__ import annotations

from ...findings.vocabulary import Told, Vocabulary


class Kind(Vocabulary):
    """What a partition of a replica is; the worst first.

    A part is *registered* where a znode names it, and *on disk* where ``system.parts`` has it active. A part
    counts as registered, or as on disk, too, where one is that it was merged or mutated into.
    """

    UNREGISTERED = "unregistered"
    REGISTERED_FOR_ANOTHER = "registered_for_another"
    UNREADABLE = "unreadable"
    SET_ASIDE = "set_aside"
    LACKS_DATA = "lacks_data"
    UNLIKE_DISK = "unlike_disk"
    NOT_ON_DISK = "not_on_disk"
    COLD_UNKNOWN = "cold_unknown"
    FOREIGN = "foreign"
    COPIES_DIFFER = "copies_differ"
    HALF_COLD = "half_cold"
    COLD_UNMARKED = "cold_unmarked"
    UNEVEN = "uneven"
    HOT_MARKED_COLD = "hot_marked_cold"
    GHOST = "ghost"
    FORMER_TABLE = "former_table"
    DROPPED = "dropped"
    ANOTHER_REPLICA = "another_replica"
    SEVERAL_COLD_PARTS = "several_cold_parts"
    COPIES_LEFT = "copies_left"
    EMPTY_MARKED_COLD = "empty_marked_cold"
    NOT_JUDGED = "not_judged"
    COPIES_NEEDED = "copies_needed"
    COLD = "cold"
    HOT = "hot"
    EMPTY = "empty"

    @property
    def told(self) -> Told:
        """What is said of the kind."""
        return _TOLD[self]

    @property
    def restart_unsafe(self) -> bool:
        """Whether a restart of the replica's server can set parts aside, or keep it from starting."""
        return self in _RESTART_UNSAFE


_REPAIR = "part_repair with this kind"

_TOLD = {
    Kind.UNREGISTERED: Told(
        "parts are active on disk and registered in neither ensemble, so the next restart sets them aside",
        f"Do not restart the server. {_REPAIR} and a file that has the registrations, or DETACH PARTITION and"
        " ATTACH PARTITION, which register the data anew",
    ),
    Kind.REGISTERED_FOR_ANOTHER: Told(
        "parts are active on disk, registered for another replica only, and the next restart sets them aside",
        f"Do not restart the server. {_REPAIR}: it registers them as they are for the other replica",
    ),
    Kind.UNREADABLE: Told(
        "a znode among the parts has a name or data that no part has",
        f"Do not restart the server. {_REPAIR}, which keeps a copy of the znode, where it is in cold; in hot"
        " find out what wrote it",
    ),
    Kind.SET_ASIDE: Told(
        "registered parts are not active, and the server has them in its folder detached",
        "Do not merge, mutate or CHECK the table. Stop the server, put the folder back from detached under"
        " the name of the part, and start the server",
    ),
    Kind.LACKS_DATA: Told(
        "another replica has cold parts that are not on this one's disk, and servers do not fetch cold parts",
        "Drop this replica of the table, bring the partition back with part_move and the state hot, and"
        " add the replica again: it fetches the partition from another one",
    ),
    Kind.UNLIKE_DISK: Told(
        "a registered part has other data than the part of that name on disk",
        "Where the part is hot, CHECK TABLE lets the server fetch it from another replica. Where it is cold,"
        " do not CHECK: stop the server, copy the folder of the part from another replica, start the server",
    ),
    Kind.NOT_ON_DISK: Told(
        "parts are registered in hot for the replica and are not active on its disk",
        "Wait for the replica to fetch them; see system.replication_queue",
    ),
    Kind.COLD_UNKNOWN: Told(
        "State is COLD, and the cold ensemble that was given has no such table, or is not the one it went to",
        "Check the hosts and the chroot of cold first: the ensemble given may be the wrong one",
    ),
    Kind.FOREIGN: Told(
        "another tool put the parts into cold, so that no move or way back touches them",
        f"{_REPAIR}: it adopts them, once each equals hot or the disk; then move or bring back as usual",
    ),
    Kind.COPIES_DIFFER: Told(
        "copies in cold differ from what hot registers, and hot is what the disk has",
        f"{_REPAIR}: it writes the copies anew from hot",
    ),
    Kind.HALF_COLD: Told(
        "some of its parts are registered in hot and others in cold only",
        f"{_REPAIR}: all are registered in hot again, and State says so",
    ),
    Kind.COLD_UNMARKED: Told(
        "live parts are registered in cold only, and State is not COLD: DROP PARTITION would not find them",
        f"{_REPAIR}: it sets State to COLD; or bring the partition back afterwards",
    ),
    Kind.UNEVEN: Told(
        "the replicas have different cold parts, each as it is registered",
        "part_move with the state hot: the replicas fetch from each other what they lack",
    ),
    Kind.HOT_MARKED_COLD: Told(
        "State is COLD, and hot registers everything that is on disk",
        f"{_REPAIR}: it sets State to HOT",
    ),
    Kind.GHOST: Told(
        "State is COLD, and what cold registers is on no disk: dropped, detached by a statement, or lost",
        f"Find out which of these it was. {_REPAIR}: it removes the registrations and sets State to HOT",
    ),
    Kind.FORMER_TABLE: Told(
        "cold has registrations of a former table at the same path",
        f"{_REPAIR}: it removes those that are on no disk",
    ),
    Kind.DROPPED: Told(
        "cold has registrations of dropped or detached parts: they are on no disk, and State is not COLD",
        f"{_REPAIR}: it removes them",
    ),
    Kind.ANOTHER_REPLICA: Told(
        "cold has registrations of a replica that hot does not have; a new one of that name would have them",
        f"{_REPAIR}: it removes them",
    ),
    Kind.SEVERAL_COLD_PARTS: Told(
        "a replica has several parts of a cold partition, which a merge would take out of the table",
        "part_move with the state hot, OPTIMIZE TABLE … PARTITION … FINAL, then move it again",
    ),
    Kind.COPIES_LEFT: Told(
        "cold has copies of what hot registers, and no server can need them any more",
        f"{_REPAIR}, or part_move with the state hot: the copies are removed",
    ),
    Kind.EMPTY_MARKED_COLD: Told(
        "State is COLD, and the partition is registered nowhere and on no disk",
        f"{_REPAIR}: it sets State to HOT",
    ),
    Kind.NOT_JUDGED: Told(
        "it could not be found out, as a server did not answer or a znode could not be read",
        "See the reason, and audit again",
    ),
    Kind.COPIES_NEEDED: Told("it was brought back, and a server that is starting may need its copies"),
    Kind.COLD: Told("it is registered in cold only, as State says, and on disk"),
    Kind.HOT: Told("it is registered in hot, as State says"),
    Kind.EMPTY: Told("it has no part any more"),
}

_RESTART_UNSAFE = frozenset(
    # A server that finds a name that no part has among those of its parts does not start.
    {Kind.UNREGISTERED, Kind.REGISTERED_FOR_ANOTHER, Kind.COLD_UNKNOWN, Kind.UNREADABLE}
)
