/* transport/tcp/encoded_payload.c - the encoded-payload cache of a send request */

#include "transport/tcp/encoded_payload.h"

#include <stdlib.h>
#include <string.h>

#include "base/limits.h"

struct encoded_payload {
    TAILQ_ENTRY(encoded_payload) link;
    uint64_t offset;
    struct encoded encoded;
    uint8_t bytes[];
};

void
encoded_payload_cache_init(struct send_request *flow)
{
    TAILQ_INIT(&flow->encoded_payloads);
    flow->n_encoded = 0;
}

static void
encoded_payload_remove(struct send_request *flow,
                       struct encoded_payload *encoded_payload)
{
    TAILQ_REMOVE(&flow->encoded_payloads, encoded_payload, link);
    flow->n_encoded--;
    free(encoded_payload);
}

void
encoded_payload_clear(struct send_request *flow)
{
    while (flow->n_encoded > 0)
        encoded_payload_remove(flow, TAILQ_FIRST(&flow->encoded_payloads));
}

/* Returns where the last payload ends or, if there is none, where the next
 * frame begins. */
static uint64_t
encoded_payloads_end(const struct send_request *flow)
{
    const struct encoded_payload *last =
        flow->n_encoded > 0
            ? TAILQ_LAST(&flow->encoded_payloads, encoded_payload_list)
            : NULL;

    return last ? last->offset + last->encoded.n_raw : flow->framed;
}

void
encoded_payload_add(struct send_request *flow, const struct encoded *encoded)
{
    const uint64_t offset = (uint64_t)(encoded->raw - flow->bytes);

    /* Payloads come in order; one that does not is dropped. The window does
     * not pay for a payload that became larger by being encoded. */
    if (offset < flow->framed || offset < encoded_payloads_end(flow) ||
        flow->n_encoded == LIMIT_ENCODED_PAYLOADS ||
        encoded->stored.n_bytes > encoded->n_raw)
        return;
    struct encoded_payload *encoded_payload =
        malloc(sizeof(*encoded_payload) + encoded->stored.n_bytes);
    if (!encoded_payload)
        return;
    encoded_payload->offset = offset;
    encoded_payload->encoded = *encoded;
    encoded_payload->encoded.stored.bytes = encoded_payload->bytes;
    memcpy(encoded_payload->bytes, encoded->stored.bytes,
           encoded->stored.n_bytes);
    TAILQ_INSERT_TAIL(&flow->encoded_payloads, encoded_payload, link);
    flow->n_encoded++;
}

/* Returns the first payload that can still be used, or NULL. */
static struct encoded_payload *
encoded_payload_first(const struct send_request *flow)
{
    struct encoded_payload *encoded_payload = NULL;

    if (flow->n_encoded > 0)
        TAILQ_FOREACH(encoded_payload, &flow->encoded_payloads, link)
        {
            if (encoded_payload->offset >= flow->framed)
                break;
        }
    return encoded_payload;
}

uint64_t
encoded_payload_limit(const struct send_request *flow, uint64_t n_bytes)
{
    const struct encoded_payload *encoded_payload = encoded_payload_first(flow);

    if (!encoded_payload)
        return n_bytes;
    const uint64_t n_before = encoded_payload->offset - flow->framed;
    const uint64_t n_first =
        n_before > 0 ? n_before : encoded_payload->encoded.n_raw;
    return n_first < n_bytes ? n_first : n_bytes;
}

const struct encoded *
encoded_payload_next(struct send_request *flow, size_t n_raw)
{
    while (flow->n_encoded > 0 &&
           TAILQ_FIRST(&flow->encoded_payloads)->offset < flow->framed)
        encoded_payload_remove(flow, TAILQ_FIRST(&flow->encoded_payloads));

    const struct encoded_payload *encoded_payload = encoded_payload_first(flow);
    return encoded_payload && encoded_payload->offset == flow->framed &&
                   encoded_payload->encoded.n_raw == n_raw
               ? &encoded_payload->encoded
               : NULL;
}
