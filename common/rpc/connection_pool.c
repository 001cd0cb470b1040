/*
 * rpc/connection_pool.c - connections whose owners have not shown who they are
 *
 * NONE -> STRANGER -> KNOWN -> NONE
 *            |           `-> CONDEMNED
 *            `-> CONDEMNED -> NONE
 *
 * Nothing is closed where it is entered, which is on a thread of NNG's: who is
 * condemned stands in a line until the loop comes to it.
 */

/* Without memory an insertion leaves the element out instead of exiting. */
#define HASH_NONFATAL_OOM 1

#include "rpc/connection_pool.h"

#include <assert.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <uthash.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/log_quota.h"
#include "net/loop.h"

TAILQ_HEAD(pool_list, pool_entry);

/* As an IPv6 address; those of IPv4 are mapped. */
struct origin_key {
    uint8_t bytes[16];
};

struct pool_network {
    struct origin_key key;
    bool is_loopback;
    size_t n_guests;
    struct pool_list strangers; /* oldest first */
    UT_hash_handle hh;
};

struct connection_pool {
    struct loop *loop;
    struct loop_timer *timer;
    struct connection_pool_limits bounds;
    struct log_quota quota; /* the loop's */

    pthread_mutex_t lock; /* of what follows */
    size_t n_refs;
    size_t n_guests;
    uint64_t n_turned_away;
    bool is_posted; /* the loop is going to look */
    bool is_closed;
    struct pool_network *origins;
    struct pool_list strangers; /* oldest first */
    struct pool_list condemned;
};

static const char reason_impatience[] = "it has not shown a token";
static const char reason_origin[] = "too many come from its address";
static const char reason_all[] = "there are too many connections";

static void
lobby_look(void *owner);

/* As many connections as this process may have, less what else it opens. */
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

static size_t
bound_or(size_t given, size_t usual)
{
    return given > 0 ? given : usual;
}

enum hoop_status
connection_pool_create(struct loop *loop,
                       const struct connection_pool_limits *bounds,
                       struct connection_pool **out_lobby)
{
    struct connection_pool *lobby = calloc(1, sizeof(*lobby));

    if (!lobby)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for a lobby");
    lobby->loop = loop;
    lobby->bounds = (struct connection_pool_limits){
        .n_all_max = bound_or(bounds->n_all_max, descriptors_room()),
        .n_origin_max = bound_or(bounds->n_origin_max, LIMIT_RPC_ORIGIN),
        .n_loopback_max = bound_or(bounds->n_loopback_max, LIMIT_RPC_LOOPBACK),
        .patience_ms = bound_or(bounds->patience_ms, LIMIT_RPC_PATIENCE_MS),
    };
    lobby->n_refs = 1;
    pthread_mutex_init(&lobby->lock, NULL);
    TAILQ_INIT(&lobby->strangers);
    TAILQ_INIT(&lobby->condemned);

    const enum hoop_status status =
        loop_timer_create(loop, lobby_look, lobby, &lobby->timer);
    if (status != HOOP_OK) {
        connection_pool_unref(lobby);
        return error_pass(status);
    }
    *out_lobby = lobby;
    return HOOP_OK;
}

struct connection_pool *
connection_pool_ref(struct connection_pool *lobby)
{
    if (!lobby)
        return NULL;
    pthread_mutex_lock(&lobby->lock);
    lobby->n_refs++;
    pthread_mutex_unlock(&lobby->lock);
    return lobby;
}

void
connection_pool_unref(struct connection_pool *lobby)
{
    struct pool_network *origin;
    struct pool_network *next;

    if (!lobby)
        return;
    pthread_mutex_lock(&lobby->lock);
    const bool is_last = --lobby->n_refs == 0;
    pthread_mutex_unlock(&lobby->lock);
    if (!is_last)
        return;
    HASH_ITER(hh, lobby->origins, origin, next)
    {
        HASH_DEL(lobby->origins, origin);
        free(origin);
    }
    pthread_mutex_destroy(&lobby->lock);
    free(lobby);
}

