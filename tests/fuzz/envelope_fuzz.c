/* tests/fuzz/envelope_fuzz.c - whatever decodes can be sent and comes back */

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "fuzz/fuzz.h"
#include "rpc/envelope.h"

static void
require_within(struct message_span in, struct message_span part)
{
    if (part.n_bytes == 0)
        return;
    fuzz_require(part.bytes >= in.bytes);
    fuzz_require(part.bytes + part.n_bytes <= in.bytes + in.n_bytes);
}

static void
try_request(struct message_span in)
{
    CLEANUP(free) uint8_t *bytes = NULL;
    size_t n_bytes = 0;
    struct envelope_request request;
    struct envelope_request back;

    if (envelope_request_decode(in, &request) != HOOP_OK)
        return;
    require_within(in, request.body);
    if (envelope_request_encode(&request, &bytes, &n_bytes) != HOOP_OK)
        return;
    fuzz_require(envelope_request_decode((struct message_span){bytes, n_bytes},
                                         &back) == HOOP_OK);
    fuzz_require(strcmp(request.method, back.method) == 0);
    fuzz_require(strcmp(request.job, back.job) == 0);
    fuzz_require(request.id == back.id);
    fuzz_require(request.deadline_ms == back.deadline_ms);
    fuzz_require(request.body.n_bytes == back.body.n_bytes);
}

static void
try_reply(struct message_span in)
{
    CLEANUP(free) uint8_t *bytes = NULL;
    size_t n_bytes = 0;
    struct envelope_reply reply;
    struct envelope_reply back;

    if (envelope_reply_decode(in, &reply) != HOOP_OK)
        return;
    require_within(in, reply.body);
    if (envelope_reply_encode(&reply, &bytes, &n_bytes) != HOOP_OK)
        return;
    fuzz_require(envelope_reply_decode((struct message_span){bytes, n_bytes},
                                       &back) == HOOP_OK);
    fuzz_require(reply.id == back.id && reply.status == back.status);
    fuzz_require(strcmp(reply.message, back.message) == 0);
    fuzz_require(reply.body.n_bytes == back.body.n_bytes);
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
    const struct message_span in = {bytes, n_bytes};

    try_request(in);
    try_reply(in);
    return 0;
}
