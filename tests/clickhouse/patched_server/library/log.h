// Copyright: olap.partmove contributors
// GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
// SPDX-License-Identifier: GPL-3.0-or-later

// What the patch tells people: lines "Cold ZooKeeper: ..." in the server's own log.

#pragma once

#include <string>

namespace cold
{

// Writes a sentence to standard error and ends the process. For the start, before the server has a log.
[[noreturn]] void fatal(const std::string & text);

// Finds the functions of the server's log; ends the process when one is missing.
void find_log();

void log_information(const std::string & text);
void log_error(const std::string & text);

}
