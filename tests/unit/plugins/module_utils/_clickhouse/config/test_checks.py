# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An edit is done only if every server that may load the configuration would find it."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.config.edit import (
    ConfigChange,
    Style,
    ensure_absent,
    ensure_present,
)
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.config.zookeeper_element import (
    ElementContent,
    Node,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import (
    PartMoveError,
    SameEnsemble,
)
from support.files.configs import CONFIG_D, MAIN, METRIKA, MemoryConfig

COLD, HOT, AUXILIARY = "cold_zookeeper", "zookeeper", "auxiliary_zookeepers/cold"
HOT_NODE = "<node><host>zk1</host></node>"
SECTION = f"<zookeeper>{HOT_NODE}</zookeeper>"
KEEPER = f"<keeper>{HOT_NODE}</keeper>"
RAFT = "<raft_configuration><server><hostname>zk1</hostname><port>9</port></server></raft_configuration>"
KEEPER_SERVER = f"<keeper_server><tcp_port>2181</tcp_port>{RAFT}</keeper_server>"


def config(main: str, root: str = "clickhouse", **others: str) -> MemoryConfig:
    """A configuration. The key of another file is its path, with "metrika" for the substitutions."""
    files = {MAIN: f"<{root}>\n{main}\n</{root}>\n".encode()}
    for name, text in others.items():
        path = METRIKA if name == "metrika" else f"{CONFIG_D}/{name.replace('_', '.')}"
        files[path] = f"<{root}>\n{text}\n</{root}>\n".encode()
    return MemoryConfig(files)


def with_yaml(text: str, **others: str) -> MemoryConfig:
    """A configuration with a drop-in in YAML."""
    files = {MAIN: b"<clickhouse>\n</clickhouse>\n", f"{CONFIG_D}/a.YAML": text.encode()}
    files.update((METRIKA, each.encode()) for each in others.values())
    return MemoryConfig(files)


def present(
    source: MemoryConfig, element: str, *hosts: str, style: str = "drop_in", port: str = "2181"
) -> ConfigChange:
    nodes = tuple(Node(host, port) for host in hosts)
    return ensure_present(source, element, ElementContent(nodes), Style(style, "s", "ensemble.xml"))


HOT_IS_ZK1 = {
    "<zookeeper>": config(SECTION),
    "<keeper>": config(KEEPER),
    "<keeper> in a drop-in": config("", a_xml=KEEPER),
    "<keeper_server>": config(KEEPER_SERVER),
    "<keeper_server> with TLS": config(KEEPER_SERVER.replace("tcp_port>", "tcp_port_secure>")),
    "<keeper_server> with both ports": config(
        KEEPER_SERVER.replace("<tcp_port>", "<tcp_port_secure>9281</tcp_port_secure><tcp_port>")
    ),
    "<keeper> beside <zookeeper>": config(f"<zookeeper>{HOT_NODE.replace('zk1', 'zk2')}</zookeeper>{KEEPER}"),
    "<include>": config("<include incl='z'/>", metrika=f"<z>{SECTION}</z>"),
    "<include> of <keeper>": config("<include incl='z'/>", metrika=f"<z>{KEEPER}</z>"),
    "<include> of the nodes": config(
        "<zookeeper><include incl='z'/></zookeeper>", metrika=f"<z>{HOT_NODE}</z>"
    ),
    "a reference of a later file": config(
        "<zookeeper><node index='1'><host>zk2</host></node></zookeeper>",
        a_xml="<zookeeper incl='z'/>",
        metrika=f"<z>{HOT_NODE}</z>",
    ),
    "Z.XML": config("", Z_XML=SECTION),
    "a.Conf": config("", a_Conf=SECTION),
    "another setting from the environment": config(
        SECTION.replace("</host>", "</host><availability_zone from_env='AZ'/>")
    ),
    "YAML": with_yaml("zookeeper: {node: {host: zk1}}"),
    "<keeper> in YAML": with_yaml("keeper:\n  node:\n    - {host: zk1}\n"),
    "<include> in YAML": with_yaml(
        "include: {'@incl': z}", metrika=f"<clickhouse><z>{SECTION}</z></clickhouse>"
    ),
    "all in YAML": MemoryConfig(
        {MAIN.replace(".xml", ".yaml"): b"zookeeper: {node: {host: zk1}}"}, MAIN.replace(".xml", ".yaml")
    ),
    "white space and upper case": config(SECTION.replace("zk1", " ZK1. ")),
}


@pytest.mark.parametrize("element", [COLD, AUXILIARY])
@pytest.mark.parametrize("shape", HOT_IS_ZK1)
def test_a_member_of_hot_is_refused_whatever_names_it(shape: str, element: str) -> None:
    with pytest.raises(SameEnsemble, match="^zk1:2181 is to be in <") as refusal:
        present(HOT_IS_ZK1[shape], element, "c1", "zk1")
    assert "Hot and cold must be two ensembles" in refusal.value.remedy
    assert present(HOT_IS_ZK1[shape], element, "c1").unknown == ()


def test_ipv6_has_several_spellings() -> None:
    hot = config(SECTION.replace("zk1", "[0:0:0:0:0:0:0:1]"))
    with pytest.raises(SameEnsemble):
        present(hot, COLD, "[::1]")


def test_the_keeper_in_a_server_is_hot_only_without_another_ensemble() -> None:
    """It may even be the cold ensemble."""
    for main in (
        KEEPER_SERVER + SECTION.replace("zk1", "zk9"),
        KEEPER_SERVER.replace("</keeper_server>", "<use_cluster>false</use_cluster></keeper_server>"),
        "<keeper_server><tcp_port>2181</tcp_port></keeper_server>",
    ):
        assert present(config(main), COLD, "zk1").edits


@pytest.mark.parametrize(
    "cold", ["<cold_zookeeper>{}</cold_zookeeper>", "<auxiliary_zookeepers><b>{}</b></auxiliary_zookeepers>"]
)
def test_hot_gets_no_member_of_a_cold_ensemble(cold: str) -> None:
    source = config(SECTION + cold.format("<node><host>c1</host></node>"))
    with pytest.raises(SameEnsemble, match="^c1:2181 is to be in <zookeeper> and is in <"):
        present(source, HOT, "zk1", "c1")
    assert present(source, HOT, "zk1", "zk2").edits


def test_an_auxiliary_ensemble_may_be_hot_under_another_root() -> None:
    same = f"<auxiliary_zookeepers><b>{HOT_NODE}<root>/b</root></b></auxiliary_zookeepers>"
    assert present(config(SECTION + same), HOT, "zk1", "zk2").edits


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        (
            config(KEEPER),
            f"<keeper> in {MAIN} line 2 has the hot ensemble, and a server that also has <zookeeper> does",
        ),
        (config(SECTION + KEEPER), f"<keeper> in {MAIN} line 2 has the hot ensemble"),
        (
            config("<include incl='z'/>", metrika=f"<z>{KEEPER}</z>"),
            f"<keeper> in {METRIKA} line 2 has the hot",
        ),
        (
            config(KEEPER_SERVER),
            "The hot ensemble is <keeper_server>, which <zookeeper> with other members would replace",
        ),
        (
            config("<include from_env='X'/>"),
            f"Whether the server has another hot ensemble is unknown: <include> in {MAIN} line 2",
        ),
    ],
)
@pytest.mark.parametrize("style", ["drop_in", "inline"])
def test_a_second_hot_ensemble_is_refused(source: MemoryConfig, sentence: str, style: str) -> None:
    with pytest.raises(PartMoveError) as refusal:
        present(source, HOT, "zk1", "zk2", style=style)
    assert refusal.value.message.startswith(sentence)
    assert refusal.value.remedy


