// Copyright: olap.partmove contributors
// GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
// SPDX-License-Identifier: GPL-3.0-or-later

#include "session.h"

#include "linkage.h"
#include "log.h"
#include "sign.h"

#include <mutex>
#include <new>

namespace cold
{

namespace
{

constexpr const char * element = "cold_zookeeper";

// zkutil::ZooKeeper takes about 200 bytes; its size is not known here.
constexpr std::size_t zookeeper_bytes = 4096;

ZooKeeperConstructor construct;
GetConfig get_config;
HasKey has_key;

Session open_session(const Configuration & configuration)
{
    void * memory = ::operator new(zookeeper_bytes);
    auto * zookeeper = static_cast<zkutil::ZooKeeper *>(memory);
    try
    {
        construct(zookeeper, configuration, element);
    }
    catch (...)
    {
        ::operator delete(memory);
        log_error("cannot open the session with <cold_zookeeper>; tables cannot be loaded without it");
        throw;
    }
    // Lives as long as the process: ClickHouse exports no destructor.
    return Session(zookeeper, [](zkutil::ZooKeeper *) {});
}

}

void find_session()
{
    construct = find_function<ZooKeeperConstructor>(symbol::zookeeper_constructor);
    get_config = find_function<GetConfig>(symbol::get_config);
    has_key = find_function<HasKey>(symbol::has_key);
}

Session cold_session(const Context & context)
{
    static std::mutex mutex;
    static Session session;

    const Configuration & configuration = get_config(context);
    if (!has_key(configuration, element))
        return {};
    std::lock_guard lock(mutex);
    if (!session)
    {
        session = open_session(configuration);
        show_open_session();
        log_information("opened the session with <cold_zookeeper>");
    }
    return session;
}

}