void
connection_pool_destroy(struct connection_pool *lobby)
{
    if (!lobby)
        return;
    pthread_mutex_lock(&lobby->lock);
    lobby->is_closed = true;
    pthread_mutex_unlock(&lobby->lock);
    loop_forget(lobby->loop, lobby);
    loop_timer_destroy(STEAL(lobby->timer));
    connection_pool_unref(lobby);
}

static struct origin_key
key_of(const struct address *address)
{
    struct origin_key key = {{0}};
    const void *storage = &address->storage;

    if (address->storage.ss_family == AF_INET6) {
        const struct sockaddr_in6 *ipv6 = storage;

        memcpy(key.bytes, &ipv6->sin6_addr, sizeof(key.bytes));
    }
    if (address->storage.ss_family == AF_INET) {
        const struct sockaddr_in *ipv4 = storage;

        key.bytes[10] = key.bytes[11] = 0xff;
        memcpy(key.bytes + 12, &ipv4->sin_addr, 4);
    }
    return key;
}

/* With the lock held. NULL: there is no memory for one. */
static struct pool_network *
origin_take(struct connection_pool *lobby, const struct address *address)
{
    const struct origin_key key = key_of(address);
    struct pool_network *origin = NULL;

    HASH_FIND(hh, lobby->origins, &key, sizeof(key), origin);
    if (origin)
        return origin;
    origin = calloc(1, sizeof(*origin));
    if (!origin)
        return NULL;
    origin->key = key;
    origin->is_loopback = address_is_loopback(address);
    TAILQ_INIT(&origin->strangers);
    HASH_ADD(hh, lobby->origins, key, sizeof(origin->key), origin);
    if (origin->hh.tbl)
        return origin;
    free(origin);
    return NULL;
}

/* The functions below: with the lock held. */

static void
lobby_ring(struct connection_pool *lobby)
{
    /* Without memory for the post the next to enter has one. */
    if (!lobby->is_posted && !lobby->is_closed)
        lobby->is_posted = loop_post(lobby->loop, lobby_look, lobby) == HOOP_OK;
}

static void
stranger_forget(struct connection_pool *lobby, struct pool_entry *guest)
{
    TAILQ_REMOVE(&lobby->strangers, guest, line);
    TAILQ_REMOVE(&guest->origin->strangers, guest, kin);
}

/* NULL: all of them are known. */
static void
guest_condemn(struct connection_pool *lobby,
              struct pool_entry *guest,
              const char *reason)
{
    if (!guest)
        return;
    stranger_forget(lobby, guest);
    guest->state = POOL_ENTRY_CONDEMNED;
    guest->reason = reason;
    TAILQ_INSERT_TAIL(&lobby->condemned, guest, line);
    lobby->n_turned_away++;
}

/* Who comes is a stranger, too, and goes if all others are known. */
static void
bounds_keep(struct connection_pool *lobby, struct pool_network *origin)
{
    const struct connection_pool_limits *bounds = &lobby->bounds;
    const size_t n_max =
        origin->is_loopback ? bounds->n_loopback_max : bounds->n_origin_max;

    if (origin->n_guests > n_max)
        guest_condemn(lobby, TAILQ_FIRST(&origin->strangers), reason_origin);
    else if (lobby->n_guests > bounds->n_all_max)
        guest_condemn(lobby, TAILQ_FIRST(&lobby->strangers), reason_all);
}

enum hoop_status
connection_pool_enter(struct connection_pool *lobby,
                      struct pool_entry *guest,
                      const struct address *address)
{
    assert(guest->state == POOL_ENTRY_NONE);
    assert(guest->close);
    pthread_mutex_lock(&lobby->lock);
    struct pool_network *origin = origin_take(lobby, address);
    if (!origin) {
        pthread_mutex_unlock(&lobby->lock);
        return error_raise(HOOP_E_EXHAUSTED, "no memory for a connection");
    }
    guest->state = POOL_ENTRY_STRANGER;
    guest->since_ns = clock_now_ns();
    guest->address = *address;
    guest->origin = origin;
    TAILQ_INSERT_TAIL(&lobby->strangers, guest, line);
    TAILQ_INSERT_TAIL(&origin->strangers, guest, kin);
    origin->n_guests++;
    lobby->n_guests++;
    bounds_keep(lobby, origin);
    lobby_ring(lobby);
    pthread_mutex_unlock(&lobby->lock);
    return HOOP_OK;
}

