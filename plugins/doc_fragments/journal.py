# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Documentation of the journal that runs write."""

from __future__ import annotations


class ModuleDocFragment:
    """The option that names the journal."""

    DOCUMENTATION = r"""
    options:
      journal:
        description:
          - File on the host that the module runs on, to append a record of the run to, a JSON object a line.
            What is about to be done is on disk before it is done. M(olap.partmove.journal_info) reads it.
          - When it is not given, C(olap.partmove/journal.jsonl) in the state folder of the user that the
            module runs as, which is C($XDG_STATE_HOME), or C(~/.local/state) when that is not set. The file
            and its folder are made for that user alone.
          - An empty text switches it off. Nothing is written in check mode.
          - A run whose journal cannot be written is refused before anything is done.
          - It is for people. Running again does not need it.
        type: path
"""
