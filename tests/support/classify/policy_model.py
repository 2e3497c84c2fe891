# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A model of the policy in plain Python, and any policies and inventories for it.

Hypothesis makes policies, and shard paths with what ensembles and servers know of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import yaml
from hypothesis import HealthCheck, Phase, given, settings, strategies as st
from pyspark.sql import DataFrame, SparkSession

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.usage import PartitionUsage
from ansible_collections.olap.partmove.plugins.module_utils._partmove.shard.inventory import InventoryRow
from partition_classify.policy.file import Policy, parse_policy
from partition_classify.sources.signals import SIGNAL_SCHEMA

from .inventory import inventory_of

DAY = 86_400_000
NOW = 20_000 * DAY

IDS = ("2019-1", "2019-12", "2019--1", "1", "all")
# Close to every limit of the policies, and few enough for ties to be frequent.
AGES = [days * DAY + off for days in (0, 1, 2, 5) for off in (-1, 0, 1)]
COLUMNS = (
    "state",
    "action",
    "gate",
    "last_modified",
    "has_hot",
    "replicas",
    "parts",
    "parts_per_replica",
    "znodes",
    "bytes",
    "statement",
    "rows",
    "reads",
    "reads_in_window",
)
WINDOWS = {"1d": DAY, "7d": 7 * DAY}


class Part(NamedTuple):
    """A part of a replica: when each ensemble got it, as an age, where it has it; and its size."""

    replica: str
    ages: Mapping[str, int]
    size: int


class Partition(NamedTuple):
    """What is known of a partition; signs are fields of PartitionUsage."""

    state: str
    parts: list[Part]
    signs: list[Mapping[str, Any]]


class Shard(NamedTuple):
    """The partitions of a shard path by their ids; the end of its path."""

    name: str
    partitions: Mapping[str, Partition]


ages = st.sampled_from([*AGES, *(90 * DAY,) * 8])
parts = st.builds(
    Part,
    st.sampled_from(["r1", "r2"]),
    st.one_of(
        st.fixed_dictionaries({"hot": ages}),
        st.fixed_dictionaries({"cold": ages}),
        st.fixed_dictionaries({"hot": ages, "cold": ages}),
    ),
    st.integers(0, 200),
)
signs = st.fixed_dictionaries(
    {
        "replica": st.sampled_from(["r1", "r2"]),
        "reads_within": st.one_of(
            *[st.fixed_dictionaries(dict.fromkeys(WINDOWS.values(), st.integers(0, 3)))] * 4,
            st.dictionaries(st.sampled_from(sorted(WINDOWS.values())), st.integers(0, 3), max_size=1),
        ),
        "active_parts": st.integers(1, 2),
        "data_version": st.integers(0, 3),
        "mutation": st.integers(0, 5),
        "is_queued": st.sampled_from([None, None, None, 1]),
    },
    optional={
        "rows": st.integers(0, 9),
        "has_log": st.booleans(),
        "reads": st.integers(0, 9),
    },
)
partitions = st.builds(
    Partition,
    st.sampled_from(["", "HOT", "COLD", "COLD", "COLD\n"]),
    st.lists(parts, min_size=1, max_size=4),
    st.lists(signs, max_size=2),
)
shards = st.builds(
    Shard,
    st.sampled_from(["a", "b", "a/b"]),
    st.dictionaries(st.sampled_from(IDS), partitions, min_size=1, max_size=5),
)


@st.composite
def choices(draw: st.DrawFn) -> dict[str, Any]:
    """Some of the keys that say when a partition is cold; pins come as a pair, so that they never clash."""
    chosen: dict[str, Any] = draw(
        st.fixed_dictionaries(
            {},
            optional={
                "cold_after": st.sampled_from(["1d", "48h", "5d"]),
                "keep_newest": st.integers(0, 3),
                "max_reads": st.sampled_from(["any", 0, 2, 4]),
            },
        )
    )
    if chosen.get("max_reads", "any") != "any" and draw(st.booleans()):
        chosen["reads_within"] = draw(st.sampled_from(sorted(WINDOWS)))
    if draw(st.booleans()):
        pins = draw(st.lists(st.sampled_from(IDS), max_size=3, unique=True))
        hot = draw(st.integers(0, len(pins)))
        chosen |= {"pin_hot": pins[:hot], "pin_cold": pins[hot:]}
    return chosen


