/*
 * rpc/rpc_client.h - a worker's side: NNG's request protocol on the loop
 *
 * Speaks SP over TCP itself (docs/rpc.md), because libnng would put a dozen
 * threads into the user's process. Connects at the first call, again after a
 * loss as long as calls wait (50 ms to 1 s apart, with jitter), and then
 * sends again what has not been answered, with the same ids: the server
 * applies nothing twice. A token is proved on each connection before anything
 * is asked, by both sides, and never sent (rpc/authentication.h).
 *
 * Thread: the loop's, or before loop_run() and after it has returned, except
 * rpc_client_call_wait().
 */

#ifndef RPC_RPC_CLIENT_H
#define RPC_RPC_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

#include "net/address.h"
#include "rpc/messages/message.h"

struct loop;
struct rpc_client;
struct tls_files;

struct rpc_client_options {
    struct loop *loop;           /* borrowed; must outlive the client */
    const char *address;         /* "host:port"; all that follows is copied */
    const char *job;             /* NULL: none */
    const char *token;           /* NULL: none */
    const struct tls_files *tls; /* rpc/rpc_tls.h; NULL: none */
};

struct rpc_answer {
    enum hoop_status status;
    const char *message;      /* never NULL; text for the user if not OK */
    struct message_span body; /* both are borrowed for the callback */
};

/* Called exactly once, on the loop's thread, never from within the call. */
typedef void
rpc_answer_fn(void *owner, const struct rpc_answer *answer);

struct rpc_call {
    const char *method;       /* "hoop.v1.Store/Get" */
    struct message_span body; /* copied */
    uint64_t timeout_ms;      /* every call has a deadline */
    uint64_t grace_ms; /* behind it, for the answer to a call that was sent */
    bool is_poll;    /* grace_ms is not the coordinator's, who answers before */
    bool tries_once; /* fails when each address has refused a connection */
    rpc_answer_fn *on_answer;
    void *owner;
    /* Of rpc_client_call_wait(), whose caller looks at something else on the way:
     * in how many ms, -1: never; and then does, with other calls if need be. Only
     * HOOP_E_CANCELLED, of those, ends the wait. */
    int (*due_ms)(const void *owner); /* NULL: never */
    enum hoop_status (*on_due)(void *owner);
    /* Likewise, when its program interrupts it: has the call taken back, whose answer
     * is waited for a little longer. NULL: it is left at once. */
    void (*on_interrupt)(void *owner);
};

/*
 * Resolves the address, which may block. Later lookups of a name, when none
 * of its addresses answers, have a short-lived thread of their own.
 * Handle: HOOP_E_INVALID (address, TLS), HOOP_E_UNAVAILABLE (name unknown),
 * HOOP_E_NOT_FOUND (a file of tls).
 */
enum hoop_status
rpc_client_create(const struct rpc_client_options *options,
                  struct rpc_client **out_client);

/*
 * Calls that wait are answered CANCELLED before it returns, also blocking
 * ones, whose threads must no longer start new ones. May be called from
 * within on_answer. NULL is fine.
 */
void
rpc_client_destroy(struct rpc_client *client);

/*
 * If it fails, on_answer is not called. Otherwise the answer is the server's,
 * or of our own: HOOP_E_TIMEOUT (sent, not answered in time),
 * HOOP_E_UNAVAILABLE (never reached the server in that time, or, if it
 * tries once, at none of its addresses; the text says why), HOOP_E_EXHAUSTED
 * (nor could, without a descriptor, a port or memory; the text names the limit;
 * or the server's answer), HOOP_E_UNAUTHENTICATED (at once: there is a server,
 * but the two do not agree on TLS or on the token), HOOP_E_UNIMPLEMENTED (at
 * once: it speaks another version), HOOP_E_CANCELLED.
 *
 * *out_id (NULL: not wanted) is for rpc_client_cancel().
 * Handle: HOOP_E_EXHAUSTED (LIMIT_RPC_CALLS wait, the body is too large).
 */
enum hoop_status
rpc_client_call(struct rpc_client *client,
                const struct rpc_call *call,
                uint64_t *out_id);

/* The connection was lost, or could not be made, and nothing has come since. */
bool
rpc_client_is_away(const struct rpc_client *client);

/* fn(owner) is called on the loop whenever rpc_client_is_away() has changed, and
 * may make calls. NULL: nobody is told any more. Thread: the loop's, or before it
 * runs. */
void
rpc_client_watch(struct rpc_client *client,
                 void (*fn)(void *owner),
                 void *owner);

/* Why there is no connection at present, for the user: the last error, with the
 * address that was tried where it is another than the client's, or what is waited
 * for; "": nothing is known yet. NULL: there is one. Lives until the loop runs. */
const char *
rpc_client_trouble(const struct rpc_client *client);

/* Further calls are of this job; its name fits, since the coordinator told it. */
void
rpc_client_set_job(struct rpc_client *client, const char *job);

/* This host's address, by which it reached the coordinator last; its port is of
 * no use to others. False: it has not reached it yet. */
bool
rpc_client_local_address(const struct rpc_client *client,
                         struct address *out_address);

/* Every call that waits is answered so. */
void
rpc_client_answer_all(struct rpc_client *client,
                      const struct rpc_answer *answer);

/* on_answer is not called any more. Unknown ids, also 0, are fine. */
void
rpc_client_cancel(struct rpc_client *client, uint64_t id);

/*
 * The blocking form: on_answer of the call is not looked at. The
 * loop must be running in another thread. Returns the answer's status with
 * its message as error text; on HOOP_OK the caller frees *out_body (NULL if
 * it is empty). Both may be NULL if no body is wanted.
 * Handle: HOOP_E_CANCELLED (also where the thread's program has interrupted it,
 * base/interrupt.h: the coordinator may have heard the call, whose answer is
 * dropped). Thread: any but the loop's.
 */
enum hoop_status
rpc_client_call_wait(struct rpc_client *client,
                     const struct rpc_call *call,
                     uint8_t **out_body,
                     size_t *out_n_bytes);

#endif
