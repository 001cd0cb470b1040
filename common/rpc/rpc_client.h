/*
 * rpc/rpc_client.h - the client of a coordinator: NNG's request protocol on a
 * loop
 *
 * Implements SP over TCP itself (docs/rpc.md), because libnng would start a
 * dozen threads in the user's process. It connects at the first call, and again
 * after a loss while calls wait (50 ms to 1 s apart, with jitter); then it
 * sends unanswered calls again with the same ids, and the server applies none
 * twice. On each connection both sides prove that they know the token before
 * the first request; the token is never sent (rpc/authentication.h).
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
    const char *address;         /* "host:port"; copied, as are the strings
                                    below */
    const char *job;             /* NULL: no job */
    const char *token;           /* NULL: no token */
    const struct tls_files *tls; /* see rpc/rpc_tls.h; NULL: no TLS */
};

struct rpc_answer {
    enum hoop_status status;
    const char *message;      /* never NULL; text for the user unless HOOP_OK */
    struct message_span body; /* message and body are borrowed for the
                                 callback */
};

/* Called exactly once, on the loop's thread, never from within
 * rpc_client_call(). */
typedef void
rpc_answer_fn(void *owner, const struct rpc_answer *answer);

struct rpc_call {
    const char *method;       /* "hoop.v1.Store/Get" */
    struct message_span body; /* copied */
    uint64_t timeout_ms;      /* required: every call has a deadline */
    uint64_t grace_ms; /* extra time after the deadline for the answer to a
                          call that was sent */
    bool is_poll;      /* grace_ms is not part of the deadline sent to the
                        coordinator, which answers earlier */
    bool tries_once;   /* fail when every address has refused a connection */
    rpc_answer_fn *on_answer;
    void *owner;
    /* Used by rpc_client_call_wait() to let the caller do other work while it
     * waits. due_ms returns in how many ms on_due must be called, -1 for never.
     * on_due may make other calls. If it returns HOOP_E_CANCELLED the wait
     * ends. */
    int (*due_ms)(const void *owner); /* may be NULL: never */
    enum hoop_status (*on_due)(void *owner);
    /* Called when the program interrupts the wait, to take the call back; its
     * answer is then awaited a little longer. NULL: the wait ends at once. */
    void (*on_interrupt)(void *owner);
};

/*
 * Resolves the address, which may block. Later lookups, when none of the
 * addresses answers, run in short-lived threads.
 * Handle: HOOP_E_INVALID (bad address or TLS), HOOP_E_UNAVAILABLE (unknown
 * name), HOOP_E_NOT_FOUND (missing TLS file).
 */
enum hoop_status
rpc_client_create(const struct rpc_client_options *options,
                  struct rpc_client **out_client);

/*
 * Waiting calls are answered HOOP_E_CANCELLED before this returns, including
 * blocking ones; other threads must not start new calls. May be called from
 * within on_answer. NULL is allowed.
 */
void
rpc_client_destroy(struct rpc_client *client);

/*
 * Start a call. If this fails, on_answer is not called. Otherwise on_answer
 * gets the server's answer or one of these:
 * - HOOP_E_TIMEOUT: sent, but not answered in time.
 * - HOOP_E_UNAVAILABLE: not sent in time, or with tries_once no address could
 *   be connected to; the text says why.
 * - HOOP_E_EXHAUSTED: not sent, because there was no descriptor, port or
 *   memory; the text names the limit.
 * - HOOP_E_UNAUTHENTICATED, at once: the server and this side do not agree on
 *   TLS or the token.
 * - HOOP_E_UNIMPLEMENTED, at once: the server speaks another version.
 * - HOOP_E_CANCELLED.
 *
 * *out_id, which may be NULL, is for rpc_client_cancel().
 * Handle: HOOP_E_EXHAUSTED (LIMIT_RPC_CALLS wait, or the body is too large).
 */
enum hoop_status
rpc_client_call(struct rpc_client *client,
                const struct rpc_call *call,
                uint64_t *out_id);

/* Return whether the connection was lost or could not be made, and nothing has
 * been received since. */
bool
rpc_client_is_disconnected(const struct rpc_client *client);

/* Call fn(owner) on the loop whenever rpc_client_is_disconnected() has changed;
 * it may make calls. NULL: stop. Thread: the loop's, or before it runs. */
void
rpc_client_watch_connection(struct rpc_client *client,
                            void (*fn)(void *owner),
                            void *owner);

/* Say why there is no connection now: the last error, with the address that was
 * tried if it is not the client's, or what is being waited for; "" if nothing
 * is known yet; NULL if there is a connection. Valid until the loop runs. */
const char *
rpc_client_disconnect_reason(const struct rpc_client *client);

/* Further calls are for this job. The coordinator sent its name, so it fits. */
void
rpc_client_set_job(struct rpc_client *client, const char *job);

/* Get the address of this host from which the coordinator was last reached; its
 * port is of no use to others. Returns false if it has not been reached yet. */
bool
rpc_client_local_address(const struct rpc_client *client,
                         struct address *out_address);

/* Answer every waiting call with answer. */
void
rpc_client_finish_all_calls(struct rpc_client *client,
                            const struct rpc_answer *answer);

/* Cancel a call: on_answer will not be called. Unknown ids, and 0, are
 * allowed. */
void
rpc_client_cancel(struct rpc_client *client, uint64_t id);

/*
 * Make a call and wait for its answer; on_answer of the call is ignored. The
 * loop must be running in another thread. Returns the answer's status, with its
 * message as the error text. On HOOP_OK the caller frees *out_body (NULL if
 * empty). Both outputs may be NULL if no body is wanted.
 * Handle: HOOP_E_CANCELLED (also if the program interrupts the thread, see
 * base/interrupt.h: the coordinator may have received the call, whose answer is
 * dropped). Thread: any but the loop's.
 */
enum hoop_status
rpc_client_call_wait(struct rpc_client *client,
                     const struct rpc_call *call,
                     uint8_t **out_body,
                     size_t *out_n_bytes);

#endif
