# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The manners in which ClickHouse Keeper and ZooKeeper differ for a client."""

from __future__ import annotations

from typing import NamedTuple

FEATURES = ("filtered list", "multiRead", "check not exists", "create if not exists", "remove recursive")
"""What this stand-in has of the features that Keeper tells clients, in the order of their bits."""


class Manners(NamedTuple):
    """How an ensemble answers.

    name: for ids of tests.
    is_keeper: whether failed reads, sessions, unknown operations, members and counters are those of Keeper.
    asks_what_was_seen: whether a member refuses a client that has seen more than the member has applied.
    multi_read: whether there is multiRead; Keeper has it from 22.10 on.
    """

    name: str
    is_keeper: bool
    asks_what_was_seen: bool
    multi_read: bool = True

    @property
    def system_znodes(self) -> dict[str, bytes]:
        """Path → data of the znodes that are there from the beginning, apart from the list of members."""
        if not self.is_keeper:
            return {"/zookeeper": b"", "/zookeeper/quota": b""}
        flags = 0
        for bit, feature in enumerate(FEATURES):
            if feature != "multiRead" or self.multi_read:
                flags |= 1 << (7 - bit)
        return {"/keeper": b"", "/keeper/api_version": b"0", "/keeper/feature_flags": bytes([flags])}

    @property
    def members_path(self) -> str:
        """The path of the list of members."""
        return "/keeper/config" if self.is_keeper else "/zookeeper/config"


ZOOKEEPER = Manners("control", is_keeper=False, asks_what_was_seen=True)
"""The control: these manners are compared with those of a real ZooKeeper."""
KEEPER = Manners("keeper", is_keeper=True, asks_what_was_seen=False)
"""Keeper until late 2025, which accepts a client whatever it has seen."""
NEW_KEEPER = Manners("new_keeper", is_keeper=True, asks_what_was_seen=True)
"""Keeper since then (ClickHouse#90016)."""
OLD_KEEPER = Manners("old_keeper", is_keeper=True, asks_what_was_seen=False, multi_read=False)
"""Keeper before 22.10."""

MANNERS = {each.name: each for each in (ZOOKEEPER, KEEPER, NEW_KEEPER, OLD_KEEPER)}