static void
origin_drop(struct connection_pool *lobby, struct pool_network *origin)
{
    lobby->n_guests--;
    if (--origin->n_guests > 0)
        return;
    HASH_DEL(lobby->origins, origin);
    free(origin);
}

void
connection_pool_leave(struct connection_pool *lobby, struct pool_entry *guest)
{
    pthread_mutex_lock(&lobby->lock);
    if (guest->state == POOL_ENTRY_STRANGER)
        stranger_forget(lobby, guest);
    if (guest->state == POOL_ENTRY_CONDEMNED && guest->reason)
        TAILQ_REMOVE(&lobby->condemned, guest, line);
    if (guest->state != POOL_ENTRY_NONE)
        origin_drop(lobby, guest->origin);
    guest->state = POOL_ENTRY_NONE;
    pthread_mutex_unlock(&lobby->lock);
}

void
connection_pool_prove(struct connection_pool *lobby, struct pool_entry *guest)
{
    /* Asked for each request: no lock for it. */
    if (guest->is_proved)
        return;
    guest->is_proved = true;
    pthread_mutex_lock(&lobby->lock);
    if (guest->state == POOL_ENTRY_STRANGER) {
        stranger_forget(lobby, guest);
        guest->state = POOL_ENTRY_KNOWN;
    }
    pthread_mutex_unlock(&lobby->lock);
}

uint64_t
connection_pool_n_closed(struct connection_pool *lobby)
{
    pthread_mutex_lock(&lobby->lock);
    const uint64_t n = lobby->n_turned_away;
    pthread_mutex_unlock(&lobby->lock);
    return n;
}

/* When the oldest stranger must go; CLOCK_NEVER: there is none. Those who have
 * stayed too long are condemned. With the lock held. */
static uint64_t
patience_end(struct connection_pool *lobby, uint64_t now_ns)
{
    const uint64_t patience_ns = lobby->bounds.patience_ms * CLOCK_NS_PER_MS;
    struct pool_entry *guest;

    while ((guest = TAILQ_FIRST(&lobby->strangers)) &&
           guest->since_ns + patience_ns <= now_ns)
        guest_condemn(lobby, guest, reason_impatience);
    return guest ? guest->since_ns + patience_ns : CLOCK_NEVER;
}

/* The next to be closed, with why and where it came from; NULL: none. It stays
 * in memory, which is given back on this thread only. */
static struct pool_entry *
condemned_take(struct connection_pool *lobby, const char **out_reason)
{
    pthread_mutex_lock(&lobby->lock);
    struct pool_entry *guest = TAILQ_FIRST(&lobby->condemned);
    if (guest) {
        TAILQ_REMOVE(&lobby->condemned, guest, line);
        *out_reason = STEAL(guest->reason);
    }
    pthread_mutex_unlock(&lobby->lock);
    return guest;
}

/* On the loop. */
static void
lobby_look(void *owner)
{
    struct connection_pool *lobby = owner;
    const uint64_t now_ns = clock_now_ns();
    const char *reason = NULL;
    struct pool_entry *guest;
    char address[LIMIT_ADDRESS];

    pthread_mutex_lock(&lobby->lock);
    lobby->is_posted = false;
    const uint64_t next_ns = patience_end(lobby, now_ns);
    pthread_mutex_unlock(&lobby->lock);

    while ((guest = condemned_take(lobby, &reason))) {
        if (log_quota_take(&lobby->quota, "rpc", now_ns)) {
            address_format(&guest->address, address);
            log_warning("rpc", "closing a connection from %s: %s", address,
                        reason);
        }
        guest->close(guest);
    }
    log_quota_tell(&lobby->quota, "rpc", now_ns);
    if (next_ns != CLOCK_NEVER)
        loop_timer_start(lobby->timer, (uint64_t)clock_left_ms(next_ns));
    else if (lobby->quota.n_unsaid > 0)
        loop_timer_start(lobby->timer, LIMIT_STRANGER_MS);
    else
        loop_timer_stop(lobby->timer);
}
