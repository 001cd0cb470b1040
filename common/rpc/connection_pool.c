/*
 * rpc/connection_pool.c - limit the number of connections, and choose which to
 * close
 *
 *   NONE -> UNAUTHENTICATED -> AUTHENTICATED -> NONE
 *                      `-> NONE
 *
 * Unauthenticated connections are in three lists: by age, for their time limit;
 * and by when something was last received, in total and per network, for making
 * room. Networks are grouped in classes by their number of unauthenticated
 * connections, in powers of two, so that the largest are found without a search
 * of all.
 */

/* If there is no memory, an insertion skips the element instead of exiting. */
#define HASH_NONFATAL_OOM 1

#include "rpc/connection_pool.h"

#include <assert.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <uthash.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/limits.h"
#include "net/loop.h"

enum {
    CLASSES = 8 * sizeof(size_t),
    NETWORK_PART = 4,
};

TAILQ_HEAD(pool_list, pool_entry);
TAILQ_HEAD(network_list, pool_network);

struct pool_network {
    struct address_network key;
    bool is_loopback;
    size_t n_unauthenticated;
    struct pool_list unauthenticated_list; /* longest silent first */
    TAILQ_ENTRY(pool_network) link;        /* in its class */
    UT_hash_handle hh;
};

struct connection_pool {
    struct loop_timer *auth_timer; /* time limit of the oldest unauthenticated
                                    connection */
    struct connection_pool_limits limits;
    pool_close_fn *close;
    size_t n_unauthenticated;
    size_t n_known[ROLE_ANYBODY];
    uint64_t n_closed;
    struct pool_network *networks;
    /* Class i: networks with 2^i to 2^(i+1) - 1 unauthenticated connections. */
    struct network_list classes[CLASSES];
    struct pool_list by_age;      /* unauthenticated connections,
                                             oldest first */
    struct pool_list by_activity; /* unauthenticated connections, longest
                                     silent first */
};

DEFINE_CLEANUP(struct connection_pool *, connection_pool_destroy)

/* Return how many connections the descriptor limit allows beside the other open
 * files. */
static size_t
descriptors_room(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 ||
        limit.rlim_cur > LIMIT_RPC_CONNECTIONS + LIMIT_RPC_OTHER_FILES)
        return LIMIT_RPC_CONNECTIONS;
    if (limit.rlim_cur < 4 * LIMIT_RPC_OTHER_FILES)
        return (size_t)(limit.rlim_cur - limit.rlim_cur / 4);
    return (size_t)(limit.rlim_cur - LIMIT_RPC_OTHER_FILES);
}

static uint64_t
value_or_default(uint64_t given, uint64_t usual)
{
    return given > 0 ? given : usual;
}

static void
auth_timer_arm(struct connection_pool *pool)
{
    const struct pool_entry *oldest = TAILQ_FIRST(&pool->by_age);
    const uint64_t auth_timeout_ns =
        pool->limits.auth_timeout_ms * CLOCK_NS_PER_MS;

    if (oldest)
        loop_timer_start(
            pool->auth_timer,
            (uint64_t)clock_left_ms(oldest->since_ns + auth_timeout_ns));
    else
        loop_timer_stop(pool->auth_timer);
}

static void
pool_entry_close(struct connection_pool *pool,
                 struct pool_entry *entry,
                 const char *reason)
{
    pool->n_closed++;
    pool->close(entry, reason);
}

static void
on_auth_timeout(void *owner)
{
    struct connection_pool *pool = owner;
    const uint64_t auth_timeout_ns =
        pool->limits.auth_timeout_ms * CLOCK_NS_PER_MS;
    struct pool_entry *oldest;

    while ((oldest = TAILQ_FIRST(&pool->by_age)) &&
           clock_is_past(oldest->since_ns + auth_timeout_ns))
        pool_entry_close(pool, oldest, "it has not shown a token in time");
    auth_timer_arm(pool);
}

enum hoop_status
connection_pool_create(const struct connection_pool_options *options,
                       struct connection_pool **out_pool)
{
    CLEANUP(connection_pool_destroy)
    struct connection_pool *pool = calloc(1, sizeof(*pool));
    const struct connection_pool_limits *limits = &options->limits;

    if (!pool)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for connections");
    pool->close = options->close;
    pool->limits = (struct connection_pool_limits){
        .n_all_max = value_or_default(limits->n_all_max, descriptors_room()),
        .n_network_max =
            value_or_default(limits->n_network_max, LIMIT_RPC_ORIGIN),
        .n_loopback_max =
            value_or_default(limits->n_loopback_max, LIMIT_RPC_LOOPBACK),
        .auth_timeout_ms =
            value_or_default(limits->auth_timeout_ms, LIMIT_RPC_PATIENCE_MS),
        .silence_ms =
            value_or_default(limits->silence_ms, LIMIT_RPC_SILENCE_MS),
    };
    TAILQ_INIT(&pool->by_age);
    TAILQ_INIT(&pool->by_activity);
    for (size_t i = 0; i < CLASSES; i++)
        TAILQ_INIT(&pool->classes[i]);

