/*
 * rpc/connection_pool.h - how many connections there may be, and whose
 *
 * Anybody can connect to a coordinator, and stay. A stranger is a connection
 * whose owner has not shown that it may ask anything. Strangers are counted in
 * all and by network (net/address.h: an IPv4 address, or 64 bits of IPv6), and
 * each has a time in which to become known. Who is known is counted by role
 * and never closed for others.
 *
 * Who needs room closes the stranger that has been silent for longest, if that
 * is a second; so nobody who is about to show who they are is displaced by those
 * who come faster. Where networks have a quarter of all strangers each, it is one
 * of theirs: a crowd displaces itself. If there is none, the newcomer waits or is
 * turned away.
 *
 * Thread: the loop's.
 */

#ifndef RPC_CONNECTION_POOL_H
#define RPC_CONNECTION_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "hoop/status.h"

#include "base/role.h"
#include "net/address.h"

struct connection_pool;
struct loop;
struct pool_entry;
struct pool_network;

/* Close the connection, which leaves the pool before this returns. reason is
 * for the log: "it has not shown a token in time". */
typedef void
pool_close_fn(struct pool_entry *entry, const char *reason);

enum pool_entry_state {
    POOL_ENTRY_NONE, /* has not entered, or has left */
    POOL_ENTRY_UNAUTHENTICATED,
    POOL_ENTRY_AUTHENTICATED,
};

/* A part of a connection. Zeroed before it enters. */
struct pool_entry {
    enum pool_entry_state state;
    enum role role; /* KNOWN */
    uint64_t since_ns;
    uint64_t active_ns; /* when it was last heard */
    struct pool_network *network;
    TAILQ_ENTRY(pool_entry) by_age;
    TAILQ_ENTRY(pool_entry) by_activity;
    TAILQ_ENTRY(pool_entry) by_activity_in_network;
};

/* Zero: as limits.h has it, and for all what the process may open. */
struct connection_pool_limits {
    size_t n_all_max;
    size_t n_network_max; /* strangers of a network that is not this host ... */
    size_t n_loopback_max; /* ... and of this host */
    uint64_t patience_ms;  /* in which a stranger must become known */
    uint64_t silence_ms; /* after which a stranger may make room for another */
};

struct connection_pool_options {
    struct loop *loop;
    struct connection_pool_limits limits;
    pool_close_fn *close;
};

enum hoop_status
connection_pool_create(const struct connection_pool_options *options,
                       struct connection_pool **out_pool);
/* After all entries have left. NULL is fine. */
void
connection_pool_destroy(struct connection_pool *pool);

/* No more connections can be taken unless connection_pool_make_room(). */
bool
connection_pool_is_full(const struct connection_pool *pool);

/* Closes the stranger that has been silent for longest, see above. False: all
 * that would have to go have been heard within the last second. */
bool
connection_pool_make_room(struct connection_pool *pool);

/* Closes this one, if it has been silent for a second. NULL: false. */
bool
connection_pool_close_silent(struct connection_pool *pool,
                             struct pool_entry *entry);

/* Which of two strangers makes room before the other. first may be NULL. */
struct pool_entry *
connection_pool_first_to_go(const struct connection_pool *pool,
                            struct pool_entry *first,
                            struct pool_entry *second);

/* It has been silent for silent_ms; if that is long enough to make room, it is the
 * first to do so. Handle: HOOP_E_EXHAUSTED (its network has as many strangers as
 * it may, or no memory; the text says which): it is not in, close it. */
enum hoop_status
connection_pool_enter(struct connection_pool *pool,
                      struct pool_entry *entry,
                      const struct address *address,
                      uint64_t silent_ms);
/* One that has not entered, or has left, is fine. */
void
connection_pool_leave(struct connection_pool *pool, struct pool_entry *entry);

/* Something has come from it. */
void
connection_pool_hear(struct connection_pool *pool, struct pool_entry *entry);

/* It is known from now on, in role. One that is known already is fine.
 * Handle: HOOP_E_EXHAUSTED (as many of that role as may be are connected). */
enum hoop_status
connection_pool_admit(struct connection_pool *pool,
                      struct pool_entry *entry,
                      enum role role);

/* How many strangers were closed or turned away since the beginning. */
uint64_t
connection_pool_n_closed(const struct connection_pool *pool);

#endif