def test_the_members_of_the_keeper_in_the_server_may_be_written_out() -> None:
    assert present(config(KEEPER_SERVER), HOT, "zk1").edits


COMPANY = {
    MAIN: b"<company>\n</company>\n",
    f"{CONFIG_D}/ensemble.xml": b"<clickhouse>\n<a/>\n</clickhouse>\n",
}
NOT_FOUND = {
    "<include> of a section twice": (
        config("<include incl='z'/><a><include incl='z'/></a>", metrika="<z><cold_zookeeper/></z>"),
        "is in the substitution z, which is used several times",
    ),
    "<include> with unknown content": (
        config("<include from_zk='/a'/>"),
        f"would not find the desired <cold_zookeeper> if the value has another one: <include> in {MAIN}",
    ),
    "<include> that may change what is before it": (
        config("<cold_zookeeper/><include incl='z' merge='1'/>", metrika="<z/>"),
        "would not find the desired <cold_zookeeper> if the value has another one: <include> in",
    ),
    "a drop-in with a root that the server skips": (
        MemoryConfig(COMPANY),
        f"The server would not find the desired <cold_zookeeper>, because of {CONFIG_D}/ensemble.xml line 3",
    ),
    "a removal in Z.XML": (
        config("", z_XML="<cold_zookeeper remove='1'/>"),
        f"The server would not find the desired <cold_zookeeper>, because of {CONFIG_D}/z.XML line 2",
    ),
    "a section in Z.XML, which old servers do not read": (
        config("", root="yandex", Z_XML="<cold_zookeeper><node><host>c9</host></node></cold_zookeeper>"),
        "A server of versions such as 18.16 would not find the desired <cold_zookeeper>",
    ),
    "a node from the environment": (
        config("<cold_zookeeper><node><host from_env='X'/></node></cold_zookeeper>"),
        "<host> in ",
    ),
    "nodes from an <include>": (
        config("<cold_zookeeper><include incl='z'/></cold_zookeeper>", metrika="<z/>"),
        f"<cold_zookeeper> in {MAIN} line 2 has <include>, which this module does not manage",
    ),
    "no server loads both roots": (
        MemoryConfig({MAIN: b"<clickhouse/>", f"{CONFIG_D}/a.xml": b"<company/>"}),
        f"{CONFIG_D}/a.xml has the root <company>, with which versions since 24 do not start",
    ),
}