@st.composite
def policies(draw: st.DrawFn) -> dict[str, Any]:
    """A policy that is not refused."""
    defaults = draw(choices()) | draw(st.fixed_dictionaries({}, optional={"never": st.booleans()}))
    rules = []
    tables = st.sampled_from(["/*/a", "/?/**", "/**/b", "/*/*/*", "/1*/a"])
    for table in draw(st.lists(tables, max_size=3, unique=True)):
        never = draw(st.booleans())
        rules.append({"table": table, "never": never} | ({} if never else draw(choices())))
    return {"version": 1, "defaults": defaults, "rules": rules}


def as_one(several: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """One policy, in which each of several decides what is below a folder of its own, such as ``/p3``."""
    rules = []
    for number, policy in enumerate(several):
        for rule in (*policy["rules"], {"table": "/**"}):
            whole = {**policy["defaults"], **rule, "table": f"/p{number}{rule['table']}"}
            if whole.get("max_reads", "any") == "any":
                whole.pop("reads_within", None)
            if whole.get("never"):
                whole = {"table": whole["table"], "never": True}
            rules.append(whole)
    return {"version": 1, "defaults": {}, "rules": rules}


def made(strategy: st.SearchStrategy[Any], count: int) -> list[Any]:
    """So many values of a strategy."""
    values: list[Any] = []

    @settings(
        max_examples=count,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def keep(value: Any) -> None:
        values.append(value)

    keep()
    return values


def inventory(path: str, shard: Shard) -> list[InventoryRow]:
    """What the ensembles have of the shard path."""
    return [
        InventoryRow(
            path, part.replica, f"{key}_{number}_{number}_0", key, NOW - age, part.size, 1 + part.size % 3,
            ensemble, partition.state,
        )
        for key, partition in shard.partitions.items()
        for number, part in enumerate(partition.parts)
        for ensemble, age in part.ages.items()
    ]  # fmt: skip


def signal(path: str, shard: Shard) -> list[PartitionUsage]:
    """What the servers say of it."""
    rows = []
    for key, partition in shard.partitions.items():
        for sign in partition.signs:
            nothing = PartitionUsage(path, key, "default.t", sign["replica"])
            within = sign["reads_within"]
            rows.append(nothing._replace(**{**sign, "reads_within": dict.fromkeys(within, 0)}))
            rows += [nothing._replace(reads_within={window: count}) for window, count in within.items()]
    return rows


def frames(spark: SparkSession, cases: Mapping[str, Shard]) -> tuple[DataFrame, DataFrame]:
    """What ensembles and servers know of the shard paths, as the job takes it."""
    rows = [row for path, shard in cases.items() for row in inventory(path, shard)]
    signs = [row for path, shard in cases.items() for row in signal(path, shard)]
    return inventory_of(spark, rows), spark.createDataFrame(signs, SIGNAL_SCHEMA)


def policy_of(policy: Mapping[str, Any]) -> Policy:
    """The policy as the job reads it."""
    return parse_policy(yaml.safe_dump(policy).encode(), "policy.yml")


def matches(pattern: str, path: str) -> bool:
    """Whether the pattern stands for the whole path, a character at a time."""
    if not pattern:
        return not path
    if pattern.startswith("**"):
        return any(matches(pattern[2:], path[end:]) for end in range(len(path) + 1))
    if pattern.startswith("*"):
        ends = range(len(path.split("/", 1)[0]) + 1)
        return any(matches(pattern[1:], path[end:]) for end in ends)
    first = path[:1]
    fits = (first not in ("", "/")) if pattern[0] == "?" else first == pattern[0]
    return fits and matches(pattern[1:], path[1:])


def rule_of(policy: Mapping[str, Any], path: str) -> dict[str, Any]:
    """All keys of the policy with what they are for the shard path."""
    built_in = {
        "cold_after": "1d", "keep_newest": 0, "pin_hot": [], "pin_cold": [], "never": False,
        "max_reads": "any", "reads_within": "7d",
    }  # fmt: skip
    rule: dict[str, Any] = next((rule for rule in policy["rules"] if matches(rule["table"], path)), {})
    return {**built_in, **policy["defaults"], **rule}


def decide(policy: Mapping[str, Any], path: str, shard: Shard) -> dict[str, tuple[object, ...]]:
    """Partition → the values of COLUMNS."""
    rule = rule_of(policy, path)
    times = {
        key: max(NOW - part.ages["hot"] for part in each.parts if "hot" in part.ages)
        for key, each in shard.partitions.items()
        if any("hot" in part.ages for part in each.parts)
    }
    newest = sorted(times, key=lambda key: (times[key], key), reverse=True)[: rule["keep_newest"]]
    decided: dict[str, tuple[object, ...]] = {}
    for key, partition in shard.partitions.items():
        gate = busy_gate(partition)
        is_marked = partition.state == "COLD"
        state = wanted_state(rule, key, partition, key in newest)
        if state == "COLD" and key in times and gate:
            state = "HOT"
        else:
            gate = None
        if state is None:
            action = "leave"
        elif state == "COLD":
            action = "move" if key in times else "stay"
        else:
            action = "reheat" if is_marked else "busy" if gate else "stay"
        counts = counted(partition, "hot" if key in times else "cold")
        if action == "move" and counts[2] > 1:
            gate = "one_part"
        decided[key] = (
            state,
            action,
            gate,
            times.get(key, counts[-1]),
            key in times,
            *counts[:-1],
            statement(key, partition) if gate == "one_part" else None,
            max((sign["rows"] for sign in partition.signs if "rows" in sign), default=None),
            reads(partition),
            reads_in_window(rule, partition, counts[0]),
        )
    return decided


def wanted_state(rule: Mapping[str, Any], key: str, partition: Partition, is_newest: bool) -> str | None:
    """What the policy wants, whatever the servers do."""
    in_hot = [part for part in partition.parts if "hot" in part.ages]
    is_marked = partition.state == "COLD"
    if rule["never"]:
        return None
    if not in_hot and not is_marked:
        return "COLD"
    if key in rule["pin_hot"]:
        return "HOT"
    if not in_hot:
        return "COLD"
    has_come_back = is_marked and any("cold" not in part.ages for part in in_hot)
    cold_after = {"1d": 1, "48h": 2, "5d": 5}[rule["cold_after"]] * DAY
    is_young = min(part.ages["hot"] for part in in_hot) < cold_after
    is_read = False
    if rule["max_reads"] != "any":
        known = reads_in_window(rule, partition, len({part.replica for part in in_hot}))
        is_read = known is None or known > rule["max_reads"]
    is_kept = key not in rule["pin_cold"] and (is_young or is_newest or is_read)
    return "HOT" if has_come_back or is_kept else "COLD"


def busy_gate(partition: Partition) -> str | None:
    """The gate that servers keep closed because they work on the partition."""
    known: dict[str, list[int]] = {
        name: [sign[name] for sign in partition.signs if sign.get(name) is not None]
        for name in ("is_queued", "mutation", "data_version")
    }
    if known["is_queued"]:
        return "queue_clear"
    if known["mutation"] and known["data_version"] and max(known["mutation"]) > min(known["data_version"]):
        return "mutations_applied"
    return None


def counted(partition: Partition, ensemble: str) -> tuple[int, int, int, int, int, int]:
    """Replicas, parts, the most parts of a replica, znodes, bytes, and when the newest was registered."""
    found = [part for part in partition.parts if ensemble in part.ages]
    names = [part.replica for part in found]
    return (
        len(set(names)),
        len(found),
        max(names.count(name) for name in names),
        sum(1 + part.size % 3 for part in found),
        sum(part.size for part in found),
        max(NOW - part.ages[ensemble] for part in found),
    )


def statement(key: str, partition: Partition) -> str | None:
    """The SQL that merges it, where it is not merged already."""
    if not partition.signs:
        return f"OPTIMIZE TABLE … PARTITION ID '{key}' FINAL"
    if max(sign["active_parts"] for sign in partition.signs) == 1:
        return None
    return f"OPTIMIZE TABLE default.t PARTITION ID '{key}' FINAL"


def reads(partition: Partition) -> int | None:
    """How often it was read in the last days, where all servers know."""
    logs = [sign["has_log"] for sign in partition.signs if "has_log" in sign]
    return sum(sign.get("reads", 0) for sign in partition.signs) if logs and all(logs) else None


def reads_in_window(rule: Mapping[str, Any], partition: Partition, replicas: int) -> int | None:
    """How often all of so many replicas have seen it read, where all of them know."""
    window = WINDOWS[rule["reads_within"]]
    asked = {sign["replica"] for sign in partition.signs}
    if rule["max_reads"] == "any" or not asked or len(asked) < replicas:
        return None
    if not all(window in sign["reads_within"] for sign in partition.signs):
        return None
    counts: list[int] = [sign["reads_within"][window] for sign in partition.signs]
    return sum(counts)
