# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The clusters of configuration files."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.clusters import ClusterNode
from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import PartMoveError
from ansible_collections.olap.partmove.plugins.module_utils._tasks.clickhouse_shards import read_clusters

ONE = "<replica><host>{}</host></replica>"


def shard(*hosts: str, more: str = "") -> str:
    """A shard with replicas on the hosts."""
    return f"<shard>{more}{''.join(map(ONE.format, hosts))}</shard>"


def clusters(**shards: str) -> str:
    """Elements of clusters."""
    return "".join(f"<{name}>{text}</{name}>" for name, text in shards.items())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder for config.xml and, as substitutions, metrika.xml."""
    return tmp_path


def write(folder: Path, text: str, name: str = "config.xml", root: str = "yandex") -> Path:
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"<{root}>{text}</{root}>")
    return path


def read(path: Path, include_from: Path | None = None, element: str | None = None) -> list[ClusterNode]:
    include = None if include_from is None else str(include_from)
    return [ClusterNode(**row) for row in read_clusters(str(path), include, element, {})]


def places(nodes: list[ClusterNode]) -> list[str]:
    return [f"{node.cluster} {node.shard} {node.replica} {node.host}:{node.port}" for node in nodes]


def test_all_settings_of_a_replica(folder: Path) -> None:
    text = """<remote_servers>
        <main>
            <shard><weight>3</weight><internal_replication>true</internal_replication>
                <replica><host>ch1</host><port>9001</port><user>u</user><password>SECRET</password></replica>
                <replica><host> ch2 </host><port>9440</port><secure>1</secure></replica>
            </shard>
            <node><host>ch3</host><weight>2</weight></node>
            <shard><replica><host>ch4</host><secure>true</secure></replica></shard>
        </main>
    </remote_servers>"""
    assert read(write(folder, text, root="clickhouse")) == [
        ClusterNode("main", 1, 1, "ch1", 9001, 3, secure=False, internal_replication=True),
        ClusterNode("main", 1, 2, "ch2", 9440, 3, secure=True, internal_replication=True),
        ClusterNode("main", 2, 1, "ch3", 9000, 2, secure=False),
        ClusterNode("main", 3, 1, "ch4", 9440, 1, secure=True, internal_replication=False),
    ]


def test_a_file_of_substitutions_alone(folder: Path) -> None:
    metrika = write(
        folder,
        f"<clickhouse_remote_servers>{clusters(b=shard('ch2'), a=shard('ch1'))}</clickhouse_remote_servers>"
        f"<other>{clusters(c=shard('ch3'))}</other>",
        "metrika.xml",
    )
    assert places(read(metrika)) == ["b 1 1 ch2:9000", "a 1 1 ch1:9000"]
    assert places(read(metrika, element="other")) == ["c 1 1 ch3:9000"]


def test_incl_adds_to_existing_elements(folder: Path) -> None:
    metrika = write(folder, f"<servers>{clusters(two=shard('ch2'))}</servers>", "metrika.xml")
    main = write(
        folder,
        f"<include_from>{metrika}</include_from>"
        f'<remote_servers incl="servers">{clusters(one=shard("ch1"))}</remote_servers>',
    )
    assert places(read(main)) == ["two 1 1 ch2:9000", "one 1 1 ch1:9000"]


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ('incl="servers" replace="1"', ["two 1 1 ch2:9000"]),
        ('incl="servers" optional="true"', ["two 1 1 ch2:9000", "one 1 1 ch1:9000"]),
        ('incl="nothing"', ["one 1 1 ch1:9000"]),
    ],
)
def test_attributes_beside_incl(folder: Path, attributes: str, expected: list[str]) -> None:
    metrika = write(folder, f"<servers>{clusters(two=shard('ch2'))}</servers>", "metrika.xml")
    main = write(folder, f"<remote_servers {attributes}>{clusters(one=shard('ch1'))}</remote_servers>")
    assert places(read(main, metrika)) == expected


def test_an_optional_element_without_its_value_is_left_out(folder: Path) -> None:
    metrika = write(folder, "", "metrika.xml")
    main = write(
        folder,
        '<remote_servers><one incl="nothing" optional="true"><shard/></one>'
        f"{clusters(two=shard('ch2'))}</remote_servers>",
    )
    assert places(read(main, metrika)) == ["two 1 1 ch2:9000"]


def test_incl_deeper_down(folder: Path) -> None:
    metrika = write(folder, "<first><host>ch1</host><port>9001</port></first>", "metrika.xml")
    main = write(
        folder,
        '<remote_servers><main><shard><replica incl="first"/></shard></main></remote_servers>',
    )
    assert places(read(main, metrika)) == ["main 1 1 ch1:9001"]


def test_files_of_config_d_are_merged(folder: Path) -> None:
    main = write(folder, f"<remote_servers>{clusters(one=shard('ch1'))}</remote_servers>")
    write(folder, f"<remote_servers>{clusters(two=shard('ch2'))}</remote_servers>", "config.d/two.xml")
    assert places(read(main)) == ["one 1 1 ch1:9000", "two 1 1 ch2:9000"]


CLUSTER = clusters(main=shard("ch1"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "has no <remote_servers> nor <clickhouse_remote_servers>"),
        ("<remote_servers", "is not well-formed XML"),
        (f"<remote_servers>{CLUSTER * 2}</remote_servers>", "cluster main is defined in .* and again in"),
        (
            "<remote_servers><main><discovery><path>/x</path></discovery></main></remote_servers>",
            "The cluster main in .* has no shard",
        ),
        (f'<remote_servers replace="1">{CLUSTER}</remote_servers>', "has the attribute replace"),
        ('<remote_servers from_zk="/x"/>', "has the attribute from_zk"),
        (
            '<remote_servers><main><node><host from_env="H"/></node></main></remote_servers>',
            "<host> in .* has the attribute from_env",
        ),
        (
            f"<remote_servers>{clusters(main='<shard><replica/></shard>')}</remote_servers>",
            "a replica of cluster 'main' with the host ''",
        ),
        (
            f"<remote_servers>{clusters(main=shard('{{ lookup }}'))}</remote_servers>",
            "which cannot be a host of an inventory",
        ),
        (
            f"<remote_servers>{clusters(main=shard('ch1', more='<weight>x</weight>'))}</remote_servers>",
            "has weight 'x' in a <shard>",
        ),
        (
            '<include_from>/nowhere/metrika.xml</include_from><remote_servers incl="servers"/>',
            "/nowhere/metrika.xml, which the configuration takes servers from, does not exist",
        ),
    ],
)
def test_unsupported_elements_are_refused(folder: Path, text: str, message: str) -> None:
    with pytest.raises(PartMoveError, match=message) as caught:
        read(write(folder, text))
    assert caught.value.remedy


def test_a_document_with_entities_is_refused(folder: Path) -> None:
    path = folder / "config.xml"
    path.write_text(
        f'<!DOCTYPE yandex [<!ENTITY h "ch1">]><yandex><remote_servers>{clusters(main=shard("&h;"))}'
        "</remote_servers></yandex>"
    )
    with pytest.raises(PartMoveError, match="entit"):
        read(path)


def test_missing_files_are_reported(folder: Path) -> None:
    with pytest.raises(PartMoveError, match=r"config\.xml does not exist"):
        read(folder / "config.xml")
    main = write(folder, f'<remote_servers incl="x">{CLUSTER}</remote_servers>')
    with pytest.raises(PartMoveError, match="does not exist"):
        read(main, folder / "metrika.xml")
    with pytest.raises(PartMoveError, match="has no <other>"):
        read(main, element="other")