    const enum hoop_status status = loop_timer_create(
        options->loop, on_auth_timeout, pool, &pool->auth_timer);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_pool = STEAL(pool);
    return HOOP_OK;
}

void
connection_pool_destroy(struct connection_pool *pool)
{
    if (!pool)
        return;
    assert(!pool->networks);
    loop_timer_destroy(pool->auth_timer);
    free(pool);
}

static size_t
connections_count(const struct connection_pool *pool)
{
    size_t n = pool->n_unauthenticated;

    for (enum role role = ROLE_WORKER; role < ROLE_ANYBODY; role++)
        n += pool->n_known[role];
    return n;
}

/* Return first if it has been silent long enough, else NULL. */
static struct pool_entry *
entry_if_silent(const struct connection_pool *pool, struct pool_entry *first)
{
    const uint64_t silence_ns = pool->limits.silence_ms * CLOCK_NS_PER_MS;

    return first && clock_is_past(first->active_ns + silence_ns) ? first : NULL;
}

bool
connection_pool_close_silent(struct connection_pool *pool,
                             struct pool_entry *entry)
{
    struct pool_entry *silent = entry_if_silent(pool, entry);

    if (silent)
        pool_entry_close(pool, silent, "there are too many connections");
    return silent != NULL;
}

static bool
entry_network_is_crowded(const struct connection_pool *pool,
                         const struct pool_entry *entry)
{
    const size_t n = entry->network->n_unauthenticated;

    return n > 1 && n >= pool->n_unauthenticated / NETWORK_PART;
}

struct pool_entry *
connection_pool_choose_to_close(const struct connection_pool *pool,
                                struct pool_entry *first,
                                struct pool_entry *second)
{
    if (!first || entry_network_is_crowded(pool, first) <
                      entry_network_is_crowded(pool, second))
        return second;
    if (entry_network_is_crowded(pool, first) >
        entry_network_is_crowded(pool, second))
        return first;
    return second->active_ns < first->active_ns ? second : first;
}

/* The loop visits few networks, since each network of these classes has a large
 * part of all connections. */
bool
connection_pool_make_room(struct connection_pool *pool)
{
    struct pool_entry *first = TAILQ_FIRST(&pool->by_activity);
    struct pool_network *network;

    for (size_t i = CLASSES - 1;
         i > 0 && pool->n_unauthenticated >> i >> 1 < NETWORK_PART; i--) {
        TAILQ_FOREACH(network, &pool->classes[i], link)
        {
            first = connection_pool_choose_to_close(
                pool, first, TAILQ_FIRST(&network->unauthenticated_list));
        }
    }
    return connection_pool_close_silent(pool, first);
}

bool
connection_pool_is_full(const struct connection_pool *pool)
{
    return connections_count(pool) >= pool->limits.n_all_max;
}

/* Find or create the network of an address. NULL: there is no memory. */
static struct pool_network *
network_find_or_create(struct connection_pool *pool,
                       const struct address *address)
{
    const struct address_network key = address_network(address);
    struct pool_network *network = NULL;

    HASH_FIND(hh, pool->networks, &key, sizeof(key), network);
    if (network)
        return network;
    network = calloc(1, sizeof(*network));
    if (!network)
        return NULL;
    network->key = key;
    network->is_loopback = address_is_loopback(address);
    TAILQ_INIT(&network->unauthenticated_list);
    HASH_ADD(hh, pool->networks, key, sizeof(network->key), network);
    if (network->hh.tbl)
        return network;
    free(network);
    return NULL;
}

/* Return the class of a network that has unauthenticated connections. */
static struct network_list *
network_class(struct connection_pool *pool, const struct pool_network *network)
{
    return &pool->classes[CLASSES - 1 -
                          (size_t)__builtin_clzl(network->n_unauthenticated)];
}

/* Frees the network when its count becomes 0. */
static void
network_set_count(struct connection_pool *pool,
                  struct pool_network *network,
                  size_t n_unauthenticated)
{
    if (network->n_unauthenticated > 0)
        TAILQ_REMOVE(network_class(pool, network), network, link);
    network->n_unauthenticated = n_unauthenticated;
    if (n_unauthenticated > 0) {
        TAILQ_INSERT_TAIL(network_class(pool, network), network, link);
        return;
    }
    HASH_DEL(pool->networks, network);
    free(network);
}

/* Make room in the network for one more connection. This may free the
 * network. */
