// Copyright: olap.partmove contributors
// GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
// SPDX-License-Identifier: GPL-3.0-or-later

// The start of the library: all or nothing, and nothing in other programs than clickhouse-server.

#include "hooks.h"
#include "linkage.h"
#include "log.h"
#include "session.h"
#include "sign.h"

#include <cerrno>
#include <climits>
#include <cstring>
#include <string>
#include <unistd.h>

namespace
{

constexpr const char * server_program = "clickhouse-server";

// The file name behind a path.
std::string file_name(const std::string & path)
{
    return path.substr(path.rfind('/') + 1);
}

// LD_PRELOAD is handed down to every program that the server or its starter runs.
bool is_server()
{
    char path[PATH_MAX];
    const ssize_t length = readlink("/proc/self/exe", path, sizeof(path));
    if (length < 0)
        cold::fatal(std::string("cannot tell which program this is: /proc/self/exe: ") + strerror(errno));
    return file_name(std::string(path, static_cast<std::size_t>(length))) == server_program;
}

__attribute__((constructor)) void start()
{
    if (!is_server())
        return;
    const std::string library = file_name(cold::loaded_clickhouse());
    if (library != cold::clickhouse_library)
        cold::fatal(
            std::string("this server does not run on ") + cold::clickhouse_library + " but on "
            + (library.empty() ? "no libclickhouse.so at all" : library));
    cold::check_version();
    cold::find_log();
    cold::find_session();
    cold::install_start_up();
    cold::install_drop();
    cold::show_sign();
}

}
