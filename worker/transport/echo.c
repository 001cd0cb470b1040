/* transport/echo.c - payloads coded once, and sent again as they are */

#include "transport/echo.h"

#include <stdlib.h>
#include <string.h>

#include "base/limits.h"

struct echo {
    TAILQ_ENTRY(echo) link;
    uint64_t offset;
    struct coded coded;
    uint8_t bytes[];
};

void
echo_init(struct outflow *flow)
{
    TAILQ_INIT(&flow->echoes);
    flow->n_echoes = 0;
}

static void
echo_remove(struct outflow *flow, struct echo *echo)
{
    TAILQ_REMOVE(&flow->echoes, echo, link);
    flow->n_echoes--;
    free(echo);
}

void
echo_clear(struct outflow *flow)
{
    while (flow->n_echoes > 0)
        echo_remove(flow, TAILQ_FIRST(&flow->echoes));
}

/* Where the last one ends, or the next frame begins. */
static uint64_t
echoes_end(const struct outflow *flow)
{
    const struct echo *last =
        flow->n_echoes > 0 ? TAILQ_LAST(&flow->echoes, echo_list) : NULL;

    return last ? last->offset + last->coded.n_raw : flow->framed;
}

void
echo_add(struct outflow *flow, const struct coded *coded)
{
    const uint64_t offset = (uint64_t)(coded->raw - flow->bytes);

    /* They come in order; what does not is not worth looking for its place.
     * What others made larger the window would not pay for. */
    if (offset < flow->framed || offset < echoes_end(flow) ||
        flow->n_echoes == LIMIT_ECHOES || coded->stored.n_bytes > coded->n_raw)
        return;
    struct echo *echo = malloc(sizeof(*echo) + coded->stored.n_bytes);
    if (!echo)
        return;
    echo->offset = offset;
    echo->coded = *coded;
    echo->coded.stored.bytes = echo->bytes;
    memcpy(echo->bytes, coded->stored.bytes, coded->stored.n_bytes);
    TAILQ_INSERT_TAIL(&flow->echoes, echo, link);
    flow->n_echoes++;
}

/* The first that can still be used. */
static struct echo *
echo_first(const struct outflow *flow)
{
    struct echo *echo = NULL;

    if (flow->n_echoes > 0)
        TAILQ_FOREACH(echo, &flow->echoes, link)
        {
            if (echo->offset >= flow->framed)
                break;
        }
    return echo;
}

uint64_t
echo_cut(const struct outflow *flow, uint64_t n_bytes)
{
    const struct echo *echo = echo_first(flow);

    if (!echo)
        return n_bytes;
    const uint64_t n_before = echo->offset - flow->framed;
    const uint64_t n_first = n_before > 0 ? n_before : echo->coded.n_raw;
    return n_first < n_bytes ? n_first : n_bytes;
}

const struct coded *
echo_next(struct outflow *flow, size_t n_raw)
{
    while (flow->n_echoes > 0 &&
           TAILQ_FIRST(&flow->echoes)->offset < flow->framed)
        echo_remove(flow, TAILQ_FIRST(&flow->echoes));

    const struct echo *echo = echo_first(flow);
    return echo && echo->offset == flow->framed && echo->coded.n_raw == n_raw
               ? &echo->coded
               : NULL;
}
