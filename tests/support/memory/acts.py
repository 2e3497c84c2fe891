# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the servers of a table may do while a partition goes there or back."""

from __future__ import annotations

from collections.abc import Callable

from support.memory.scene import TARGET, Scene
from support.memory.statements import Statements

Act = Callable[[Statements], object]


def and_catch_up(act: Act) -> Act:
    """Let every replica do what is left to do after it."""

    def both(servers: Statements) -> None:
        act(servers)
        servers.catch_up()

    return both


ON_THE_PARTITION: dict[str, Act] = {
    "insert": lambda servers: servers.insert(TARGET),
    "insert on r2": lambda servers: servers.insert(TARGET, "r2"),
    "insert and fetch": and_catch_up(lambda servers: servers.insert(TARGET)),
    "assign a merge": lambda servers: servers.assign_merge(TARGET),
    "merge": and_catch_up(lambda servers: servers.assign_merge(TARGET)),
    "mutate": lambda servers: servers.mutate(TARGET),
    "assign a drop": lambda servers: servers.assign_drop(TARGET),
    "drop": lambda servers: servers.drop(TARGET),
    "mutate and apply": and_catch_up(lambda servers: servers.assign_mutation(TARGET)),
    "assign a detach": lambda servers: servers.assign_detach(TARGET),
    "detach and attach": and_catch_up(lambda servers: servers.attach(TARGET)),
    "assign a replacement": lambda servers: servers.replace(TARGET),
    "replace": and_catch_up(lambda servers: servers.replace(TARGET)),
    "move away": and_catch_up(lambda servers: servers.move_away(TARGET)),
    "insert with a quorum": lambda servers: servers.insert_with_quorum(TARGET),
}
"""Those that concern TARGET."""

ON_THE_TABLE: dict[str, Act] = {
    "restart a server": lambda servers: servers.restart(),
    "stop a server": lambda servers: servers.stop(),
    "lose a replica": lambda servers: servers.lose(),
    "add a replica": lambda servers: servers.add_replica(),
    "add a replica that fetches": and_catch_up(lambda servers: servers.add_replica()),
    "remove a replica": lambda servers: servers.remove_replica(),
    "add a replica again": lambda servers: servers.add_again(),
    "add a replica again that fetches": and_catch_up(lambda servers: servers.add_again()),
    "alter": lambda servers: servers.alter(),
    "alter and apply": and_catch_up(lambda servers: servers.alter()),
    "lose the session with cold": lambda servers: servers.expire_cold(),
    "drop the table": lambda servers: servers.drop_table(),
    "make the table again": lambda servers: servers.recreate(),
}


def perform(scene: Scene, act: Act) -> Callable[[], None]:
    """The act, as a script does it, with a look at the invariants after it."""

    def do() -> None:
        act(scene.servers)
        scene.watch.check()

    return do
