/*
 * select/shm_region_forming.c - creates the shared region of a communicator
 *
 * The ranks run two all-gathers: first of the handles of the shared region and
 * of all wake-up handles, and of the addresses by which others can read a
 * rank's memory; then of how much of that each rank could use.
 */

#include "select/shm_region_forming.h"

#include <stdlib.h>
#include <string.h>

#include "algorithms/algorithms.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "transport/shm/region.h"

/* What each rank sends first. All ranks are on one host, so they agree on the
 * layout of this struct. */
struct shm_offer {
    uint32_t shm_is_usable;
    /* Other ranks may read its memory; attach is the address at which they test
     * that. */
    uint32_t can_read_by_cma;
    struct cma_address attach;
    struct shared_memory_handle shm_region; /* from rank 0 */
    struct wakeup_handle wakeup;
};

/* What each rank sends second. A smaller value means that less succeeded. */
enum shm_capability {
    SHM_CAPABILITY_NONE,
    SHM_CAPABILITY_REGION, /* the rank can use the shared region */
    SHM_CAPABILITY_CMA,    /* and it can read the memory of all other ranks */
};

struct shm_region_setup {
    struct engine *engine;
    struct comm_context *context;
    const struct config *config;
    /* NULL: the rank has none, or could not open it. */
    struct shm_region *shm_region;
};

