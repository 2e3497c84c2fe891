# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What runs on managed hosts, with each Python of this machine that such a host may have."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import ansible
import pytest
from ansible.release import __version__ as core_version

from compat.pythons import OWN, REFUSED, SUPPORTED, find_pythons, why_no_python
from compat.venvs import host_venvs
from support.ansible.calls import COLLECTIONS, ROOT, Call, call_modules, run_modules
from support.ansible.twin_runs import DAY, ModernTables
from support.ansible.warm import WarmPython
from support.files.configs import written
from support.files.snapshot_files import GeneratedTree, write_generated
from support.servers.clickhouse import ClickHouseCluster, ServerOptions, ZooKeeperSource, cluster
from support.servers.kazoo_client import connected
from support.servers.modern.server import ModernShard
from support.servers.replicated import ReplicatedTable
from support.servers.zookeeper import Ensemble

DOMAIN = "tests/unit/plugins/module_utils/_partmove"
MODULES = {path.stem for path in (ROOT / "plugins" / "modules").glob("[a-z]*.py")}
FIRST, SECOND = "20191201", "20191202"
# The file that the third call writes.
BACKUP = "{{ result_2.backup }}"
WITHOUT_SPARK = ("3.9",)
"""Pythons that no supported PySpark runs with."""
OTHERS = [version for version in SUPPORTED if version != OWN]
ALL = os.environ.get("COMPAT_PYTHONS") == "all"

pytestmark = [pytest.mark.long(minutes=3), pytest.mark.clickhouse]


@pytest.fixture
def python(version: str) -> Path:
    """The Python of a managed host."""
    if version not in find_pythons():
        pytest.skip(why_no_python(version))
    venv = host_venvs()[version]
    assert venv.is_ready, f"{venv.folder} is not what it should be: make compat-venvs"
    return venv.python


@pytest.fixture(scope="module")
def servers(
    clickhouse: str, hot_ensemble: Ensemble, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ClickHouseCluster]:
    """One stock server, in which a table moves well as long as it is not started again."""
    folder = tmp_path_factory.mktemp("clickhouse")
    source = ZooKeeperSource(hot_ensemble.connect_string)
    with cluster(folder, source, replicas=1, options=ServerOptions(program=clickhouse)) as started:
        yield started


@pytest.fixture
def twins(modern: ModernShard, hot: Ensemble, base: str) -> Iterator[ModernTables]:
    """A table of one partition, which gets its twin by a module."""
    tables = ModernTables(modern, hot, f"{base}-twins")
    modern.execute(tables.definition("hits", tables.shard_path("hits")))
    tables.insert_into("hits", 1)
    yield tables
    for name in ("hits", "hits_cold"):
        modern.execute(f"DROP TABLE IF EXISTS {name} SYNC")


def test_another_python_is_there() -> None:
    """Else nothing of this file says anything."""
    if not host_venvs():
        pytest.skip(f"NOT RUN: no Python besides {OWN} is on this machine that could run modules")


@pytest.mark.parametrize("version", OTHERS)
def test_the_domain(version: str, python: Path) -> None:
    """Without the fixtures of tests/conftest.py, which need a later Python.

    What one of them lacks, the oldest lacks too; what is gone in the newest, imports and modules show.
    """
    if not ALL and version != oldest_and_newest()[0]:
        pytest.skip(f"the domain runs with {version} by make compat WHAT=pythons")
    options = ("-q", "-p", "no:cacheprovider", "-p", "compat.few_examples", f"--confcutdir={DOMAIN}")
    done = subprocess.run(
        [str(python), "-m", "pytest", *options, DOMAIN],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": "tests"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("version", [each for each in OTHERS if each not in WITHOUT_SPARK])
def test_the_job_of_spark(version: str, python: Path, tmp_path: Path) -> None:
    """All its modules, without Spark; and the census, which needs no packages, with the files of a member."""
    paths = (ROOT / "roles" / "partition_classify" / "files", ROOT / "build" / "spark")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths))}
    tree = GeneratedTree(shard_paths=2, parts=40, replicas=2, partitions=5)
    write_generated(tmp_path / "data", tree)
    settings = tmp_path / "settings.json"
    settings.write_text(json.dumps({"files": {"data_dir": str(tmp_path / "data")}}))
    imported, census = (
        subprocess.run(
            [str(python), "-B", *map(str, command)],
            capture_output=True,
            text=True,
            check=False,
            env=environment,
        )
        for command in ((ROOT / "tests" / "compat" / "import_job.py",), (paths[0] / "census.py", settings))
    )
    assert (imported.returncode, imported.stderr) == (0, "")
    count, moment, due = imported.stdout.split()
    assert int(count) > 70
    assert (moment, due) == ("1795212900000", "1970-01-01T01:00:00Z")
    assert census.returncode == 0, census.stderr
    assert json.loads(census.stdout)["znodes"] > tree.parts


