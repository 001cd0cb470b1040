/*
 * engine/assembly.c - the flat operations of channels that have a shared region
 *
 * Of each channel only the first may move. Nothing comes by a socket for them:
 * whoever drives looks into the shared regions, and who is about to sleep says so in
 * them, so that the others ring.
 */

#include "base/error.h"
#include "engine/state.h"
#include "net/descriptor.h"
#include "transport/shm_region.h"

struct op *
assembly_first(const struct channel *channel)
{
    return TAILQ_FIRST(&channel->flats);
}

void
assembly_join(struct op *op)
{
    struct channel *channel = op->channel;
    struct engine *engine = op->engine;

    if (!channel->shm_region || (!op->algorithm->is_shm && !op->stages.next))
        return;
    if (TAILQ_EMPTY(&channel->flats))
        TAILQ_INSERT_TAIL(&engine->assembled, channel, assembled_link);
    TAILQ_INSERT_TAIL(&channel->flats, op, flat_link);
    op->is_assembled = true;
}

void
assembly_leave(struct op *op)
{
    struct channel *channel = op->channel;

    if (!op->is_assembled)
        return;
    op->is_assembled = false;
    /* One that ended well has finished its last round. */
    if (assembly_first(channel) == op && op->status != HOOP_OK)
        rounds_abort(op);
    TAILQ_REMOVE(&channel->flats, op, flat_link);
    if (TAILQ_EMPTY(&channel->flats)) {
        TAILQ_REMOVE(&op->engine->assembled, channel, assembled_link);
        shm_region_disarm(channel->shm_region);
        return;
    }
    op_touch(assembly_first(channel));
}

static bool
can_move(const struct channel *channel)
{
    const struct op *op = assembly_first(channel);

    return op->is_shm && op->state == OP_RUNNING && rounds_can_move(op);
}

void
assembly_touch(struct engine *engine)
{
    struct channel *channel;

    TAILQ_FOREACH(channel, &engine->assembled, assembled_link)
    {
        if (can_move(channel))
            op_touch(assembly_first(channel));
    }
}

void
assembly_look(struct engine *engine)
{
    struct channel *channel;

    TAILQ_FOREACH(channel, &engine->assembled, assembled_link)
    {
        shm_region_disarm(channel->shm_region);
    }
    assembly_touch(engine);
}

bool
assembly_rest(struct engine *engine)
{
    struct channel *channel;

    TAILQ_FOREACH(channel, &engine->assembled, assembled_link)
    {
        shm_region_arm(channel->shm_region);
        if (can_move(channel))
            return false;
    }
    return true;
}

void
assembly_forgo(const struct op *op)
{
    struct channel *channel = op->channel;

    if (channel->past.failed_newest <= channel->forgone)
        return;
    channel->forgone = op->number - 1;
    shm_region_skip(channel->shm_region, op->number);
    assembly_wake(channel);
}

void
assembly_wake(const struct channel *channel)
{
    uint64_t sleepers = shm_region_sleepers(channel->shm_region);

    while (sleepers > 0) {
        const unsigned rank = (unsigned)__builtin_ctzll(sleepers);

        sleepers &= sleepers - 1;
        wakeup_signal(
            atomic_load(&channel->engine->bells[channel->ranks[rank]]));
    }
}

enum hoop_status
engine_offer(struct engine *engine, struct cma_address *out_place)
{
    pthread_mutex_lock(&engine->gate);
    const enum hoop_status status = cma_publish(&engine->cma_cookie, out_place);
    pthread_mutex_unlock(&engine->gate);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
engine_bell(const struct engine *engine, struct wakeup_handle *out_place)
{
    return transport_wakeup_handle(engine->transport, out_place);
}

enum hoop_status
engine_reach_bell(struct engine *engine,
                  uint32_t rank,
                  const struct wakeup_handle *place)
{
    int none = -1;
    int fd = -1;

    if (atomic_load(&engine->bells[rank]) >= 0)
        return HOOP_OK;
    const enum hoop_status status = wakeup_import(place, &fd);
    if (status != HOOP_OK)
        return error_pass(status);
    /* In a container of its own it would have another. */
    atomic_store(&engine->pulses[rank].is_seen,
                 place->pid == engine->roster->members[rank].pid);
    /* Another thread may have been faster, for another communicator. */
    if (!atomic_compare_exchange_strong(&engine->bells[rank], &none, fd))
        descriptor_close(fd);
    return HOOP_OK;
}

void
channel_enter(struct channel *channel, struct shm_region *shm_region)
{
    channel->quick = quick_create(channel);
    /* Whoever drives may be looking for who has left: engine/parting.c. */
    pthread_mutex_lock(&channel->engine->gate);
    channel->shm_region = shm_region;
    pthread_mutex_unlock(&channel->engine->gate);
}

struct plan_shm_region
channel_hall(const struct channel *channel)
{
    return (struct plan_shm_region){
        .n_slot = channel_slot_bytes(channel),
        .has_cma =
            channel->shm_region && shm_region_has_cma(channel->shm_region),
    };
}

size_t
channel_slot_bytes(const struct channel *channel)
{
    return channel->shm_region ? shm_region_n_slot(channel->shm_region) : 0;
}
