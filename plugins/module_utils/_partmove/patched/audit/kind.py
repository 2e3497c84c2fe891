# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The closed vocabulary of an audit: every partition of every replica is of exactly one kind."""

from __future__ import annotations

from ...findings.vocabulary import Texts, Vocabulary


class FindingKind(Vocabulary):
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
    def texts(self) -> Texts:
        """What is said of the kind."""
        return _TEXTS[self]

    @property
    def restart_unsafe(self) -> bool:
        """Whether a restart of the replica's server can set parts aside, or keep it from starting."""
        return self in _RESTART_UNSAFE


_REPAIR = "part_repair with this kind"

_TEXTS = {
    FindingKind.UNREGISTERED: Texts(
        "parts are active on disk and registered in neither ensemble, so the next restart sets them aside",
        f"Do not restart the server. {_REPAIR} and a file that has the registrations, or DETACH PARTITION and"
        " ATTACH PARTITION, which register the data anew",
    ),
    FindingKind.REGISTERED_FOR_ANOTHER: Texts(
        "parts are active on disk, registered for another replica only, and the next restart sets them aside",
        f"Do not restart the server. {_REPAIR}: it registers them as they are for the other replica",
    ),
    FindingKind.UNREADABLE: Texts(
        "a znode among the parts has a name or data that no part has",
        f"Do not restart the server. {_REPAIR}, which keeps a copy of the znode, where it is in cold; in hot"
        " find out what wrote it",
    ),
    FindingKind.SET_ASIDE: Texts(
        "registered parts are not active, and the server has them in its folder detached",
        "Do not merge, mutate or CHECK the table. Stop the server, put the folder back from detached under"
        " the name of the part, and start the server",
    ),
    FindingKind.LACKS_DATA: Texts(
        "another replica has cold parts that are not on this one's disk, and servers do not fetch cold parts",
        "Drop this replica of the table, bring the partition back with part_move and the state hot, and"
        " add the replica again: it fetches the partition from another one",
    ),
    FindingKind.UNLIKE_DISK: Texts(
        "a registered part has other data than the part of that name on disk",
        "Where the part is hot, CHECK TABLE lets the server fetch it from another replica. Where it is cold,"
        " do not CHECK: stop the server, copy the folder of the part from another replica, start the server",
    ),
    FindingKind.NOT_ON_DISK: Texts(
        "parts are registered in hot for the replica and are not active on its disk",
        "Wait for the replica to fetch them; see system.replication_queue",
    ),
    FindingKind.COLD_UNKNOWN: Texts(
        "State is COLD, and the cold ensemble that was given has no such table, or is not the one it went to",
        "Check the hosts and the chroot of cold first: the ensemble given may be the wrong one",
    ),
    FindingKind.FOREIGN: Texts(
        "another tool put the parts into cold, so that no move or way back touches them",
        f"{_REPAIR}: it adopts them, once each equals hot or the disk; then move or bring back as usual",
    ),
    FindingKind.COPIES_DIFFER: Texts(
        "copies in cold differ from what hot registers, and hot is what the disk has",
        f"{_REPAIR}: it writes the copies anew from hot",
    ),
    FindingKind.HALF_COLD: Texts(
        "some of its parts are registered in hot and others in cold only",
        f"{_REPAIR}: all are registered in hot again, and State says so",
    ),
    FindingKind.COLD_UNMARKED: Texts(
        "live parts are registered in cold only, and State is not COLD: DROP PARTITION would not find them",
        f"{_REPAIR}: it sets State to COLD; or bring the partition back afterwards",
    ),
    FindingKind.UNEVEN: Texts(
        "the replicas have different cold parts, each as it is registered",
        "part_move with the state hot: the replicas fetch from each other what they lack",
    ),
    FindingKind.HOT_MARKED_COLD: Texts(
        "State is COLD, and hot registers everything that is on disk",
        f"{_REPAIR}: it sets State to HOT",
    ),
    FindingKind.GHOST: Texts(
        "State is COLD, and what cold registers is on no disk: dropped, detached by a statement, or lost",
        f"Find out which of these it was. {_REPAIR}: it removes the registrations and sets State to HOT",
    ),
    FindingKind.FORMER_TABLE: Texts(
        "cold has registrations of a former table at the same path",
        f"{_REPAIR}: it removes those that are on no disk",
    ),
    FindingKind.DROPPED: Texts(
        "cold has registrations of dropped or detached parts: they are on no disk, and State is not COLD",
        f"{_REPAIR}: it removes them",
    ),
    FindingKind.ANOTHER_REPLICA: Texts(
        "cold has registrations of a replica that hot does not have; a new one of that name would have them",
        f"{_REPAIR}: it removes them",
    ),
    FindingKind.SEVERAL_COLD_PARTS: Texts(
        "a replica has several parts of a cold partition, which a merge would take out of the table",
        "part_move with the state hot, OPTIMIZE TABLE … PARTITION … FINAL, then move it again",
    ),
    FindingKind.COPIES_LEFT: Texts(
        "cold has copies of what hot registers, and no server can need them any more",
        f"{_REPAIR}, or part_move with the state hot: the copies are removed",
    ),
    FindingKind.EMPTY_MARKED_COLD: Texts(
        "State is COLD, and the partition is registered nowhere and on no disk",
        f"{_REPAIR}: it sets State to HOT",
    ),
    FindingKind.NOT_JUDGED: Texts(
        "it could not be found out, as a server did not answer or a znode could not be read",
        "See the reason, and audit again",
    ),
    FindingKind.COPIES_NEEDED: Texts(
        "it was brought back, and a server that is starting may need its copies"
    ),
    FindingKind.COLD: Texts("it is registered in cold only, as State says, and on disk"),
    FindingKind.HOT: Texts("it is registered in hot, as State says"),
    FindingKind.EMPTY: Texts("it has no part any more"),
}

_RESTART_UNSAFE = frozenset(
    # A server that finds a name that no part has among those of its parts does not start.
    {
        FindingKind.UNREGISTERED,
        FindingKind.REGISTERED_FOR_ANOTHER,
        FindingKind.COLD_UNKNOWN,
        FindingKind.UNREADABLE,
    }
)