@pytest.mark.parametrize("modern_version", ["25.8"], indirect=True)
@pytest.mark.parametrize("version", OTHERS)
def test_every_module(
    version: str,
    python: Path,
    servers: ClickHouseCluster,
    twins: ModernTables,
    hot: Ensemble,
    cold: Ensemble,
    base: str,
    tmp_path: Path,
) -> None:
    """Partitions of real tables are moved for real: after the server was entered, and by SQL."""
    if not ALL and version not in oldest_and_newest():
        pytest.skip(f"modules run with {version} by make compat WHAT=pythons")
    table = ReplicatedTable(f"hits_{version.replace('.', '_')}", f"{base}/hits", servers.servers).create()
    table.fill(["2019-12-01", "2019-12-02"])
    config = tmp_path / "config.xml"
    config.write_text(written("one_file.xml"))
    ensembles = {
        "hot": {"hosts": hot.connect_string.split(",")},
        "cold": {"hosts": cold.connect_string.split(",")},
        "coordination_root": f"{base}-partmove",
    }
    with connected(hot.connect_string) as client:
        client.create(f"{table.path}/block_numbers/{SECOND}/State", b"COLD")
    calls = calls_of_all(ensembles, table, config, twins, cold)
    assert {call.module for call in calls} == MODULES

    # How Ansible packs a module shows with the oldest and the newest.
    if version in oldest_and_newest():
        results, output = call_modules(tmp_path, *calls, ANSIBLE_PYTHON_INTERPRETER=str(python))
        assert "Traceback" not in output
    else:
        results = run_one_by_one(python, tmp_path, calls)

    assert not [each["msg"] for each in results if each["failed"]]
    health, entered, repaired, restored, marked, ledger, checked, moved, *others = results
    looked, audited, owned, edited, journal, turn, census, surveyed, merged, *of_twins = others
    assert table.path in [each["shard_path"] for each in health["replicas"]]
    assert [each["after"] for each in entered["replicas"]] == ["ready"]
    assert ledger["ready"]
    assert [each["partition"] for each in repaired["repaired"]] == [SECOND]
    # State would be COLD again with parts in hot alone.
    assert ([row["action"] for row in restored["rows"]], restored["changed"]) == (["left"], False)
    assert (checked["moved"], checked["diff"]) == (moved["moved"], moved["diff"])
    assert moved["counts"]["moved"] == 1
    # What runs with another Python did is in the same journal.
    of_first = {"shard_path": table.path, "partition": FIRST}.items()
    told = [each["event"] for each in journal["events"] if of_first <= each.items()]
    assert told == ["switching", "moved"]
    assert [each["changed"] for each in (moved, marked, edited)] == [True, False, True]
    assert [(each["location"], each["state"]) for each in looked["partitions"]] == [
        ("cold", "COLD"),
        ("hot", "HOT"),
    ]
    assert (audited["drifted"], audited["complete"]) == (False, True)
    assert audited["kinds"]["cold"] == audited["kinds"]["hot"] == 1
    assert (owned["hot_ids"], owned["changed"]) == ([owned["hot_id"]], False)
    assert "<cold_zookeeper>" in config.read_text()
    assert (turn["taken"], surveyed["lacks"]) == (True, [])
    assert table.path in [each["shard_path"] for each in census["tables"]]
    assert (merged["merged_already"], merged["passed_by"]) == (1, [])
    check_twins(*of_twins)


