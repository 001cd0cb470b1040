/*
 * engine/channel.c - the communicators of an engine: expected, open, gone
 *
 * A frame may come before its communicator is open here, and after it has been
 * closed. The first are kept as long as one is being formed; of the last
 * closed ones it is known that they will not come back, and what has been kept
 * for nobody is swept when no more is being formed.
 */

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "engine/closing.h"
#include "engine/residue.h"
#include "engine/state.h"
#include "transport/shm_region.h"

void
channel_expect(struct engine *engine)
{
    pthread_mutex_lock(&engine->gate);
    engine->n_expected++;
    pthread_mutex_unlock(&engine->gate);
}

/* Whatever was kept has found its channel now, or never will. */
static void
strays_end(struct engine *engine, unsigned n_expected)
{
    if (n_expected == 0 && atomic_exchange(&engine->has_strays, false))
        engine_sweep_later(engine);
}

void
channel_give_up(struct engine *engine)
{
    pthread_mutex_lock(&engine->gate);
    engine->n_expected -= engine->n_expected > 0;
    const unsigned n_expected = engine->n_expected;
    pthread_mutex_unlock(&engine->gate);
    strays_end(engine, n_expected);
}

static void
channel_free(struct channel *channel)
{
    pthread_mutex_destroy(&channel->name_lock);
    free(channel->message_next);
    free(channel->ranks);
    free(channel);
}

/* What is sent from now on is numbered from first, to each rank. */
static void
messages_number(struct channel *channel, uint64_t first)
{
    for (uint32_t rank = 0; rank < channel->size; rank++)
        channel->message_next[rank] = first;
}

static struct channel *
channel_create(struct engine *engine, const struct channel_options *options)
{
    struct channel *channel = calloc(1, sizeof(*channel));
    uint32_t *ranks = calloc(options->size, sizeof(*ranks));
    uint64_t *message_next = calloc(options->size, sizeof(*message_next));

    if (!channel || !ranks || !message_next) {
        free(channel);
        free(ranks);
        free(message_next);
        return NULL;
    }
    memcpy(ranks, options->ranks, options->size * sizeof(*ranks));
    channel->engine = engine;
    channel->id = options->id;
    channel->rank = options->rank;
    channel->size = options->size;
    channel->ranks = ranks;
    pthread_mutex_init(&channel->name_lock, NULL);
    atomic_store(&channel->timeout_ms, options->timeout_ms);
    /* Number 0 means none, so that history slots begin empty. */
    atomic_store(&channel->op_next, 1);
    channel->message_next = message_next;
    messages_number(channel, MESSAGES_FORMING + 1);
    channel->begin_next = 1;
    channel->n_unheard = UNHEARD_LOOKS;
    TAILQ_INIT(&channel->residues.list);
    TAILQ_INIT(&channel->flats);
    TAILQ_INIT(&channel->early_verdicts);
    TAILQ_INIT(&channel->farewells);
    TAILQ_INIT(&channel->failed_sends);
    return channel;
}

/* Under the gate. */
static bool
is_open(const struct engine *engine, uint64_t id)
{
    const struct channel *channel;

    TAILQ_FOREACH(channel, &engine->channels, link)
    {
        if (channel->id == id)
            return true;
    }
    return false;
}

/* Frames find their communicator by its id, so that two cannot have the same. */
static enum hoop_status
channel_add(struct engine *engine, struct channel *channel)
{
    pthread_mutex_lock(&engine->gate);
    const bool is_there = is_open(engine, channel->id);
    if (!is_there)
        TAILQ_INSERT_TAIL(&engine->channels, channel, link);
    pthread_mutex_unlock(&engine->gate);
    if (is_there)
        return error_raise(HOOP_E_DATA_LOSS,
                           "a communicator was given the id %" PRIu64
                           ", which another one of this rank has: the "
                           "coordinator gives no id twice, unless it is broken "
                           "or not what it says",
                           channel->id);
    return HOOP_OK;
}

enum hoop_status
channel_open(struct engine *engine,
             const struct channel_options *options,
             struct channel **out_channel)
{
    struct channel *channel = channel_create(engine, options);

    if (!channel) {
        channel_give_up(engine);
        return error_raise(HOOP_E_EXHAUSTED,
                           "no memory for a communicator of %u ranks",
                           options->size);
    }
    const enum hoop_status status = channel_add(engine, channel);
    channel_give_up(engine);
    if (status != HOOP_OK) {
        channel_free(channel);
        return error_pass(status);
    }
    *out_channel = channel;
    return HOOP_OK;
}

