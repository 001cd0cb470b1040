/*
 * rpc/rpc_lobby.h - connections whose owners have not shown who they are
 *
 * Anybody can connect to a coordinator, and stay. So all connections are
 * counted, by the address they come from: too many of one address, or in all,
 * cost the oldest stranger among them its connection, never somebody who has
 * shown a token. Who shows none is closed after a while.
 *
 * Connections are entered and leave on any thread; they are closed on the
 * loop's, soon after. The lobby outlives those who hold a reference to it.
 */

#ifndef RPC_RPC_LOBBY_H
#define RPC_RPC_LOBBY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "hoop/status.h"

#include "net/address.h"

struct loop;
struct rpc_guest;
struct rpc_lobby;
struct rpc_origin;

/* On the loop's thread, at most once for a guest; it may leave at once. */
typedef void
rpc_guest_fn(struct rpc_guest *guest);

enum guest_state {
    GUEST_NONE,      /* has not entered, or has left */
    GUEST_STRANGER,  /* among those that are waited for */
    GUEST_KNOWN,     /* has proved itself */
    GUEST_CONDEMNED, /* is going to be closed, or has been */
};

/* A part of a connection. Zeroed, with close, before it enters; what follows
 * is the lobby's. */
struct rpc_guest {
    rpc_guest_fn *close;
    bool is_proved; /* the loop's */
    enum guest_state state;
    const char *reason; /* CONDEMNED */
    uint64_t since_ns;
    struct address address;
    struct rpc_origin *origin;
    TAILQ_ENTRY(rpc_guest) line; /* among strangers, or those to be closed */
    TAILQ_ENTRY(rpc_guest) kin;  /* strangers of the same origin */
};

/* Zero: as limits.h has it, and for all what the process may open. */
struct rpc_lobby_bounds {
    size_t n_all_max;
    size_t n_origin_max;   /* of one address that is not this host's ... */
    size_t n_loopback_max; /* ... and of one that is */
    uint64_t patience_ms;  /* with a stranger */
};

enum hoop_status
rpc_lobby_create(struct loop *loop,
                 const struct rpc_lobby_bounds *bounds,
                 struct rpc_lobby **out_lobby);
/* By who created it: nobody is closed from here on. NULL is fine. */
void
rpc_lobby_destroy(struct rpc_lobby *lobby);

/* Thread: any. NULL is fine. */
struct rpc_lobby *
rpc_lobby_ref(struct rpc_lobby *lobby);
void
rpc_lobby_unref(struct rpc_lobby *lobby);

/* Handle: HOOP_E_EXHAUSTED (no memory): it is not in, close it. Thread: any. */
enum hoop_status
rpc_lobby_enter(struct rpc_lobby *lobby,
                struct rpc_guest *guest,
                const struct address *address);
/* One that has not entered, or has left, is fine. Thread: any. */
void
rpc_lobby_leave(struct rpc_lobby *lobby, struct rpc_guest *guest);

/* It may stay as long as it likes. Thread: the loop's. */
void
rpc_lobby_prove(struct rpc_lobby *lobby, struct rpc_guest *guest);

/* How many have been closed. Thread: any. */
uint64_t
rpc_lobby_turned_away(struct rpc_lobby *lobby);

#endif
