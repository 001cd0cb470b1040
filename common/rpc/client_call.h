/*
 * rpc/client_call.h - one call of a client, from its start to its answer
 *
 * A part of rpc_client.c, which owns the lists of calls.
 */

#ifndef RPC_CLIENT_CALL_H
#define RPC_CLIENT_CALL_H

#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "hoop/status.h"

#include "base/limits.h"
#include "rpc/rpc_client.h"

struct client_call {
    TAILQ_ENTRY(client_call) link;
    uint64_t id;
    char method[LIMIT_NAME];
    uint8_t *body; /* of the request */
    size_t n_body;
    uint64_t timeout_ms;
    uint64_t grace_ms; /* remaining grace period; 0 once it has begun */
    uint64_t deadline_ns;
    bool is_poll;
    bool tries_once;
    unsigned n_sent; /* how many times the call was sent */
    rpc_answer_fn *on_answer;
    void *owner;

    enum hoop_status status; /* of the answer, once finished */
    char *message;           /* NULL: empty */
    uint8_t *answer;
    size_t n_answer;
};

TAILQ_HEAD(client_calls, client_call);

/* Create a call with a copy of its arguments and body. The caller sets the id
 * and adds it to a list. */
enum hoop_status
client_call_create(const struct rpc_call *call, struct client_call **out_call);
/* The call must not be in a list. NULL is allowed. */
void
client_call_destroy(struct client_call *call);

/* Store the answer. Without memory for it, the stored answer has
 * HOOP_E_EXHAUSTED. */
void
client_call_store_answer(struct client_call *call,
                         const struct rpc_answer *answer);
/* Pass the stored answer to on_answer. */
void
client_call_deliver_answer(struct client_call *call);

/* Find a call by the id in a frame, which is the lower 31 bits of its id. NULL:
 * there is none. */
struct client_call *
client_calls_find(const struct client_calls *calls, uint32_t frame_id);
/* Remove the call with this id from the list and return it. NULL: there is
 * none. */
struct client_call *
client_calls_take(struct client_calls *calls, uint64_t id);

#endif