static enum hoop_status
allgather_bytes(struct comm_context *context,
                const void *own,
                void *all,
                size_t n_bytes)
{
    const struct engine_collective request = {
        .call = {.name = CALL_AGREE,
                 .dtype = HOOP_UINT8,
                 .root = context_agreed_settings(context),
                 .count = n_bytes},
        /* The connections of the ring exist already. */
        .algorithm = &algorithm_allgather_ring,
        .shape =
            {
                .rank = context_rank(context),
                .size = context_size(context),
                .count = n_bytes,
                .granule = 1,
            },
        .input = own,
        .output = all,
        .mode = ENGINE_START_AND_WAIT,
    };
    struct op *op = NULL;

    enum hoop_status status = engine_start_collective(context, &request, &op);
    if (status == HOOP_OK)
        status = engine_wait(op, CLOCK_NEVER);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static bool
is_on_one_host(const struct comm_context *context, const struct roster *roster)
{
    for (uint32_t i = 0; i < context_size(context); i++) {
        if (!roster_is_same_node(roster, context_world_rank(context, i)))
            return false;
    }
    return true;
}

static void
log_shm_failure(const char *what)
{
    log_debug("tune", "%s: %s", what, error_text());
}

static void
shm_offer_fill(struct shm_region_setup *shm_region_setup,
               struct shm_offer *shm_offer)
{
    const struct config *config = shm_region_setup->config;
    const uint32_t size = context_size(shm_region_setup->context);

    /* The data in a shared region have no checksums. */
    if (config->shm_negotiation == SHM_MODE_NEVER ||
        config->has_frame_checksums)
        return;
    enum hoop_status status =
        engine_wakeup_handle(shm_region_setup->engine, &shm_offer->wakeup);
    if (status == HOOP_OK && context_rank(shm_region_setup->context) == 0)
        status = shm_region_create(size, plan_shm_region_slot_bytes(size),
                                   &shm_offer->shm_region,
                                   &shm_region_setup->shm_region);
    shm_offer->shm_is_usable = status == HOOP_OK;
    if (config->attaching != CMA_NEVER)
        shm_offer->can_read_by_cma =
            engine_publish_cma_address(shm_region_setup->engine,
                                       &shm_offer->attach) == HOOP_OK;
    if (status != HOOP_OK)
        log_shm_failure("no shared region: nothing to share");
}

static enum hoop_status
peer_wakeup_handles_open(const struct shm_region_setup *shm_region_setup,
                         const struct shm_offer *shm_offers)
{
    const struct comm_context *context = shm_region_setup->context;

    for (uint32_t i = 0; i < context_size(context); i++) {
        const uint32_t rank = context_world_rank(context, i);

        if (i == context_rank(context))
            continue;
        const enum hoop_status status = engine_import_wakeup(
            shm_region_setup->engine, rank, &shm_offers[i].wakeup);
        if (status != HOOP_OK)
            return error_pass(status);
    }
    return HOOP_OK;
}

static bool
have_all_ranks_offered(const struct shm_offer *shm_offers, uint32_t n_ranks)
{
    for (uint32_t i = 0; i < n_ranks; i++) {
        if (!shm_offers[i].shm_is_usable)
            return false;
    }
    return true;
}

static enum hoop_status
cma_attach_others(struct shm_region_setup *shm_region_setup,
                  const struct shm_offer *shm_offers)
{
    for (uint32_t i = 0; i < context_size(shm_region_setup->context); i++) {
        enum hoop_status status = HOOP_OK;

        if (!shm_offers[i].can_read_by_cma)
            return error_raise(HOOP_E_UNAVAILABLE, "rank %u does not want it",
                               i);
        if (i != context_rank(shm_region_setup->context))
            status = shm_region_cma_attach(shm_region_setup->shm_region, i,
                                           shm_offers[i].wakeup.pid,
                                           &shm_offers[i].attach);
        if (status != HOOP_OK)
            return error_pass(status);
    }
    return shm_region_enable_cma(shm_region_setup->shm_region);
}

/* Returns how much this rank can use. */
static uint8_t
shm_offers_accept(struct shm_region_setup *shm_region_setup,
                  const struct shm_offer *shm_offers)
{
    const uint32_t rank = context_rank(shm_region_setup->context);
    const uint32_t size = context_size(shm_region_setup->context);
    enum hoop_status status = HOOP_OK;

    if (!have_all_ranks_offered(shm_offers, size))
        return SHM_CAPABILITY_NONE;
    if (rank > 0)
        status = shm_region_open(&shm_offers[0].shm_region, rank, size,
                                 &shm_region_setup->shm_region);
    if (status == HOOP_OK)
        status = peer_wakeup_handles_open(shm_region_setup, shm_offers);
    if (status != HOOP_OK) {
        log_shm_failure("no shared region: out of reach");
        return SHM_CAPABILITY_NONE;
    }
    if (cma_attach_others(shm_region_setup, shm_offers) == HOOP_OK)
        return SHM_CAPABILITY_CMA;
    log_shm_failure("no reading of others' memory");
    return SHM_CAPABILITY_REGION;
}

static uint8_t
shm_capability_minimum(const uint8_t *answers, uint32_t n_ranks)
{
    uint8_t least = SHM_CAPABILITY_CMA;

    for (uint32_t i = 0; i < n_ranks; i++)
        least = answers[i] < least ? answers[i] : least;
    return least;
}

static enum hoop_status
region_setup_agree(struct shm_region_setup *shm_region_setup)
{
    const uint32_t size = context_size(shm_region_setup->context);
    CLEANUP(free)
    struct shm_offer *shm_offers = calloc(size, sizeof(*shm_offers));
    uint8_t answers[LIMIT_SHM_REGION_RANKS];
    struct shm_offer shm_offer = {0};

    if (!shm_offers)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for %u ranks", size);
    shm_offer_fill(shm_region_setup, &shm_offer);
    enum hoop_status status = allgather_bytes(
        shm_region_setup->context, &shm_offer, shm_offers, sizeof(shm_offer));
    if (status != HOOP_OK)
        return error_pass(status);
    const uint8_t own = shm_offers_accept(shm_region_setup, shm_offers);
    status =
        allgather_bytes(shm_region_setup->context, &own, answers, sizeof(own));
    if (status != HOOP_OK)
        return error_pass(status);
    const uint8_t least = shm_capability_minimum(answers, size);
    if (least == SHM_CAPABILITY_NONE)
        return HOOP_OK;
    if (least == SHM_CAPABILITY_REGION)
        shm_region_disable_cma(shm_region_setup->shm_region);
    shm_region_close_fd(shm_region_setup->shm_region);
    context_set_shm_region(shm_region_setup->context,
                           STEAL(shm_region_setup->shm_region));
    return HOOP_OK;
}

enum hoop_status
shm_region_negotiate(struct engine *engine,
                     struct comm_context *context,
                     const struct roster *roster,
                     const struct config *config,
                     uint64_t deadline_ns)
{
    const uint32_t size = context_size(context);
    const uint32_t timeout_ms = context_timeout(context);
    struct shm_region_setup shm_region_setup = {engine, context, config, NULL};

    if (size == 1 || size > LIMIT_SHM_REGION_RANKS ||
        !is_on_one_host(context, roster))
        return HOOP_OK;
    /* The context's own timeout is for the user's calls. */
    if (deadline_ns != CLOCK_NEVER)
        context_set_timeout(context, (uint32_t)clock_left_ms(deadline_ns));
    const enum hoop_status status = region_setup_agree(&shm_region_setup);
    context_set_timeout(context, timeout_ms);
    shm_region_destroy(shm_region_setup.shm_region);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}