def check_twins(
    made: Mapping[str, Any],
    moved: Mapping[str, Any],
    audited: Mapping[str, Any],
    entered: Mapping[str, Any],
    repaired: Mapping[str, Any],
    altered: Mapping[str, Any],
    held: Mapping[str, Any],
    reloaded: Mapping[str, Any],
    whole: Mapping[str, Any],
    reading: Mapping[str, Any],
) -> None:
    """A table got its twin, and one partition went there."""
    assert [each["created"] for each in made["twins"]] == [True, True]
    assert [each["partition"] for each in moved["moved"]] == [DAY]
    assert entered["counts"]["refused"] == 0
    assert (audited["kinds"]["cold"], audited["complete"], audited["drifted"]) == (1, True, False)
    assert not repaired["changed"]
    assert len(altered["altered"][0]["statements"]) == 2
    assert [each["owner"] for each in held["holds"]] == ["a test"]
    assert (reloaded["read"], reloaded["changed"]) == (True, False)
    assert (whole["changed"], reading["changed"]) == (True, True)


def run_one_by_one(python: Path, folder: Path, calls: Iterable[Call]) -> list[dict[str, Any]]:
    """Run modules with the Python and this ansible-core; BACKUP stands for what the third one made."""
    imported = folder / "imported"
    imported.mkdir()
    (imported / "ansible").symlink_to(Path(ansible.__file__).parent)
    results: list[dict[str, Any]] = []
    with closing(WarmPython(str(python), [imported, COLLECTIONS])) as warm:
        for call in calls:
            made = {name: results[2]["backup"] for name, value in call.args.items() if value == BACKUP}
            results += run_modules(call._replace(args={**call.args, **made}), python=warm)
    return results


def oldest_and_newest() -> tuple[str, str]:
    """The versions, of those that this machine has besides its own."""
    return min(host_venvs(), key=_numbers), max(host_venvs(), key=_numbers)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def calls_of_all(
    ensembles: dict[str, Any], table: ReplicatedTable, config: Path, twins: ModernTables, cold: Ensemble
) -> tuple[Call, ...]:
    """Calls that enter the table's server in the ledger, mark SECOND, move FIRST and edit the file.

    SECOND, whose State is wrong, is repaired before, which is not undone, as its State would be wrong again.
    The last calls are about the table of twins.
    """
    ((replica, server),) = table.replicas.items()
    clickhouse = {"host": "127.0.0.1", "port": server.http_port}
    replicas = [{"shard_path": table.path, "replica": replica}]
    enter = {"clickhouse": clickhouse, "patched_sign": "SELECT 1", "replicas": replicas}
    asked = {"clickhouse": {"endpoints": {replica: f"127.0.0.1:{server.http_port}"}}}
    move = {"partitions": [{"shard_path": table.path, "partition": FIRST}], "min_age": "0", **asked}
    repair = {"shard_path": table.path, "kind": "hot_marked_cold", "backup": str(config.parent), **asked}
    turn = {name: ensembles[name] for name in ("hot", "coordination_root")}
    place = {"shard_path": table.path}
    mark = {"shard_path": table.path, "partition": SECOND, "state": "HOT", **asked}
    return (
        Call("replica_info", {"clickhouse": clickhouse, "hot": ensembles["hot"], "sample_interval": "0s"}),
        Call("replica_ledger", ensembles | enter),
        Call("part_repair", ensembles | repair),
        Call("part_restore", ensembles | {"backup": BACKUP} | asked),
        Call("partition_state", ensembles | mark),
        Call("replica_ledger_info", ensembles | {"shard_paths": [table.path]}),
        Call("part_move", ensembles | move, check_mode=True),
        Call("part_move", ensembles | move),
        Call("part_info", ensembles | {"shard_paths": [table.path]}),
        Call("part_audit_info", ensembles | {"shard_paths": [table.path]} | asked),
        Call("cold_owner", ensembles),
        Call("clickhouse_config", {"path": str(config), "nodes": [{"host": "c1"}], "style": "inline"}),
        Call("journal_info", {}),
        Call("guard_lease", {**turn, "owner": "a test"}),
        Call("census_info", turn),
        Call("ensemble_info", {"hot": ensembles["hot"]}),
        Call("partition_merge", ensembles | asked | {"partitions": [{**place, "partition": SECOND}]}),
        *calls_of_twins(twins, cold),
    )


