// Copyright: olap.partmove contributors
// GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
// SPDX-License-Identifier: GPL-3.0-or-later

// The session with the cold ensemble.

#pragma once

#include "clickhouse_abi.h"

namespace cold
{

// Finds the functions that a session needs; ends the process when one is missing.
void find_session();

// The process's one session with the ensemble of <cold_zookeeper>, opened by the first caller; empty
// when the configuration, as the server resolved it, has no such element. Throws the server's own
// exception when the ensemble cannot be reached: the next caller tries again.
//
// As in the fork, a session that is once open is never renewed.
Session cold_session(const Context & context);

}
