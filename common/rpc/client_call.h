/*
 * rpc/client_call.h - one call of a client, from its start to its answer
 *
 * A part of rpc_client.c, which owns the lists that calls stand in.
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
    uint64_t grace_ms; /* still to come; 0 once it has begun */
    uint64_t deadline_ns;
    bool is_poll;
    bool tries_once;
    unsigned n_sent; /* times */
    rpc_answer_fn *on_answer;
    void *owner;

    enum hoop_status status; /* of the answer, when finished */
    char *message;           /* NULL: empty */
    uint8_t *answer;
    size_t n_answer;
};

TAILQ_HEAD(client_calls, client_call);

/* The call and its body are copied; id and lists are the caller's. */
enum hoop_status
client_call_create(const struct rpc_call *call, struct client_call **out_call);
/* Of a call that stands in no list. NULL is fine. */
void
client_call_destroy(struct client_call *call);

/* Keeps the answer; without memory for it, one that says so. */
void
client_call_complete(struct client_call *call, const struct rpc_answer *answer);
/* Hands the kept answer to on_answer. */
void
client_call_answer(struct client_call *call);

/* By the id that the frame carries, the lower 31 bits. NULL: none. */
struct client_call *
client_calls_find(const struct client_calls *calls, uint32_t frame_id);
/* Takes it out of the list. NULL: none. */
struct client_call *
client_calls_take(struct client_calls *calls, uint64_t id);

#endif
