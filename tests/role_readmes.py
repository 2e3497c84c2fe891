# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Writes README.md of each role from its meta/argument_specs.yml, which ansible-doc shows, too.

``python tests/role_readmes.py`` writes the files; a test fails if one of them is outdated.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from antsibull_docs_parser.dom import (
    BoldPart,
    CodePart,
    EnvVariablePart,
    ItalicPart,
    LinkPart,
    ModulePart,
    OptionNamePart,
    OptionValuePart,
    PluginPart,
    ReturnValuePart,
    TextPart,
    URLPart,
)
from antsibull_docs_parser.parser import Context, parse

ROOT = Path(__file__).resolve().parent.parent


class Guide(NamedTuple):
    """What explains a role: the playbook that uses it, and the page of docs/."""

    playbook: str
    page: str


GUIDES = {
    "auxiliary_ensemble": Guide("auxiliary_ensemble", "twin/auxiliary-ensemble.md"),
    "clickhouse_node": Guide("rollout", "patched/rollout.md"),
    "cold_zookeeper_config": Guide("rollout", "patched/prepare.md"),
    "part_move": Guide("separate", "patched/move.md"),
    "partition_classify": Guide("separate", "classify.md"),
    "partmove_audit": Guide("audit", "operate/audit.md"),
    "partmove_census": Guide("census", "census.md"),
    "partmove_guard": Guide("guard", "operate/guard.md"),
    "partmove_repair": Guide("repair", "operate/repair.md"),
    "twin_move": Guide("separate", "twin/move.md"),
    "zookeeper": Guide("zookeeper", "zookeeper.md"),
}

_Options = Mapping[str, Mapping[str, Any]]


def readme(role: str) -> str:
    """Return README.md of a role. Raises KeyError for a role without a guide."""
    specs = _specs(role)
    main = specs["main"]
    guide = GUIDES[role]
    lines = [
        "<!-- Made from meta/argument_specs.yml by `make generated`. -->",
        "",
        f"# olap.partmove.{role}",
        "",
        f"{main['short_description']}.",
        "",
        *(f"- {markdown(each)}" for each in _paragraphs(main)),
        "",
        f"[docs/{guide.page}](../../docs/{guide.page}) explains the role. A playbook uses it:",
        "",
        "```sh",
        f"ansible-playbook olap.partmove.{guide.playbook} -e @vars.yml",
        "```",
        "",
        f"Show this text in a terminal with `ansible-doc --type role olap.partmove.{role}`.",
        "",
        "## Variables",
        "",
        *_table(main["options"]),
    ]
    for name, spec in specs.items():
        if name != "main":
            lines += ["", *_entry_point(name, spec, main["options"])]
    return "\n".join(lines) + "\n"


def _specs(role: str) -> Mapping[str, Mapping[str, Any]]:
    path = ROOT / "roles" / role / "meta" / "argument_specs.yml"
    specs: dict[str, dict[str, Any]] = yaml.safe_load(path.read_text(encoding="utf-8"))["argument_specs"]
    return specs


def _entry_point(name: str, spec: Mapping[str, Any], of_main: _Options) -> list[str]:
    lines = [
        f"## Entry point `{name}`",
        "",
        f"{spec['short_description']}. Use it with `tasks_from: {name}`.",
        "",
        *(f"- {markdown(each)}" for each in _paragraphs(spec)),
        "",
    ]
    others = {key: option for key, option in spec["options"].items() if of_main.get(key) != option}
    missing = sorted(of_main.keys() - spec["options"].keys())
    if not others and not missing:
        return [*lines, "The variables are those above."]
    return [*lines, *_table(spec["options"])]


def _table(options: _Options) -> Iterator[str]:
    yield "| Variable | Meaning | Type | Default |"
    yield "|---|---|---|---|"
    seen: list[tuple[str, _Options]] = []
    for name, option in sorted(options.items(), key=lambda each: not each[1].get("required", False)):
        yield _row(name, option)
        inner: _Options | None = option.get("options")
        if inner is None:
            continue
        each = f"{name}[]" if option["type"] == "list" else name
        same = next((other for other, others in seen if others == inner), None)
        if same is not None:
            yield f"| `{each}.…` | The same keys as of `{same}`. | | |"
        else:
            seen.append((name, inner))
            yield from _keys(each, inner)


def _keys(prefix: str, options: _Options) -> Iterator[str]:
    for name, option in options.items():
        yield _row(f"{prefix}.{name}", option)
        yield from _keys(f"{prefix}.{name}", option.get("options", {}))


def _row(name: str, option: Mapping[str, Any]) -> str:
    kind = option.get("type", "str")
    if kind == "list":
        kind = f"list of {option.get('elements', 'str')}"
    meaning = "<br>".join(markdown(each).replace("|", "\\|") for each in _paragraphs(option))
    if option.get("choices"):
        meaning += "<br>One of: " + ", ".join(f"`{each}`" for each in option["choices"])
    return f"| `{name}` | {meaning} | {kind} | {_default(option)} |"


def _default(option: Mapping[str, Any]) -> str:
    if option.get("required"):
        return "**needed**"
    value = option.get("default")
    if value is None:
        return ""
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return f"`{text}`" if text else "empty"


def _paragraphs(documented: Mapping[str, Any]) -> Sequence[str]:
    description: str | list[str] = documented["description"]
    return [description] if isinstance(description, str) else description


def markdown(text: str) -> str:
    """Return a paragraph in Ansible's markup as Markdown. Raises KeyError for markup without a form here."""
    return "".join(_FORMS[type(each)](each) for each in parse(text, Context(), errors="exception")[0])


def _named(part: Any) -> str:
    return f"`{part.name}`" if part.value is None else f"`{part.name}: {part.value}`"


_FORMS: Mapping[type, Callable[[Any], str]] = {
    TextPart: lambda part: part.text.replace("<", "&lt;"),
    BoldPart: lambda part: f"**{part.text}**",
    ItalicPart: lambda part: f"*{part.text}*",
    CodePart: lambda part: f"`{part.text}`",
    EnvVariablePart: lambda part: f"`{part.name}`",
    OptionNamePart: _named,
    OptionValuePart: lambda part: f"`{part.value}`",
    ReturnValuePart: _named,
    ModulePart: lambda part: f"`{part.fqcn}`",
    PluginPart: lambda part: f"`{part.plugin.fqcn}`",
    LinkPart: lambda part: f"[{part.text}]({part.url})",
    URLPart: lambda part: f"<{part.url}>",
}


def main() -> int:
    """Write the files."""
    for role in GUIDES:
        (ROOT / "roles" / role / "README.md").write_text(readme(role), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