static enum hoop_status
network_make_room(struct connection_pool *pool, struct pool_network *network)
{
    const size_t n_max = network->is_loopback ? pool->limits.n_loopback_max
                                              : pool->limits.n_network_max;

    if (network->n_unauthenticated < n_max)
        return HOOP_OK;

    struct pool_entry *silent =
        entry_if_silent(pool, TAILQ_FIRST(&network->unauthenticated_list));
    if (silent) {
        pool_entry_close(pool, silent, "too many come from its address");
        return HOOP_OK;
    }
    pool->n_closed++;
    return error_raise(HOOP_E_EXHAUSTED,
                       "%zu connections of its address (or its 64 bits of "
                       "IPv6) have not shown a token yet, as many as may be",
                       network->n_unauthenticated);
}

enum hoop_status
connection_pool_add(struct connection_pool *pool,
                    struct pool_entry *entry,
                    const struct address *address,
                    uint64_t silent_ms)
{
    const bool is_silent = silent_ms >= pool->limits.silence_ms;

    assert(entry->state == POOL_ENTRY_NONE);
    struct pool_network *network = network_find_or_create(pool, address);
    if (!network)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for a connection");

    const enum hoop_status status = network_make_room(pool, network);
    if (status != HOOP_OK)
        return error_pass(status);
    network = network_find_or_create(pool, address);
    if (!network)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for a connection");

    entry->state = POOL_ENTRY_UNAUTHENTICATED;
    entry->since_ns = clock_now_ns();
    entry->active_ns = entry->since_ns - silent_ms * CLOCK_NS_PER_MS;
    entry->network = network;
    TAILQ_INSERT_TAIL(&pool->by_age, entry, by_age);
    if (is_silent) {
        TAILQ_INSERT_HEAD(&pool->by_activity, entry, by_activity);
        TAILQ_INSERT_HEAD(&network->unauthenticated_list, entry,
                          by_activity_in_network);
    } else {
        TAILQ_INSERT_TAIL(&pool->by_activity, entry, by_activity);
        TAILQ_INSERT_TAIL(&network->unauthenticated_list, entry,
                          by_activity_in_network);
    }
    network_set_count(pool, network, network->n_unauthenticated + 1);
    if (++pool->n_unauthenticated == 1)
        auth_timer_arm(pool);
    return HOOP_OK;
}

static void
unauthenticated_remove(struct connection_pool *pool, struct pool_entry *entry)
{
    struct pool_network *network = entry->network;

    TAILQ_REMOVE(&pool->by_age, entry, by_age);
    TAILQ_REMOVE(&pool->by_activity, entry, by_activity);
    TAILQ_REMOVE(&network->unauthenticated_list, entry, by_activity_in_network);
    pool->n_unauthenticated--;
    network_set_count(pool, network, network->n_unauthenticated - 1);
    entry->network = NULL;
}

void
connection_pool_remove(struct connection_pool *pool, struct pool_entry *entry)
{
    if (entry->state == POOL_ENTRY_UNAUTHENTICATED)
        unauthenticated_remove(pool, entry);
    if (entry->state == POOL_ENTRY_AUTHENTICATED)
        pool->n_known[entry->role]--;
    entry->state = POOL_ENTRY_NONE;
}

void
connection_pool_touch(struct connection_pool *pool, struct pool_entry *entry)
{
    if (entry->state != POOL_ENTRY_UNAUTHENTICATED)
        return;
    entry->active_ns = clock_now_ns();
    TAILQ_REMOVE(&pool->by_activity, entry, by_activity);
    TAILQ_INSERT_TAIL(&pool->by_activity, entry, by_activity);
    TAILQ_REMOVE(&entry->network->unauthenticated_list, entry,
                 by_activity_in_network);
    TAILQ_INSERT_TAIL(&entry->network->unauthenticated_list, entry,
                      by_activity_in_network);
}

enum hoop_status
connection_pool_set_role(struct connection_pool *pool,
                         struct pool_entry *entry,
                         enum role role)
{
    /* Connections with a lesser token must leave room for workers. */
    const size_t n_max = role == ROLE_WORKER ? pool->limits.n_all_max
                                             : (pool->limits.n_all_max + 3) / 4;

    assert(role < ROLE_ANYBODY);
    if (entry->state != POOL_ENTRY_UNAUTHENTICATED)
        return HOOP_OK;
    if (pool->n_known[role] >= n_max)
        return error_raise(HOOP_E_EXHAUSTED,
                           "%zu connections of role %s are open, as many as "
                           "may be",
                           n_max, role_name(role));
    unauthenticated_remove(pool, entry);
    entry->state = POOL_ENTRY_AUTHENTICATED;
    entry->role = role;
    pool->n_known[role]++;
    return HOOP_OK;
}

uint64_t
connection_pool_n_closed(const struct connection_pool *pool)
{
    return pool->n_closed;
}
