/* session/world.c - the world communicator, and what all communicators share */

#include "session/world.h"

#include <stdlib.h>

#include "hoop/session.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "engine/engine.h"
#include "select/shm_region_forming.h"
#include "select/tuning.h"
#include "session/comm.h"

static enum hoop_status
comm_domain_init(const struct world_options *options,
                 struct comm_domain *domain)
{
    const struct group_client_options group_client = {
        .loop = options->loop,
        .client = options->client,
        .roster = options->roster,
        .config = options->config,
    };

    *domain = (struct comm_domain){
        .roster = options->roster,
        .engine = options->engine,
        .tuner = options->tuner,
        .config = options->config,
        .forming_timeout_ms = options->config->op_timeout_ms,
    };
    pthread_mutex_init(&domain->lock, NULL);
    TAILQ_INIT(&domain->comms);
    return group_client_create(&group_client, &domain->group_client);
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

    const struct context_options context = {
        .id = options->id + COMM_ID_FIRST,
        .rank = roster->rank,
        .size = roster->size,
        .ranks = ranks,
        .timeout_ms = options->config->op_timeout_ms,
    };
    enum hoop_status status = comm_domain_init(options, &world->domain);
    if (status != HOOP_OK)
        return error_pass(status);
    world->comm.domain = &world->domain;
    world->comm.is_world = true;
    world->comm.session_timeout_ms = options->config->op_timeout_ms;
    status = context_open(options->engine, &context, &world->comm.context);
    if (status != HOOP_OK)
        return error_pass(status);
    context_set_name(world->comm.context, "world");
    return HOOP_OK;
}

static enum hoop_status
ring_neighbours_connect(const struct world_options *options,
                        uint64_t deadline_ns)
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
    enum hoop_status status = ring_neighbours_connect(options, deadline_ns);

    if (status == HOOP_OK)
        status =
            shm_region_negotiate(options->engine, world->comm.context,
                                 options->roster, options->config, deadline_ns);
    if (status == HOOP_OK)
        status = tuning_agree(options->tuner, world->comm.context, deadline_ns,
                              &world->comm.tuning);
    if (status != HOOP_OK)
        return error_raise(status, "joined job '%s' as rank %u, but: %s",
                           config_job_name(options->config),
                           options->roster->rank, error_text());
    context_mark_formed(world->comm.context);
    return HOOP_OK;
}

void
world_close(struct world *world)
{
    if (world->domain.engine)
        comms_destroy(&world->domain);
    group_client_destroy(STEAL(world->domain.group_client));
    tuning_destroy(STEAL(world->comm.tuning));
    free(STEAL(world->comm.agreement.failed));
    free(STEAL(world->comm.group_membership));
    free(STEAL(world->comm.retry.contributors));
    free(STEAL(world->comm.retry.kept));
}