def calls_of_twins(twins: ModernTables, cold: Ensemble) -> tuple[Call, ...]:
    """Calls that give the table its twin, move its partition there, and foresee more."""
    table = {**twins.given, "shard_paths": [twins.shard_path("hits")]}
    server = twins.first
    nodes = [{"host": "127.0.0.1", "port": each.files.ports.client} for each in cold.members]
    reload = {
        "clickhouse": {"host": "127.0.0.1", "port": server.http_port},
        "name": "cold",
        "nodes": nodes,
        "preprocessed": [str(server.data_dir / "preprocessed_configs" / "config.xml")],
    }
    without_servers = {name: table[name] for name in ("hot", "coordination_root", "shard_paths")}
    return (
        Call("twin_table", table),
        Call("twin_move", table | {"min_age": "0"}),
        Call("twin_audit_info", table),
        Call("twin_ledger", table),
        Call("twin_repair", table | {"kind": "unknown"}),
        Call("twin_alter", table | {"alter": "ADD COLUMN x UInt8"}, check_mode=True),
        Call("twin_hold", {**without_servers, "owner": "a test", "reason": "a test"}, check_mode=True),
        Call("config_reload", reload),
        Call("table_move", table, check_mode=True),
        Call("twin_view", table, check_mode=True),
    )


def test_an_older_python_is_refused_in_one_sentence(tmp_path: Path) -> None:
    if REFUSED not in find_pythons():
        pytest.skip(why_no_python(REFUSED))
    if _numbers(".".join(core_version.split(".")[:2])) >= (2, 20):
        pytest.skip(f"NOT RUN: ansible-core {core_version} itself refuses Python {REFUSED}")
    python = find_pythons()[REFUSED]
    somewhere = {"hosts": ["127.0.0.1:1"]}
    both = {"hot": somewhere, "cold": somewhere}
    marked = {"shard_path": "/t", "partition": FIRST, "state": "HOT"}
    calls = (
        Call("replica_info", {}),
        Call("replica_ledger", {**both, "patched_sign": "SELECT 1"}),
        Call("replica_ledger_info", {**both, "root": "/"}),
        Call("part_move", {**both, "shard_paths": ["/t"]}),
        Call("part_repair", {**both, "shard_path": "/t", "kind": "ghost", "backup": "/b", "clickhouse": {}}),
        Call("part_restore", {**both, "backup": "/b", "clickhouse": {}}),
        Call("partition_state", {**both, **marked}),
        Call("part_info", {"hot": somewhere, "root": "/"}),
        Call("part_audit_info", {**both, "root": "/", "clickhouse": {}}),
        Call("cold_owner", both),
        Call("clickhouse_config", {"nodes": [{"host": "c1"}]}),
        Call("journal_info", {}),
        Call("guard_lease", {"hot": somewhere, "owner": "a test"}),
        Call("census_info", {"hot": somewhere}),
        Call("ensemble_info", {"hot": somewhere}),
        Call("partition_merge", {**both, "clickhouse": {}, "src": "/merges.sql"}),
        Call("twin_move", {"hot": somewhere, "clickhouse": {}, "shard_paths": ["/t"]}),
        Call("twin_table", {"hot": somewhere, "clickhouse": {}, "shard_paths": ["/t"]}),
        Call("twin_audit_info", {"hot": somewhere, "clickhouse": {}, "shard_paths": ["/t"]}),
        Call("twin_ledger", {"hot": somewhere, "clickhouse": {}, "shard_paths": ["/t"]}),
        Call("twin_repair", {"hot": somewhere, "clickhouse": {}, "shard_paths": ["/t"], "kind": "equal"}),
        Call("table_move", {"hot": somewhere, "clickhouse": {}, "shard_paths": ["/t"]}),
        Call("twin_view", {"hot": somewhere, "clickhouse": {}, "shard_paths": ["/t"]}),
        Call("twin_alter", {"hot": somewhere, "clickhouse": {}, "shard_paths": ["/t"]}),
        Call("twin_hold", {"hot": somewhere, "owner": "a test", "reason": "r", "shard_paths": ["/t"]}),
        Call("config_reload", {"name": "cold", "nodes": [{"host": "c1"}]}),
    )
    assert {call.module for call in calls} == MODULES

    results, _output = call_modules(tmp_path, *calls, ANSIBLE_PYTHON_INTERPRETER=str(python))

    shown = subprocess.run([str(python), "--version"], capture_output=True, text=True, check=True)
    refusal = (
        f"{shown.stdout.strip()} runs this module ({python}), and olap.partmove needs 3.9 or later."
        " Set ansible_python_interpreter to a later one."
    )
    told = [(each["failed"], each["changed"], each["msg"]) for each in results]
    assert told == [(True, False, refusal)] * len(calls)
