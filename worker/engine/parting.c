/*
 * engine/parting.c - what a rank that leaves writes into its shared regions
 *
 * Ranks that share a shared region need not be connected: nobody says goodbye to them,
 * or answers them afterwards (engine/inquiry.c). So who leaves says so there,
 * too, with what it had called. Whoever cannot connect to it, or takes the end of
 * a connection for its death, looks there first; not who is about to connect: a
 * connection from it may be on its way, with its part in it.
 */

#include <stdio.h>
#include <string.h>

#include "engine/state.h"
#include "transport/sequence.h"
#include "transport/shm_region.h"

static void
board_write(const struct channel *channel)
{
    struct shm_region_departure *board =
        shm_region_departure(channel->shm_region, channel->rank);
    char told[LIMIT_ERROR_TEXT];
    const uint64_t next = channel->begin_next;
    uint64_t number = next > SHM_REGION_CALLS ? next - SHM_REGION_CALLS : 1;
    uint32_t n_calls = 0;

    for (; number < next; number++) {
        const struct past_op *past = past_find(&channel->past, number);

        if (!past || past->has_failed)
            continue;
        board->calls[n_calls++] = (struct shm_region_header){
            .sequence = sequence_of(number, 0, 0),
            .signature = past->signatures[0],
            .count = past->call.count,
            .root = past->call.root,
            .name = (uint8_t)past->call.name,
            .dtype = (uint8_t)past->call.dtype,
            .reduce_op = (uint8_t)past->call.reduce_op,
            .flags = (uint8_t)(past->flags & FRAME_CHECKED),
        };
    }
    board->n_calls = n_calls;
    board->failed_op = channel->failed_op;
    board->failed_status = channel->failed.status;
    board->failed_rank = verdict_pack_rank(channel->failed.rank);
    snprintf(
        board->failed_text, sizeof(board->failed_text), "%s",
        lost_describe_to_others(channel->engine, channel->failed.why, told));
    atomic_store_explicit(&board->has_left, 1, memory_order_release);
}

void
parting_write(struct engine *engine)
{
    const struct channel *channel;

    pthread_mutex_lock(&engine->gate);
    TAILQ_FOREACH(channel, &engine->channels, link)
    {
        if (channel->shm_region)
            board_write(channel);
    }
    pthread_mutex_unlock(&engine->gate);
}

/* Only the driver removes channels: none of these vanishes. */
static struct channel *
channel_after(struct engine *engine, struct channel *channel)
{
    pthread_mutex_lock(&engine->gate);
    struct channel *next =
        channel ? TAILQ_NEXT(channel, link) : TAILQ_FIRST(&engine->channels);
    pthread_mutex_unlock(&engine->gate);
    return next;
}

/* It may just be formed by another thread. */
static const struct shm_region *
hall_of(const struct channel *channel)
{
    pthread_mutex_lock(&channel->engine->gate);
    const struct shm_region *shm_region = channel->shm_region;
    pthread_mutex_unlock(&channel->engine->gate);
    return shm_region;
}

/* What world_rank left in the channel's shared region; NULL: it has not left. */
static const struct shm_region_departure *
board_of(const struct channel *channel, uint32_t world_rank)
{
    const struct shm_region *shm_region = hall_of(channel);
    uint32_t rank = 0;

    while (rank < channel->size && channel->ranks[rank] != world_rank)
        rank++;
    if (!shm_region || rank == channel->size)
        return NULL;
    const struct shm_region_departure *board =
        shm_region_departure(shm_region, rank);
    return atomic_load_explicit(&board->has_left, memory_order_acquire) ? board
                                                                        : NULL;
}

/* Others were told, but only who was connected. */
static void
failure_read(struct channel *channel, const struct shm_region_departure *board)
{
    const struct frame verdict = {.kind = FRAME_VERDICT,
                                  .comm = channel->id,
                                  .op = board->failed_op,
                                  .tag = board->failed_status,
                                  .call.root = board->failed_rank};
    char text[LIMIT_ERROR_TEXT];

    memcpy(text, board->failed_text, sizeof(text));
    text[sizeof(text) - 1] = '\0';
    if (verdict.op > 0)
        verdict_on_op(channel->engine, channel, &verdict, text);
}

static void
board_read(struct channel *channel,
           uint32_t world_rank,
           const struct shm_region_departure *board)
{
    const uint32_t n_calls = board->n_calls;

    for (uint32_t i = 0; i < n_calls && i < SHM_REGION_CALLS; i++) {
        const struct shm_region_header header = board->calls[i];
        struct frame answer = rounds_frame(channel, &header);

        answer.kind = FRAME_HEARTBEAT;
        answer.flags |= FRAME_ENDED;
        inquiry_answered(channel, world_rank, &answer);
    }
    failure_read(channel, board);
}

bool
parting_is_there(struct engine *engine, uint32_t rank)
{
    struct channel *channel = NULL;

    while ((channel = channel_after(engine, channel))) {
        if (board_of(channel, rank))
            return true;
    }
    return false;
}

void
parting_read(struct engine *engine, uint32_t rank)
{
    struct channel *channel = NULL;

    while ((channel = channel_after(engine, channel))) {
        const struct shm_region_departure *board = board_of(channel, rank);

        if (board)
            board_read(channel, rank, board);
    }
}
