// Copyright: olap.partmove contributors
// GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
// SPDX-License-Identifier: GPL-3.0-or-later

#include "sign.h"

#include "clickhouse_abi.h"
#include "linkage.h"
#include "log.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

namespace cold
{

namespace
{

constexpr const char * wanted_version = "ClickHouse 18.16.1";

// Names and values in turns, a null pointer at the end. Never freed: the server may read them to its end.
const char ** rows;

// The place of the value of COLD_ZOOKEEPER_SESSION, the only one that changes.
const char ** session_value;

const char * const * stock_rows()
{
    return static_cast<const char * const *>(find(symbol::build_options));
}

std::string option(const char * name)
{
    for (const auto * row = stock_rows(); *row; row += 2)
        if (strcmp(row[0], name) == 0)
            return row[1];
    return "of a version that it does not tell";
}

}

void check_version()
{
    const std::string version = option("VERSION_FULL");
    if (version != wanted_version)
        fatal("this server is " + version + ", the patch was made for " + wanted_version);
}

void show_sign()
{
    const auto * end = stock_rows();
    while (*end)
        end += 2;
    std::vector<const char *> all(stock_rows(), end);
    all.insert(all.end(), {"COLD_ZOOKEEPER", "1", "COLD_ZOOKEEPER_SESSION", "none", nullptr});
    rows = new const char *[all.size()];
    std::copy(all.begin(), all.end(), rows);
    session_value = rows + all.size() - 2;
    replace(symbol::build_options, rows);
}

void show_open_session()
{
    const char * open = "open";
    __atomic_store(session_value, &open, __ATOMIC_RELAXED);
}

}
