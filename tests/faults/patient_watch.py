# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A watch that goes on where a member that it reads from stops."""

from __future__ import annotations

import time

from kazoo.exceptions import ConnectionLoss, SessionExpiredError

from support.servers.watch import Watch

_REST_SECONDS = 0.005


class PatientWatch(Watch):
    """A Watch; a round in which a connection broke counts for nothing.

    A member that was paused is asked as soon as it goes on, which is when it lags behind.
    """

    def _run(self) -> None:
        last = len(self._cold)
        turn = 0
        while last:
            if self._stop.is_set():
                last -= 1
            turn += 1
            try:
                look = self._look(self._cold[turn % len(self._cold)])
            except (ConnectionLoss, SessionExpiredError):
                continue
            finally:
                time.sleep(_REST_SECONDS)
            self._judge(look)
            self.rounds += 1
            self._rest(look)
