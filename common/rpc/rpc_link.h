/*
 * rpc/rpc_link.h - one connection to the coordinator, made again when lost
 *
 * Below the calls: it knows addresses, back-off, hello, how a token is proved,
 * and frames. The owner
 * says when there is something to send; the link pulls it a frame at a time
 * when the socket takes it. Thread: the loop's.
 */

#ifndef RPC_RPC_LINK_H
#define RPC_RPC_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

#include "net/address.h"
#include "rpc/envelope.h"
#include "rpc/sp_stream.h"

struct auth_keys;
struct loop;
struct rpc_link;
struct rpc_tls;

/* What to send; the link takes bytes, which malloc() made. */
struct rpc_link_frame {
    uint32_t id;
    uint8_t *bytes;
    size_t n_bytes;
};

/* No callback may destroy the link. */
struct rpc_link_events {
    /* The next frame. Handle: HOOP_E_PENDING (nothing to send now). */
    enum hoop_status (*on_pull)(void *owner, struct rpc_link_frame *out_frame);
    /* HOOP_E_DATA_LOSS (with its text): the frame is malformed; the link
     * closes the connection. */
    enum hoop_status (*on_frame)(void *owner, const struct sp_frame *frame);
    /* The connection is gone, or there was none to be had. Frames pulled so
     * far may or may not have arrived. rpc_link_wake() begins anew. */
    void (*on_lost)(void *owner);
    /* The same, but trying again will not help: one of the two does not believe
     * the other, or only one speaks TLS. The error text of this thread, and
     * rpc_link_reason(), say which. */
    void (*on_refused)(void *owner);
};

struct rpc_link_options {
    struct loop *loop;       /* borrowed; must outlive the link */
    const char *address;     /* copied */
    struct rpc_tls *rpc_tls; /* likewise borrowed; NULL: plain */
    const struct auth_keys
        *keys; /* likewise; what is proved, if any is known */
    struct envelope_client client;
    struct rpc_link_events events;
    void *owner; /* of all */
};

/* Resolves address, which may block. Where the resolver does not know now, it is
 * asked again for as long as there is something to send. Handle: HOOP_E_INVALID,
 * HOOP_E_UNAVAILABLE (no such name). */
enum hoop_status
rpc_link_create(const struct rpc_link_options *options,
                struct rpc_link **out_link);
void
rpc_link_destroy(struct rpc_link *link);

/* There is something to send: connects first if need be. Repeatable; never
 * calls back from within. */
void
rpc_link_wake(struct rpc_link *link);

/* Requests can be sent, and be answered, on the connection that it has. */
bool
rpc_link_is_ready(const struct rpc_link *link);

/* This host's address, by which it reached the coordinator last. False: it has
 * not reached it yet. */
bool
rpc_link_local_address(const struct rpc_link *link,
                       struct address *out_address);

/* Why it was lost last, or what it waits for, for the user; empty if neither. */
const char *
rpc_link_reason(const struct rpc_link *link);
/* Since it was last connected, an attempt at each of its addresses has failed. */
bool
rpc_link_is_unreachable(const struct rpc_link *link);
/* HOOP_E_EXHAUSTED or HOOP_E_DENIED: of the last attempt, this process or host
 * had nothing to connect with, or forbids it. Then the reason is of this side and
 * names no address. Else HOOP_OK. */
enum hoop_status
rpc_link_shortage(const struct rpc_link *link);

#endif
