# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Settings of Sphinx for the site that `make site` builds; see tests/docs_site.py."""

from __future__ import annotations

from docutils.nodes import Element, reference
from sphinx.application import Sphinx

project = "olap.partmove"
author = "olap.partmove contributors"
html_title = "olap.partmove"
extensions = ["myst_parser", "sphinx_antsibull_ext"]
html_theme = "furo"
html_static_path = ["static"]
html_css_files = ["phone.css"]
root_doc = "index"
# Headings get the anchors that GitHub gives them, as links in the pages use those.
myst_heading_anchors = 4
# Names of options and modules are code, not words to look up in other documentation.
default_role = "literal"
nitpicky = False
highlight_language = "text"
pygments_style = "ansible"
html_copy_source = False
html_show_sphinx = False
# Code in pages has an ellipsis where something is left out, and a picture in the language mermaid is shown as
# text.
suppress_warnings = ["misc.highlighting_failure"]

_ANSIBLE = "https://docs.ansible.com/projects/ansible/latest"
# What modules' pages refer to in the documentation of Ansible. The site is built without a network.
_LABELS = {
    "ansible_collections.ansible.builtin.stat_module": "collections/ansible/builtin/stat_module.html",
    "ansible_configuration_settings": "reference_appendices/config.html",
    "common_return_values": "reference_appendices/common_return_values.html",
}


def resolve_ansible_label(_app: Sphinx, _env: object, node: Element, content: Element) -> reference | None:
    """Return a link to the documentation of Ansible, or nothing for a label that is not one of its."""
    page = _LABELS.get(node["reftarget"])
    return reference("", "", content, internal=False, refuri=f"{_ANSIBLE}/{page}") if page else None


def setup(app: Sphinx) -> None:
    """Sphinx calls this."""
    app.connect("missing-reference", resolve_ansible_label)
