// Copyright: olap.partmove contributors
// GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
// SPDX-License-Identifier: GPL-3.0-or-later

#include "tables.h"

#include <mutex>
#include <unordered_map>

namespace cold
{

namespace
{

std::mutex mutex;

// A table that is gone leaves its entry behind; a new one at the same address takes it over. Never
// freed: threads of the server may drop partitions to its end.
auto & tables = *new std::unordered_map<const Storage *, Table>;

}

void remember_table(const Storage * storage, Table table)
{
    std::lock_guard lock(mutex);
    tables[storage] = std::move(table);
}

Table known_table(const Storage * storage)
{
    std::lock_guard lock(mutex);
    const auto found = tables.find(storage);
    return found == tables.end() ? Table{} : found->second;
}

}
