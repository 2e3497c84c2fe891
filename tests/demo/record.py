# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Records the znodes of the demo's tables from real servers: tests/demo/recorded/znodes.json."""

from __future__ import annotations

import tempfile
from pathlib import Path

from demo.live import live_stage
from demo.recording import RECORDING, record, write
from demo.stage import running_ensembles
from demo.tables import ROOT
from support.servers.kazoo_client import connected


def main() -> None:
    """Fill the tables and write down what the servers made of it."""
    with (
        tempfile.TemporaryDirectory(prefix="partmove-record-") as folder,
        running_ensembles(Path(folder), cold_members=1) as ensembles,
        live_stage(Path(folder, "clickhouse"), ensembles) as stage,
        connected(ensembles.hot.connect_string) as client,
    ):
        stage.prepare()
        recording = record(client, ROOT, stage.version)
    write(recording)
    print(f"Recorded {len(recording.znodes)} znodes in {RECORDING}.")


if __name__ == "__main__":
    main()
