/*
 * session/world.c - the communicator of all members, and what all others share
 */

#include "session/world.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "tune/hall_forming.h"
#include "tune/tuning.h"

static enum hoop_status
family_init(const struct world_options *options, struct comm_family *family)
{
    const struct registrar_options registrar = {
        .loop = options->loop,
        .client = options->client,
        .roster = options->roster,
        .wait_notice_ms = options->terms->wait_notice_ms,
        .timeout_ms = options->terms->op_timeout_ms,
    };

    *family = (struct comm_family){
        .roster = options->roster,
        .engine = options->engine,
        .tuner = options->tuner,
        /* Nobody sums what goes through a shared region. */
        .modes =
            {
                .shm_negotiation = options->terms->is_summing
                                       ? SHM_MODE_NEVER
                                       : options->terms->shm_negotiation,
                .attaching = options->terms->attaching,
            },
        .timeout_ms = options->terms->op_timeout_ms,
        .forming_timeout_ms = options->terms->op_timeout_ms,
        .on_failure = options->terms->on_failure,
    };
    pthread_mutex_init(&family->lock, NULL);
    TAILQ_INIT(&family->comms);
    return registrar_create(&registrar, &family->registrar);
}

enum hoop_status
world_open(const struct world_options *options, struct world *world)
{
    const struct roster *roster = options->roster;
    CLEANUP(free) uint32_t *ranks = calloc(roster->size, sizeof(*ranks));

    if (!ranks)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for %u ranks",
                           roster->size);
    for (uint32_t rank = 0; rank < roster->size; rank++)
        ranks[rank] = rank;

    const struct channel_options channel = {
        .id = options->id + COMM_ID_FIRST,
        .rank = roster->rank,
        .size = roster->size,
        .ranks = ranks,
        .timeout_ms = options->terms->op_timeout_ms,
    };
    enum hoop_status status = family_init(options, &world->family);
    if (status != HOOP_OK)
        return error_pass(status);
    world->comm.family = &world->family;
    world->comm.is_world = true;
    world->comm.session_timeout_ms = options->terms->op_timeout_ms;
    status = channel_open(options->engine, &channel, &world->comm.channel);
    if (status != HOOP_OK)
        return error_pass(status);
    channel_set_name(world->comm.channel, "world");
    return HOOP_OK;
}

static enum hoop_status
neighbours_connect(const struct world_options *options, uint64_t deadline_ns)
{
    const uint32_t rank = options->roster->rank;
    const uint32_t size = options->roster->size;
    const uint32_t neighbours[] = {(rank + 1) % size, (rank + size - 1) % size};

    for (size_t i = 0; i < COUNT_OF(neighbours) && size > 1; i++) {
        const enum hoop_status status =
            engine_connect(options->engine, neighbours[i], deadline_ns);

        if (status != HOOP_OK)
            return error_pass(status);
    }
    return HOOP_OK;
}

enum hoop_status
world_connect(const struct world_options *options,
              struct world *world,
              uint64_t deadline_ns)
{
    enum hoop_status status = neighbours_connect(options, deadline_ns);

    if (status == HOOP_OK)
        status = hall_form(options->engine, world->comm.channel,
                           options->roster, &world->family.modes, deadline_ns);
    if (status == HOOP_OK)
        status = tuning_agree(options->tuner, world->comm.channel, deadline_ns,
                              &world->comm.tuning);
    if (status != HOOP_OK)
        return error_raise(status, "joined job '%s' as rank %u, but: %s",
                           terms_job_name(options->terms),
                           options->roster->rank, error_text());
    channel_formed(world->comm.channel);
    return HOOP_OK;
}

void
world_close(struct world *world)
{
    if (world->family.engine)
        comms_destroy(&world->family);
    registrar_destroy(STEAL(world->family.registrar));
    tuning_destroy(STEAL(world->comm.tuning));
    free(STEAL(world->comm.accord.failed));
    free(STEAL(world->comm.registration));
    free(STEAL(world->comm.retry.contributors));
    free(STEAL(world->comm.retry.kept));
}
