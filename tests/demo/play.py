# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The steps of the demo: what is done, what is shown, and what has to be so."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from demo.facts import ENSEMBLES, Amounts, Facts
from demo.runs import PLAYBOOK, Runs, Separation
from demo.screen import Screen, require
from demo.stage import Ensembles, Stage
from demo.tables import (
    COLD,
    COLD_AFTER_SECONDS,
    DEFERRED,
    DROPPED,
    HOT,
    PAUSE_SECONDS,
    REPLICAS,
    ROWS_LEFT,
    SEED,
    TABLES,
    outcomes,
    table_at,
)


class Play:
    """Plays on running ensembles and a stage that is not filled yet. Raises Surprise."""

    def __init__(self, screen: Screen, ensembles: Ensembles, stage: Stage, runs: Runs) -> None:
        self._screen = screen
        self._ensembles = ensembles
        self._stage = stage
        self._runs = runs

    def play(self) -> None:
        """Go through all steps."""
        self._introduce()
        as_of = self._fill()
        self._enter()
        rows = self._stage.rows()
        before = self._runs.part_info("1-look")
        self._try(as_of, before)
        moved = self._move(as_of)
        after = self._runs.part_info("4-look")
        self._show_states(after, moved)
        self._show_amounts(before, after)
        self._show_deferred(moved)
        self._compare_rows(rows)
        self._move_again(as_of, after)
        if self._stage.unshown:
            self._screen.step("Restarts and drops")
            self._screen.done(f"Not shown: {self._stage.unshown}.")
        else:
            self._restart(rows)
            self._drop(rows, self._runs.part_info("7-look"))

    def _introduce(self) -> None:
        self._screen.step("The servers")
        rows = [*self._ensembles.servers, *self._stage.servers]
        self._screen.table(("", "version", "where"), rows)
        self._screen.warn(self._stage.warning)

    def _fill(self) -> datetime:
        self._screen.step("The tables")
        rows = [(table.full_name, len(table.outcome), table.story) for table in TABLES]
        self._screen.table(("table", "partitions", ""), rows)
        as_of = self._stage.fill()
        self._screen.say(
            f"They were filled, and {PAUSE_SECONDS} seconds later some partitions were written to once more. "
            f"Here a partition is cold when it has had no new part for {COLD_AFTER_SECONDS} seconds; in "
            "service that would be days or weeks."
        )
        return as_of

    def _enter(self) -> None:
        self._screen.step("Which replicas may have cold partitions")
        if self._stage.unshown:
            self._screen.done(f"Not shown: {self._stage.unshown}, so there is nobody to ask for the patch.")
            return
        self._screen.say(
            "Only those whose server was seen to have the patch. replica_ledger asks each server and enters "
            "its replicas in the ledger; part_move moves nothing of a table before all are in it."
        )
        entered = self._runs.enter("0-ledger", self._stage.servers)
        self._screen.table(
            ("table", *REPLICAS),
            [
                (
                    table.full_name,
                    *(
                        each["after"]
                        for name in REPLICAS
                        for each in entered
                        if (each["shard_path"], each["replica"]) == (table.shard_path, name)
                    ),
                )
                for table in TABLES
            ],
        )
        ready = [each for each in entered if (each["before"], each["after"]) == ("absent", "ready")]
        require(len(ready) == len(TABLES) * len(REPLICAS), f"the ledger was answered for by {entered}")
        self._screen.done("Every replica is in the ledger.")

    def _try(self, as_of: datetime, before: Facts) -> None:
        self._screen.step("What would be done")
        self._screen.command(f"ansible-playbook {PLAYBOOK} -e @vars.yml --check --diff")
        cold = self._ensembles.cold_tree()
        self._show_answer(self._runs.separate("2-check", as_of, self._stage.readiness, check=True))
        require(self._runs.part_info("2-look") == before, "check mode changed what is registered")
        require(self._ensembles.cold_tree() == cold, "check mode wrote to the cold ensemble")
        self._screen.done("Nothing was written, neither to hot nor to cold.")

    def _move(self, as_of: datetime) -> Separation:
        self._screen.step("The move")
        self._screen.command(f"ansible-playbook {PLAYBOOK} -e @vars.yml --diff")
        moved = self._runs.separate("3-move", as_of, self._stage.readiness)
        self._show_answer(moved)
        require(moved.partitions("moved") == outcomes(COLD), "what was moved is not what is old")
        self._screen.done("Each was copied, read back from every member of cold, and taken out of hot.")
        report = moved.classified["report"]
        require(Path(report).is_file(), f"there is no report at {report}")
        self._screen.table(("what there was to gain, for a browser",), [(report,)])
        return moved

    def _show_answer(self, answer: Separation) -> None:
        plan = answer.classified
        self._screen.say(
            f"Spark found {plan['hot']} partitions to be HOT and {plan['cold']} to be COLD. The module "
            f"part_move says: {answer.moved['msg']}."
        )

    def _show_states(self, after: Facts, moved: Separation) -> None:
        self._screen.step("Where the partitions are now")
        self._screen.say(f"{SEED.full_name}, with the number of parts of each replica:")
        reasons = moved.reasons(SEED.shard_path)
        self._screen.table(
            ("partition", "State", "in hot", "in cold", "Spark's reason"),
            [
                (name, state, *(after.by_replica(SEED, name, each) for each in ENSEMBLES), reasons[name])
                for name, state in sorted(after.states_of(SEED).items())
            ],
        )
        self._screen.say("All tables, in partitions:")
        self._screen.table(
            ("table", HOT, COLD),
            [
                (table.full_name, *map(list(after.states_of(table).values()).count, (HOT, COLD)))
                for table in TABLES
            ],
        )
        for table in TABLES:
            expected = {name: COLD if outcome == COLD else HOT for name, outcome in table.outcome.items()}
            found = after.states_of(table)
            require(found == expected, f"the States of {table.full_name} are {found}")

    def _show_amounts(self, before: Facts, after: Facts) -> None:
        self._screen.step("What moved")
        gone = {part for part in before.of_ensemble("hot") if part not in after.parts}
        self._screen.table(
            ("table", "partitions", *(f"parts of {name}" for name in REPLICAS), "znodes"),
            [
                (
                    table.full_name,
                    len({part.partition for part in parts}),
                    *(sum(part.replica == name for part in parts) for name in REPLICAS),
                    sum(part.znodes for part in parts),
                )
                for table in TABLES
                for parts in [[part for part in gone if part.shard_path == table.shard_path]]
            ],
        )
        amounts = [
            (f"{name} {when}", *Amounts.of(facts.of_ensemble(name)))
            for name in ENSEMBLES
            for when, facts in (("before", before), ("after", after))
        ]
        self._screen.say("In all, without the partition that gets inserts all the time:")
        self._screen.table(("", *Amounts._fields), amounts)
        arrived = {part._replace(ensemble="hot") for part in after.of_ensemble("cold")}
        require(arrived == gone, "cold does not have exactly what left hot")
        self._screen.done("Cold has exactly what left hot.")

    def _show_deferred(self, moved: Separation) -> None:
        self._screen.step("What was not moved, and why")
        for each in moved.moved["deferred"]:
            self._screen.say(
                f"{table_at(each['shard_path']).full_name} {each['partition']}, gate {each['gate']}: "
                f"{each['reason']}. {each['remedy']}."
            )
        require(moved.partitions("deferred") == outcomes(DEFERRED), "other partitions were deferred")
        gates = {each["gate"] for each in moved.moved["deferred"]}
        require(gates == {"one_part"}, f"the gates were {gates}")
        self._screen.done("It is as it was, in hot, and can go with a later run.")

    def _compare_rows(self, before: Mapping[str, tuple[int, int]]) -> None:
        self._screen.step("The data")
        after = self._stage.rows()
        self._show_rows(before, after)
        require(after == before, "the servers do not have the rows any more that they had before")
        self._screen.done(self._stage.check())

    def _move_again(self, as_of: datetime, after: Facts) -> None:
        self._screen.step("The same once more")
        self._screen.command(f"ansible-playbook {PLAYBOOK} -e @vars.yml --diff")
        again = self._runs.separate("5-again", as_of, self._stage.readiness)
        self._show_answer(again)
        require(not again.moved["changed"], "the second run says that it changed something")
        require(again.partitions("unchanged") == outcomes(COLD), "cold partitions were not left alone")
        require(self._runs.part_info("6-look") == after, "the second run changed what is registered")
        self._screen.done("The second run changed nothing.")

    def _restart(self, before: Mapping[str, tuple[int, int]]) -> None:
        self._screen.step("A restart of both servers")
        self._screen.say(
            "This is where a server without the patch would end: most of what it has on disk is not "
            "registered in hot any more. These look into cold as well."
        )
        health = self._stage.restart()
        after = self._stage.rows()
        self._show_rows(before, after)
        require(after == before, "the restarted servers do not have the rows that they had before")
        self._screen.done(f"Every row is there. {health}")

    def _drop(self, rows: Mapping[str, tuple[int, int]], before: Facts) -> None:
        self._screen.step("DROP PARTITION, hot and cold")
        for partition in DROPPED.values():
            self._screen.command(SEED.drop(partition))
            self._stage.drop(SEED, partition)
        after = self._runs.part_info("8-look")
        self._screen.say("Parts registered, before and after:")
        self._screen.table(
            (
                "partition",
                "State",
                *(f"in {name} {when}" for name in ENSEMBLES for when in ("before", "after")),
            ),
            [
                (
                    partition,
                    state,
                    *(
                        facts.by_replica(SEED, partition, name)
                        for name in ENSEMBLES
                        for facts in (before, after)
                    ),
                )
                for state, partition in DROPPED.items()
            ],
        )
        dropped = {(SEED.shard_path, partition) for partition in DROPPED.values()}
        left = {part for part in after.parts if (part.shard_path, part.partition) in dropped}
        require(not left, f"an ensemble still has {left}")
        kept = {
            part for part in before.of_ensemble("cold") if (part.shard_path, part.partition) not in dropped
        }
        require(set(after.of_ensemble("cold")) == kept, "the drops changed other partitions in cold")
        rows_now = self._stage.rows()
        self._show_rows(rows, rows_now)
        self._require_dropped(rows, rows_now)
        self._screen.done("Both ensembles are clean of the two, and nothing else is gone from cold.")

    def _require_dropped(
        self, before: Mapping[str, tuple[int, int]], after: Mapping[str, tuple[int, int]]
    ) -> None:
        """The table of the dropped partitions has one left; the others are as they were."""
        seed = {f"{SEED.full_name} on {name}" for name in REPLICAS}
        for name, rows in after.items():
            if name in seed:
                require(rows[0] == ROWS_LEFT, f"{name} has {rows[0]} rows")
            else:
                require(rows == before[name], f"{name} does not have the rows that it had before the drops")

    def _show_rows(self, before: Mapping[str, tuple[int, int]], after: Mapping[str, tuple[int, int]]) -> None:
        rows = [(name, count, after[name][0]) for name, (count, _content) in before.items()]
        if rows:
            self._screen.table(("settled rows of", "before", "after"), rows)
