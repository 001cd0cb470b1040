/*
 * rpc/rpc_server.h - the coordinator's RPC server
 *
 * Everything runs on the thread of the loop that the owner provides. A request
 * is answered now or later by rpc_reply(). Until then it is parked and occupies
 * an exchange of the listener (rpc/rpc_listener.h), but its body is not kept.
 *
 * The server itself answers unknown methods, other versions and malformed
 * input, and sends the kept reply to a request that was sent again
 * (rpc/reply_cache.h). A request whose deadline has passed before it was read
 * is dropped.
 *
 * Thread: the loop's, or before loop_run() and after it has returned.
 */

#ifndef RPC_RPC_SERVER_H
#define RPC_RPC_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

#include "base/limits.h"
#include "rpc/connection_pool.h"
#include "rpc/envelope.h"
#include "rpc/messages/message.h"
#include "rpc/method.h"
#include "rpc/rpc_deferred.h"

struct loop;
struct reply_cache;
struct rpc_request;
struct rpc_server;
struct rpc_tls;

/* Handle a request. The handler owns it until rpc_reply() or
 * rpc_request_drop(). The body is valid until the handler returns; a parked
 * request has none. */
typedef void
rpc_handler_fn(void *owner, struct rpc_request *request);

/* Return whether the client may call the method. The request is not parked
 * yet. */
typedef bool
rpc_allowed_fn(void *owner, const struct rpc_request *request);

/* A client's connection has ended. */
typedef void
rpc_disconnect_fn(void *owner, uint32_t connection);

typedef void
rpc_drained_fn(void *owner);

/* Return the number that a reply made now must wait for, see
 * rpc_server_release_replies(). Refusals by the server itself do not wait. */
typedef uint64_t
rpc_barrier_fn(void *owner);

/* What happens to parked requests when the server drains. */
enum rpc_drain_mode {
    RPC_DRAIN_REFUSE, /* they, and requests that still come, are answered
                         HOOP_E_UNAVAILABLE */
    RPC_DRAIN_SILENT, /* they are not answered, so that clients ask a
                         successor */
};

struct rpc_server_options {
    struct loop *loop;   /* borrowed; must outlive the server */
    const char *address; /* host:port, port 0 for any; borrowed for the call */
    struct rpc_tls *rpc_tls; /* borrowed; must outlive the server; NULL: no
                                TLS */
    rpc_handler_fn *on_request;
    /*
     * The connection of a parked request has ended. Drop the request, or finish
     * it and reply nevertheless: for a method that CHANGES something the reply
     * is kept, since the client may ask again. If it asks again before that,
     * the request is attached to its new connection.
     */
    rpc_handler_fn *on_request_abandoned;
    rpc_disconnect_fn
        *on_disconnect; /* called after on_request_abandoned; may be NULL */
    rpc_barrier_fn *barrier;    /* NULL: no reply waits */
    rpc_allowed_fn *is_allowed; /* false: the reply is not kept; NULL: always
                                   allowed */
    void *owner;                /* passed to all callbacks */
    enum rpc_drain_mode drain_mode;
    size_t n_requests_max; /* parked at once; 0: LIMIT_RPC_REQUESTS */
    struct connection_pool_limits limits; /* of connections */
    const char *secret; /* the token of all jobs, borrowed for the call; NULL
                           or empty: clients cannot authenticate */
};

struct rpc_server_counters {
    uint64_t connections;        /* current number */
    uint64_t connections_closed; /* unauthenticated ones, see
                                    rpc/connection_pool.h */
    uint64_t held_bytes;         /* held for connections, see rpc/budget.h */
    uint64_t kept_bytes;         /* for kept replies, see rpc/reply_cache.h */
    uint64_t requests;           /* received, of all kinds */
    uint64_t requests_parked;    /* currently with the handler */
    uint64_t requests_malformed; /* no valid envelope or unknown method */
    uint64_t requests_expired;   /* dropped because they came too late */
    uint64_t requests_repeated;  /* attached, or answered from the cache */
    uint64_t requests_refused;   /* HOOP_E_EXHAUSTED, or draining */
    uint64_t replies;
    uint64_t replies_waiting; /* current number of replies that wait for
                                 their sockets */
};

/* Create the server; it listens when this returns. Handle: HOOP_E_UNAVAILABLE
 * (the address). */
enum hoop_status
rpc_server_create(const struct rpc_server_options *options,
                  struct rpc_server **out_server);

/* Return the reply cache, so that it can be restored and recorded before the
 * first request. */
struct reply_cache *
rpc_server_reply_cache(struct rpc_server *server);

/* Send the replies whose barrier was not above number. number never
 * decreases. */
void
rpc_server_release_replies(struct rpc_server *server, uint64_t number);

/* Set whether replies of methods that only read wait for their barriers (the
 * initial setting), or leave at once, including those that wait. */
void
rpc_server_set_read_mode(struct rpc_server *server, enum deferred_reads reads);

/*
 * Stop serving requests. options.drain_mode says what parked requests are told;
 * the handler still owns them, but its replies go nowhere. Replies that wait
 * for a release are still sent. Calls on_drained on the loop when all replies
 * have been sent, after timeout_ms at the latest. A repeated call replaces the
 * earlier one.
 */
void
rpc_server_drain(struct rpc_server *server,
                 uint64_t timeout_ms,
                 rpc_drained_fn *on_drained,
                 void *owner);

/* Close the listener and all connections. Also frees parked requests: the
 * handler must not use them any more. NULL is allowed. */
void
rpc_server_destroy(struct rpc_server *server);

/* Return the port that is bound. */
uint16_t
rpc_server_port(const struct rpc_server *server);

struct rpc_server_counters
rpc_server_counters(const struct rpc_server *server);

/* ---- Requests. The accessors' results live as long as the request. */

const struct envelope_request *
rpc_request_envelope(const struct rpc_request *request);
const struct method *
rpc_request_method(const struct rpc_request *request);
/* Return the role that the client has proved; ROLE_ANYBODY: none. */
enum role
rpc_request_role(const struct rpc_request *request);
/* Return when the client stops waiting, on clock_now_ns(). */
uint64_t
rpc_request_deadline_ns(const struct rpc_request *request);
/* Return the connection's id, unique among existing ones; 0: abandoned. It
 * changes when the request is attached to another connection. */
uint32_t
rpc_request_connection(const struct rpc_request *request);
/* Return the client's address on its current connection, such as
 * "10.0.0.1:34567", for the log. */
const char *
rpc_request_peer(const struct rpc_request *request);

/* Make the request's connection authenticated in role: it may stay. */
void
rpc_request_set_role(struct rpc_request *request, enum role role);

/* Answer a request. Takes request. message may be NULL, and body {0}. */
void
rpc_reply(struct rpc_request *request,
          enum hoop_status status,
          const char *message,
          struct message_span body);

/* Refuse a request that was not applied, so that it may be sent again. The
 * answer does not wait. Takes request. */
void
rpc_request_refuse(struct rpc_request *request,
                   enum hoop_status status,
                   const char *message);

/* Drop a request that was not applied. If it was attached to a new connection
 * meanwhile, it is answered HOOP_E_UNAVAILABLE. Takes request. */
void
rpc_request_drop(struct rpc_request *request);

#endif
