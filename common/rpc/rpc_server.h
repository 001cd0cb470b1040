/*
 * rpc/rpc_server.h - the coordinator's side: a listener in front, a loop behind
 *
 * Everything is done by the thread of the loop that the owner gave. A request is
 * answered now or later by rpc_reply(); until then it is parked and costs an
 * exchange of the listener (rpc/rpc_listener.h), but not its body.
 *
 * The server itself answers unknown methods, other versions and garbage, and
 * repeats the reply to a request that was sent again (rpc/reply_cache.h).
 * Requests whose deadline has passed before they were looked at are dropped.
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

/* The handler owns the request until rpc_reply() or rpc_request_drop(). The
 * body is there until the handler returns: what is parked has none. */
typedef void
rpc_handler_fn(void *owner, struct rpc_request *request);

/* Whether who asks may call the method: of a request that is not parked yet. */
typedef bool
rpc_allowed_fn(void *owner, const struct rpc_request *request);

/* A client's connection has gone. */
typedef void
rpc_disconnect_fn(void *owner, uint32_t connection);

typedef void
rpc_drained_fn(void *owner);

/* What a reply that is made now has to wait for, see rpc_server_release().
 * Refusals of the server's own leave at once. */
typedef uint64_t
rpc_barrier_fn(void *owner);

/* What becomes of requests that are parked when the server drains. */
enum rpc_drain_mode {
    RPC_DRAIN_REFUSE, /* answered UNAVAILABLE, as are those that still come */
    RPC_DRAIN_SILENT, /* not answered: clients will ask a successor */
};

struct rpc_server_options {
    struct loop *loop;   /* borrowed; must outlive the server */
    const char *address; /* host:port, port 0 for any; borrowed for create */
    struct rpc_tls *rpc_tls; /* as loop; NULL: no TLS */
    rpc_handler_fn *on_request;
    /*
     * Nobody waits for this parked request any more: its connection has
     * gone. Drop it, or finish it and reply all the same: for a method that
     * CHANGES the reply is kept, since the client may come back for it. If
     * it does come back before that, the request is attached to its new
     * connection.
     */
    rpc_handler_fn *on_abandon;
    rpc_disconnect_fn *on_disconnect; /* after on_abandon; may be NULL */
    rpc_barrier_fn *barrier;          /* NULL: no reply waits */
    rpc_allowed_fn *is_allowed; /* else the reply is not kept; NULL: always */
    void *owner;                /* of all */
    enum rpc_drain_mode drain_mode;
    size_t n_requests_max; /* parked at once; 0: LIMIT_RPC_REQUESTS */
    struct connection_pool_limits limits; /* of connections */
    const char *secret; /* the token of all jobs, borrowed for create; NULL or
                           empty: nobody can prove anything */
};

struct rpc_server_counters {
    uint64_t connections;        /* now */
    uint64_t connections_closed; /* strangers', see rpc/connection_pool.h */
    uint64_t held_bytes;         /* for connections, see rpc/budget.h */
    uint64_t kept_bytes;         /* for replies, see rpc/reply_cache.h */
    uint64_t requests;           /* received, all of them */
    uint64_t requests_parked;    /* now with the handler */
    uint64_t requests_malformed; /* no envelope, no such method */
    uint64_t requests_expired;   /* dropped, too late */
    uint64_t requests_repeated;  /* attached, or answered from the cache */
    uint64_t requests_refused;   /* RESOURCE_EXHAUSTED, or draining */
    uint64_t replies;
    uint64_t replies_waiting; /* now, for their sockets */
};

/* Listens when it returns. Handle: HOOP_E_UNAVAILABLE (the address). */
enum hoop_status
rpc_server_create(const struct rpc_server_options *options,
                  struct rpc_server **out_server);

/* What was answered, to be followed and revived before the first request. */
struct reply_cache *
rpc_server_replies(struct rpc_server *server);

/* Replies leave whose barrier was not above number. It never shrinks. */
void
rpc_server_release(struct rpc_server *server, uint64_t number);

/* Whether replies of methods that only read wait for their barriers, as at
 * first, or leave at once, those that wait included. */
void
rpc_server_pass_reads(struct rpc_server *server, enum deferred_reads reads);

/*
 * From now on no request is served; what those are told that are parked says
 * options.drain_mode. The handler still owns them, but its reply goes nowhere.
 * Replies that wait for a release are waited for. Calls
 * on_drained on the loop when all replies have been sent, after timeout_ms
 * at the latest. Repeating it replaces the call.
 */
void
rpc_server_drain(struct rpc_server *server,
                 uint64_t timeout_ms,
                 rpc_drained_fn *on_drained,
                 void *owner);

/* Closes the listener and all connections. Frees the requests that are still
 * parked as well: after it, the handler must not touch them. NULL is fine. */
void
rpc_server_destroy(struct rpc_server *server);

/* The port that is really bound. */
uint16_t
rpc_server_port(const struct rpc_server *server);

struct rpc_server_counters
rpc_server_counters(const struct rpc_server *server);

/* ---- Requests. What the accessors give lives as long as the request. */

const struct envelope_request *
rpc_request_envelope(const struct rpc_request *request);
const struct method *
rpc_request_method(const struct rpc_request *request);
/* What who asks has proved to be; ROLE_ANYBODY: nothing. */
enum role
rpc_request_role(const struct rpc_request *request);
/* When the client stops waiting, on clock_now_ns(). */
uint64_t
rpc_request_deadline_ns(const struct rpc_request *request);
/* Unique among those that exist; 0: abandoned. Changes when it is attached to
 * another. */
uint32_t
rpc_request_connection(const struct rpc_request *request);
/* "10.0.0.1:34567", of the connection it first came over, for log lines. */
const char *
rpc_request_peer(const struct rpc_request *request);

/* Who asks is believed to be of role: the connection may stay. */
void
rpc_request_admit(struct rpc_request *request, enum role role);

/* Takes request. message NULL: empty. body may be {0}. */
void
rpc_reply(struct rpc_request *request,
          enum hoop_status status,
          const char *message,
          struct message_span body);

/* Takes request, which was not applied: the same may be asked again. The answer
 * waits for nothing. */
void
rpc_request_refuse(struct rpc_request *request,
                   enum hoop_status status,
                   const char *message);

/* Takes request, which was not applied. If somebody waits for it after all
 * (it was attached to a new connection), they are told UNAVAILABLE. */
void
rpc_request_drop(struct rpc_request *request);

#endif