void
channel_destroy(struct channel *channel)
{
    struct engine *engine = channel->engine;
    struct early_verdict *early;

    pthread_mutex_lock(&engine->gate);
    TAILQ_REMOVE(&engine->channels, channel, link);
    engine->gone[engine->n_gone++ % COUNT_OF(engine->gone)] = channel->id;
    pthread_mutex_unlock(&engine->gate);
    while ((early = TAILQ_FIRST(&channel->early_verdicts))) {
        TAILQ_REMOVE(&channel->early_verdicts, early, link);
        free(early);
    }
    inquiry_forget(channel);
    shortage_forget(channel);
    residue_clear(channel);
    if (channel->quick)
        op_destroy(channel->quick);
    shm_region_destroy(channel->shm_region);
    channel_free(channel);
}

/* The other members of a collective would wait for this rank's part of it. */
static void
running_end(struct channel *channel)
{
    struct engine *engine = channel->engine;
    char name[ROSTER_NAME_MAX];
    const struct verdict here = verdict_of(HOOP_E_CLOSED, HOOP_NO_RANK,
                                           "the communicator has been freed");
    const struct verdict there = verdict_of(
        HOOP_E_PEER_LOST, engine->roster->rank, "%s has freed the communicator",
        roster_name(engine->roster, engine->roster->rank, name));
    struct op *next;

    for (struct op *op = TAILQ_FIRST(&engine->running); op; op = next) {
        next = TAILQ_NEXT(op, link);
        if (op->channel != channel)
            continue;
        op_fail(op, &here);
        if (!op->is_message)
            verdict_tell(engine, channel, op->number, &there);
    }
}

void
channel_end(struct channel *channel)
{
    struct engine *engine = channel->engine;

    vigil_set(channel, CHANNEL_NOT_WATCHED);
    running_end(channel);
    inquiry_end(channel);
    channel_destroy(channel);
    engine_sweep(engine);
}

void
channel_close(struct channel *channel)
{
    struct engine *engine = channel->engine;
    struct closing closing = {.channel = channel};

    if (!engine->is_orphan)
        engine_close(engine, &closing);
}

/* Under the gate. */
static bool
is_gone(const struct engine *engine, uint64_t id)
{
    for (size_t i = 0; i < COUNT_OF(engine->gone); i++) {
        if (engine->gone[i] == id)
            return true;
    }
    return false;
}

bool
engine_keeps(void *owner, uint64_t id)
{
    struct engine *engine = owner;

    pthread_mutex_lock(&engine->gate);
    const bool is_here = is_open(engine, id);
    const bool is_awaited =
        !is_here && engine->n_expected > 0 && !is_gone(engine, id);
    if (is_awaited)
        atomic_store(&engine->has_strays, true);
    pthread_mutex_unlock(&engine->gate);
    return is_here || is_awaited;
}

void
engine_sweep(struct engine *engine)
{
    transport_sweep(engine->transport, engine_keeps);
}

void
channel_formed(struct channel *channel)
{
    atomic_store(&channel->n_forming, atomic_load(&channel->op_next) - 1);
    pthread_mutex_lock(&channel->engine->gate);
    messages_number(channel, 1);
    pthread_mutex_unlock(&channel->engine->gate);
}

uint64_t
message_number(uint64_t number)
{
    return number > MESSAGES_FORMING ? number - MESSAGES_FORMING : number;
}

uint64_t
channel_call_number(const struct channel *channel, uint64_t number)
{
    const uint64_t n_forming = atomic_load(&channel->n_forming);

    return number > n_forming ? number - n_forming : number;
}

uint64_t
channel_id(const struct channel *channel)
{
    return channel->id;
}

uint32_t
channel_habits(const struct channel *channel)
{
    return channel->engine->options.habits;
}

uint32_t
channel_rank(const struct channel *channel)
{
    return channel->rank;
}

uint32_t
channel_size(const struct channel *channel)
{
    return channel->size;
}

uint32_t
channel_world_rank(const struct channel *channel, uint32_t rank)
{
    assert(rank < channel->size);
    return channel->ranks[rank];
}

void
channel_set_timeout(struct channel *channel, uint32_t timeout_ms)
{
    atomic_store(&channel->timeout_ms, timeout_ms);
}

uint32_t
channel_timeout(const struct channel *channel)
{
    return atomic_load(&channel->timeout_ms);
}

void
channel_set_purpose(struct channel *channel, const char *purpose)
{
    atomic_store(&channel->purpose, purpose);
}

void
channel_set_name(struct channel *channel, const char *name)
{
    pthread_mutex_lock(&channel->name_lock);
    snprintf(channel->name, sizeof(channel->name), "%s", name);
    pthread_mutex_unlock(&channel->name_lock);
}

void
channel_copy_name(struct channel *channel, char out_name[LIMIT_NAME])
{
    pthread_mutex_lock(&channel->name_lock);
    memcpy(out_name, channel->name, LIMIT_NAME);
    pthread_mutex_unlock(&channel->name_lock);
}
