/*
 * engine/context.c - the contexts of an engine: expected, open and closed
 *
 * Frames of a communicator may arrive before its context is open here, and
 * after it has been closed. Early frames are kept while a context is being
 * formed. The ids of the contexts closed last are known not to come back. Kept
 * frames that belong to no context are dropped when no context is being formed
 * any more.
 */

#include "engine/context.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "engine/command_queue.h"
#include "engine/failure/state_query.h"
#include "engine/op_pool.h"
#include "engine/state.h"
#include "engine/wire_loss.h"
#include "transport/shm/region.h"

void
engine_expect_context(struct engine *engine)
{
    pthread_mutex_lock(&engine->lock);
    engine->contexts.n_expected++;
    pthread_mutex_unlock(&engine->lock);
}

/* The frames that were kept have found their context by now, or never will. */
static void
early_frames_drop_stale(struct engine *engine, unsigned n_expected)
{
    if (n_expected == 0 &&
        atomic_exchange(&engine->contexts.has_early_frames, false))
        engine_request_stale_frame_drop(engine);
}

void
engine_unexpect_context(struct engine *engine)
{
    pthread_mutex_lock(&engine->lock);
    engine->contexts.n_expected -= engine->contexts.n_expected > 0;
    const unsigned n_expected = engine->contexts.n_expected;
    pthread_mutex_unlock(&engine->lock);
    early_frames_drop_stale(engine, n_expected);
}

static void
context_free(struct comm_context *context)
{
    pthread_mutex_destroy(&context->name_lock);
    free(context->next_message_number);
    free(context->ranks);
    free(context);
}

/* Number messages to each rank from first. */
static void
message_counters_set(struct comm_context *context, uint64_t first)
{
    for (uint32_t rank = 0; rank < context->size; rank++)
        context->next_message_number[rank] = first;
}

static struct comm_context *
context_create(struct engine *engine, const struct context_options *options)
{
    struct comm_context *context = calloc(1, sizeof(*context));
    uint32_t *ranks = calloc(options->size, sizeof(*ranks));
    uint64_t *next_message_number =
        calloc(options->size, sizeof(*next_message_number));

    if (!context || !ranks || !next_message_number) {
        free(context);
        free(ranks);
        free(next_message_number);
        return NULL;
    }
    memcpy(ranks, options->ranks, options->size * sizeof(*ranks));
    context->engine = engine;
    context->id = options->id;
    context->rank = options->rank;
    context->size = options->size;
    context->ranks = ranks;
    pthread_mutex_init(&context->name_lock, NULL);
    atomic_store(&context->timeout_ms, options->timeout_ms);
    /* Number 0 means none, so that empty history entries match nothing. */
    atomic_store(&context->next_op_number, 1);
    context->next_message_number = next_message_number;
    message_counters_set(context, FIRST_FORMING_MESSAGE_NUMBER + 1);
    context->next_op_number_to_begin = 1;
    context->polls.n = POLLS_AFTER_OP;
    TAILQ_INIT(&context->residuals.list);
    TAILQ_INIT(&context->shm_ops);
    TAILQ_INIT(&context->final_states);
    TAILQ_INIT(&context->failure.pending);
    return context;
}

/* The caller holds the lock. */
static bool
is_context_open(const struct engine *engine, uint64_t id)
{
    const struct comm_context *context;

    TAILQ_FOREACH(context, &engine->contexts.open, link)
    {
        if (context->id == id)
            return true;
    }
    return false;
}

/* Frames find their context by its id, so no two open contexts may share
 * one. */
static enum hoop_status
context_add(struct engine *engine, struct comm_context *context)
{
    pthread_mutex_lock(&engine->lock);
    const bool is_there = is_context_open(engine, context->id);
    if (!is_there)
        TAILQ_INSERT_TAIL(&engine->contexts.open, context, link);
    pthread_mutex_unlock(&engine->lock);
    if (is_there)
        return error_raise(HOOP_E_DATA_LOSS,
                           "a communicator was given the id %" PRIu64
                           ", which another one of this rank has: the "
                           "coordinator gives no id twice, unless it is broken "
                           "or not what it says",
                           context->id);
    return HOOP_OK;
}

enum hoop_status
context_open(struct engine *engine,
             const struct context_options *options,
             struct comm_context **out_context)
{
    struct comm_context *context = context_create(engine, options);

    if (!context) {
        engine_unexpect_context(engine);
        return error_raise(HOOP_E_EXHAUSTED,
                           "no memory for a communicator of %u ranks",
                           options->size);
    }
    const enum hoop_status status = context_add(engine, context);
    engine_unexpect_context(engine);
    if (status != HOOP_OK) {
        context_free(context);
        return error_pass(status);
    }
    /* Without memory for it, no call is executed inline. */
    context->cached_op = op_alloc(context, NULL);
    recorder_comm_opened(
        engine->recorder,
        &(struct recorder_comm_options){.id = options->id - COMM_ID_FIRST,
                                        .rank = options->rank,
                                        .size = options->size,
                                        .ranks = options->ranks});
    *out_context = context;
    return HOOP_OK;
}

