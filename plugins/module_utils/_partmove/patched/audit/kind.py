# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The closed vocabulary of the audit: every partition of every replica is of exactly one kind."""

from __future__ import annotations

from ...findings.vocabulary import Texts, Vocabulary


class FindingKind(Vocabulary):
    """The kind of a partition for one replica, worst kind first.

    A part is *registered* if a znode names it, and *on disk* if ``system.parts`` lists it as active. A part
    merged or mutated into a registered (or active) part counts as registered (or on disk) as well.
    """

    UNREGISTERED = "unregistered"
    REGISTERED_FOR_ANOTHER = "registered_for_another"
    UNREADABLE = "unreadable"
    SET_ASIDE = "set_aside"
    LACKS_DATA = "lacks_data"
    UNLIKE_DISK = "unlike_disk"
    NOT_ON_DISK = "not_on_disk"
    COLD_UNKNOWN = "cold_unknown"
    OTHER_CLUSTER = "other_cluster"
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
        """The meaning and the remedy of the kind."""
        return _TEXTS[self]

    @property
    def restart_unsafe(self) -> bool:
        """Whether a restart of the server can detach parts, or keep the server from starting."""
        return self in _RESTART_UNSAFE


_REPAIR = "Run part_repair with this kind"

_TEXTS = {
    FindingKind.UNREGISTERED: Texts(
        "parts are active on disk and registered in neither ensemble: the next restart moves them to"
        " detached/",
        f"Do not restart the server. {_REPAIR} and a file of registrations; or, if one server has every part"
        " of the partition, DETACH PARTITION and ATTACH PARTITION on this server alone, which register the"
        " data anew",
    ),
    FindingKind.REGISTERED_FOR_ANOTHER: Texts(
        "parts are active on disk and registered for another replica only: the next restart moves them to"
        " detached/",
        f"Do not restart the server. {_REPAIR}: it registers the parts as for the other replica",
    ),
    FindingKind.UNREADABLE: Texts(
        "a znode among the parts has a name or data that no part has",
        "Do not restart a server that the audit names with DO NOT RESTART. If the znode is in cold: run"
        " part_repair with this kind, which keeps a copy of the znode. If it is in hot: find out which"
        " program wrote it",
    ),
    FindingKind.SET_ASIDE: Texts(
        "registered parts are not active, and the server has them in its folder detached",
        "Do not merge, mutate or CHECK the table. First make sure that no part of another name has the rows,"
        " attached since: the folder would double them. Then stop the server, move the folder from detached"
        " back to the table under the name of the part, and start the server",
    ),
    FindingKind.LACKS_DATA: Texts(
        "another replica has cold parts that this replica's disk lacks, and servers do not fetch cold parts",
        "First make sure that no part of another name has the rows, attached since: the part would double"
        " them. Then, if the other replicas have every part of the table: drop this replica of the table,"
        " bring the partition back with part_move and state: hot, and add the replica again: it fetches the"
        " partition from another replica",
    ),
    FindingKind.UNLIKE_DISK: Texts(
        "a registered part has other data than the part of that name on disk",
        "Only if another replica has the part and not this kind: if the part is hot, run CHECK TABLE, and"
        " the server fetches the part from there. If it is cold, do not CHECK: stop the server, move the"
        " folder of the part out of the table, copy the folder of the same name from there, start the server."
        " If every replica has this kind, find out which program wrote the znode",
    ),
    FindingKind.NOT_ON_DISK: Texts(
        "parts are registered in hot for the replica and are not active on its disk",
        "Wait until the replica has fetched the parts; see system.replication_queue",
    ),
    FindingKind.COLD_UNKNOWN: Texts(
        "State is COLD, and the given cold ensemble does not have the table, or is not the one its parts"
        " went to",
        "Check the hosts and the chroot of cold first: the given ensemble may be the wrong one",
    ),
    FindingKind.OTHER_CLUSTER: Texts(
        "cold has the parts for a table of another cluster, or nothing proves that they are of this cluster",
        "Check the hosts and the chroots of hot and cold. If the parts really are of this cluster, take the"
        " table over with cold_owner, which asks the disks",
    ),
    FindingKind.FOREIGN: Texts(
        "another tool put the parts into cold, so part_move neither moves them nor brings them back",
        f"{_REPAIR}: it adopts the parts, once each equals hot or the disk; then run part_move as usual",
    ),
    FindingKind.COPIES_DIFFER: Texts(
        "copies in cold differ from the part znodes in hot, and hot is equal to the disk",
        f"{_REPAIR}: it writes the copies anew from hot",
    ),
    FindingKind.HALF_COLD: Texts(
        "some of the parts are registered in hot, the others in cold only",
        f"{_REPAIR}: it registers all parts in hot again, and sets State to HOT",
    ),
    FindingKind.COLD_UNMARKED: Texts(
        "live parts are registered in cold only, and State is not COLD: DROP PARTITION would not find them",
        f"{_REPAIR}: it sets State to COLD. Then, if you want, bring the partition back (part_move, state:"
        f" hot)",
    ),
    FindingKind.UNEVEN: Texts(
        "the replicas have different cold parts, each as registered for it",
        "Run part_move with state: hot: the replicas then fetch the missing parts from each other",
    ),
    FindingKind.HOT_MARKED_COLD: Texts(
        "State is COLD, and hot registers everything that is on disk",
        f"{_REPAIR}: it sets State to HOT",
    ),
    FindingKind.GHOST: Texts(
        "State is COLD, and parts that cold registers are on no disk: dropped, detached by a statement,"
        " attached under another name, or lost",
        "Find out which of these happened, copy no folder, and check that every disk is mounted."
        f" {_REPAIR} and disks_are_mounted: it removes the part znodes, and sets State to HOT if no disk has"
        " a part of the partition",
    ),
    FindingKind.FORMER_TABLE: Texts(
        "cold has part znodes of a former table at the same path",
        f"Check that every disk is mounted. {_REPAIR} and disks_are_mounted: it removes the znodes of parts"
        " that are on no disk",
    ),
    FindingKind.DROPPED: Texts(
        "cold has znodes of dropped or detached parts: the parts are on no disk, and State is not COLD",
        f"Check that every disk is mounted. {_REPAIR} and disks_are_mounted: it removes the part znodes",
    ),
    FindingKind.ANOTHER_REPLICA: Texts(
        "cold has part znodes of a replica that hot does not have; a new replica of that name would"
        " inherit them",
        f"{_REPAIR}: it removes the part znodes",
    ),
    FindingKind.SEVERAL_COLD_PARTS: Texts(
        "a replica has several parts of a cold partition, and a merge would take them out of the table",
        "Run part_move with state: hot, merge the partition with partition_merge (or OPTIMIZE TABLE …"
        " PARTITION … FINAL), then move it again",
    ),
    FindingKind.COPIES_LEFT: Texts(
        "cold has copies of parts that hot registers, and no server can need the copies any more",
        f"{_REPAIR}, or part_move with state: hot: the copies are removed",
    ),
    FindingKind.EMPTY_MARKED_COLD: Texts(
        "State is COLD, and the partition is registered in neither ensemble and on no disk",
        f"{_REPAIR}: it sets State to HOT",
    ),
    FindingKind.NOT_JUDGED: Texts(
        "the partition could not be judged: a server did not answer, or a znode could not be read",
        "Read the reason, remove its cause, and run part_audit_info again",
    ),
    FindingKind.COPIES_NEEDED: Texts(
        "the partition was brought back, and a server that is starting may need its copies"
    ),
    FindingKind.COLD: Texts("the partition is registered in cold only, as State says, and on disk"),
    FindingKind.HOT: Texts("the partition is registered in hot, as State says"),
    FindingKind.EMPTY: Texts("the partition has no part any more"),
}

_RESTART_UNSAFE = frozenset(
    # Why UNREADABLE is among them: a server does not start if a znode among its parts has an invalid name.
    {
        FindingKind.UNREGISTERED,
        FindingKind.REGISTERED_FOR_ANOTHER,
        FindingKind.COLD_UNKNOWN,
        FindingKind.UNREADABLE,
    }
)
