/*
 * rpc/rpc_link.h - a client's connection to the coordinator, made again when
 * lost
 *
 * The layer below the calls: it handles addresses, back-off, hello,
 * authentication and frames. The owner says when there is something to send;
 * the link pulls one frame at a time when the socket accepts it. Thread: the
 * loop's.
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

/* A frame to send. bytes come from malloc(); the link takes them. */
struct rpc_link_frame {
    uint32_t id;
    uint8_t *bytes;
    size_t n_bytes;
};

/* Callbacks to the owner. None may destroy the link. */
struct rpc_link_events {
    /* Provide the next frame. Handle: HOOP_E_PENDING (nothing to send now). */
    enum hoop_status (*on_pull)(void *owner, struct rpc_link_frame *out_frame);
    /* Take a frame. HOOP_E_DATA_LOSS with its text means that it is malformed;
     * the link then closes the connection. */
    enum hoop_status (*on_frame)(void *owner, const struct sp_frame *frame);
    /* The connection was lost, or could not be made. Frames pulled so far may
     * or may not have arrived. rpc_link_request_send() starts again. */
    void (*on_lost)(void *owner);
    /* As on_lost, but trying again will not help: one side does not accept the
     * other, or only one speaks TLS. This thread's error text and
     * rpc_link_reason() say which. */
    void (*on_refused)(void *owner);
};

struct rpc_link_options {
    struct loop *loop;       /* borrowed; must outlive the link */
    const char *address;     /* copied */
    struct rpc_tls *rpc_tls; /* borrowed; NULL: no TLS */
    const struct auth_keys
        *keys; /* borrowed; proved on each connection if one is known */
    struct envelope_client client;
    struct rpc_link_events events;
    void *owner; /* passed to all callbacks */
};

/* Resolve address, which may block. If the resolver has no answer now, it is
 * asked again while there is something to send. Handle: HOOP_E_INVALID,
 * HOOP_E_UNAVAILABLE (no such name). */
enum hoop_status
rpc_link_create(const struct rpc_link_options *options,
                struct rpc_link **out_link);
void
rpc_link_destroy(struct rpc_link *link);

/* There is something to send: connect first if needed. May be called
 * repeatedly; calls nothing back from within. */
void
rpc_link_request_send(struct rpc_link *link);

/* Return whether there is a connection on which requests can be sent. */
bool
rpc_link_is_ready(const struct rpc_link *link);

/* Get the address of this host from which the coordinator was last reached.
 * Returns false if it has not been reached yet. */
bool
rpc_link_local_address(const struct rpc_link *link,
                       struct address *out_address);

/* Return why the connection was lost, or what the link waits for, for the user;
 * "" if neither. */
const char *
rpc_link_reason(const struct rpc_link *link);
/* Return whether an attempt at each of the addresses has failed since the last
 * connection. */
bool
rpc_link_is_unreachable(const struct rpc_link *link);
/* Return HOOP_E_EXHAUSTED or HOOP_E_DENIED if the last attempt failed because
 * this process or host lacks the means to connect or forbids it; the reason
 * then names no address. Otherwise HOOP_OK. */
enum hoop_status
rpc_link_local_failure(const struct rpc_link *link);

#endif