void
context_destroy(struct comm_context *context)
{
    struct engine *engine = context->engine;

    pthread_mutex_lock(&engine->lock);
    TAILQ_REMOVE(&engine->contexts.open, context, link);
    engine->contexts.closed_ids[engine->contexts.n_closed_ids++ %
                                COUNT_OF(engine->contexts.closed_ids)] =
        context->id;
    pthread_mutex_unlock(&engine->lock);
    recorder_comm_closed(engine->recorder, context->id - COMM_ID_FIRST);
    state_query_clear_final(context);
    pending_failures_clear(context);
    residuals_clear(context);
    if (context->cached_op)
        op_destroy(context->cached_op);
    shm_region_destroy(context->shm_region);
    context_free(context);
}

/* The caller holds the lock. */
static bool
is_context_closed(const struct engine *engine, uint64_t id)
{
    for (size_t i = 0; i < COUNT_OF(engine->contexts.closed_ids); i++) {
        if (engine->contexts.closed_ids[i] == id)
            return true;
    }
    return false;
}

bool
engine_keeps_frames_of_context(void *owner, uint64_t id)
{
    struct engine *engine = owner;

    pthread_mutex_lock(&engine->lock);
    const bool is_here = is_context_open(engine, id);
    const bool is_awaited = !is_here && engine->contexts.n_expected > 0 &&
                            !is_context_closed(engine, id);
    if (is_awaited)
        atomic_store(&engine->contexts.has_early_frames, true);
    pthread_mutex_unlock(&engine->lock);
    return is_here || is_awaited;
}

void
engine_drop_stale_frames(struct engine *engine)
{
    transport_drop_unwanted_comms(engine->transport,
                                  engine_keeps_frames_of_context);
}

void
context_mark_formed(struct comm_context *context)
{
    atomic_store(&context->n_forming_collectives,
                 atomic_load(&context->next_op_number) - 1);
    recorder_comm_formed(context->engine->recorder, context->id - COMM_ID_FIRST,
                         atomic_load(&context->n_forming_collectives));
    pthread_mutex_lock(&context->engine->lock);
    message_counters_set(context, 1);
    pthread_mutex_unlock(&context->engine->lock);
}

uint64_t
message_user_number(uint64_t number)
{
    return number > FIRST_FORMING_MESSAGE_NUMBER
               ? number - FIRST_FORMING_MESSAGE_NUMBER
               : number;
}

uint64_t
context_user_call_number(const struct comm_context *context, uint64_t number)
{
    const uint64_t n_forming_collectives =
        atomic_load(&context->n_forming_collectives);

    return number > n_forming_collectives ? number - n_forming_collectives
                                          : number;
}

uint64_t
context_id(const struct comm_context *context)
{
    return context->id;
}

uint32_t
context_agreed_settings(const struct comm_context *context)
{
    return context->engine->config->on_failure == COMM_POLICY_RETRY
               ? CALL_SETTING_RETRIES
               : 0;
}

uint32_t
context_rank(const struct comm_context *context)
{
    return context->rank;
}

uint32_t
context_size(const struct comm_context *context)
{
    return context->size;
}

uint32_t
context_world_rank(const struct comm_context *context, uint32_t rank)
{
    assert(rank < context->size);
    return context->ranks[rank];
}

void
context_set_timeout(struct comm_context *context, uint32_t timeout_ms)
{
    atomic_store(&context->timeout_ms, timeout_ms);
}

uint32_t
context_timeout(const struct comm_context *context)
{
    return atomic_load(&context->timeout_ms);
}

void
context_set_wait_purpose(struct comm_context *context, const char *purpose)
{
    atomic_store(&context->purpose, purpose);
}

void
context_set_retries(struct comm_context *context, uint32_t n)
{
    atomic_store(&context->n_retries, n < UINT8_MAX ? (uint8_t)n : UINT8_MAX);
}

void
context_set_name(struct comm_context *context, const char *name)
{
    pthread_mutex_lock(&context->name_lock);
    snprintf(context->name, sizeof(context->name), "%s", name);
    pthread_mutex_unlock(&context->name_lock);
    recorder_comm_named(context->engine->recorder, context->id - COMM_ID_FIRST,
                        name);
}

void
context_copy_name(struct comm_context *context, char out_name[LIMIT_NAME])
{
    pthread_mutex_lock(&context->name_lock);
    memcpy(out_name, context->name, LIMIT_NAME);
    pthread_mutex_unlock(&context->name_lock);
}

void
context_set_shm_region(struct comm_context *context,
                       struct shm_region *shm_region)
{
    /* The progress owner may be looking for departed peers:
     * engine/failure/departure.c. */
    pthread_mutex_lock(&context->engine->lock);
    context->shm_region = shm_region;
    pthread_mutex_unlock(&context->engine->lock);
}

struct plan_shm_region
context_plan_shm_region(const struct comm_context *context)
{
    return (struct plan_shm_region){
        .slot_capacity = context_shm_slot_bytes(context),
        .has_cma =
            context->shm_region && shm_region_has_cma(context->shm_region),
    };
}

size_t
context_shm_slot_bytes(const struct comm_context *context)
{
    return context->shm_region ? shm_region_bytes_per_slot(context->shm_region)
                               : 0;
}