@pytest.mark.parametrize("shape", NOT_FOUND)
def test_an_edit_without_effect_is_refused(shape: str) -> None:
    source, sentence = NOT_FOUND[shape]
    with pytest.raises(PartMoveError) as refusal:
        present(source, COLD, "c1")
    assert sentence in refusal.value.message
    assert refusal.value.remedy


def test_an_element_that_only_some_servers_find_is_not_reported_as_there() -> None:
    """Without any edit, too."""
    source = config("", root="yandex", Z_XML="<cold_zookeeper><node><host>c1</host></node></cold_zookeeper>")
    with pytest.raises(PartMoveError, match=r"^A server of versions such as 18\.16 would not find"):
        present(source, COLD, "c1")


def test_a_section_in_an_include_is_edited_where_it_is() -> None:
    source = config("<include incl='z'/>", metrika=f"<z>{SECTION}</z>")
    change = present(source, HOT, "zk1", "zk2")
    assert (change.style, change.substitution) == ("incl", "z")
    assert [edit.path for edit in change.edits] == [METRIKA]
    assert present(source.after(change), HOT, "zk1", "zk2").edits == ()


@pytest.mark.parametrize(
    "source",
    [
        config("<include incl='z'/>", metrika="<z><cold_zookeeper/></z>"),
        config("<include incl='z'/>", Z_XML="<cold_zookeeper/>", metrika="<z><cold_zookeeper/></z>"),
    ],
)
def test_what_a_server_still_finds_is_not_absent(source: MemoryConfig) -> None:
    with pytest.raises(
        PartMoveError, match=f"^The server would still find <cold_zookeeper> in {METRIKA} line 2"
    ):
        ensure_absent(source, COLD, Style("auto", "s", "ensemble.xml"))


def test_an_unknown_include_makes_absence_unknown() -> None:
    change = ensure_absent(config("<include from_zk='/a'/>"), COLD, Style("auto", "s", "ensemble.xml"))
    (sentence,) = change.unknown
    assert sentence.startswith(f"Whether <cold_zookeeper> is gone is unknown: <include> in {MAIN} line 2 has")


def test_the_attribute_remove_has_no_effect_in_the_main_file() -> None:
    source = config("<cold_zookeeper remove='1'/>")
    change = ensure_absent(source, COLD, Style("auto", "s", "ensemble.xml"))
    assert b"cold_zookeeper" not in source.after(change).files[MAIN]


def test_another_ensemble_in_the_same_substitution_stays() -> None:
    source = config("<a incl='z'/><zookeeper incl='z'/>", metrika=f"<z>{HOT_NODE}</z>")
    with pytest.raises(PartMoveError, match="The substitution z is used by another element"):
        present(source, HOT, "zk2")
