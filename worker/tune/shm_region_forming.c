/*
 * tune/shm_region_forming.c - creates the shared region of a communicator
 *
 * The ranks run two all-gathers: first of the handles of the shared region and
 * of all wake-up handles, and of the addresses by which others can read a
 * rank's memory; then of how much of that each rank could use.
 */

#include "tune/shm_region_forming.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "plan/algorithms.h"
#include "transport/shm_region.h"

/* What each rank sends first. All ranks are on one host, so they agree on the
 * layout of this struct. */
struct card {
    uint32_t is_willing;
    /* Other ranks may read its memory; attach is the address at which they test
     * that. */
    uint32_t may_read;
    struct cma_address attach;
    struct shared_memory_handle shm_region; /* from rank 0 */
    struct wakeup_handle bell;
};

/* What each rank sends second. A smaller value means that less succeeded. */
enum answer {
    ANSWER_NO,
    ANSWER_HALL,    /* the rank can use the shared region */
    ANSWER_READING, /* and it can read the memory of all other ranks */
};

struct forming {
    struct engine *engine;
    struct comm_context *context;
    const struct shm_region_modes *modes;
    /* NULL: the rank has none, or could not open it. */
    struct shm_region *shm_region;
};

static enum hoop_status
gather(struct comm_context *context, const void *own, void *all, size_t n_bytes)
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
note_failure(const char *what)
{
    log_debug("tune", "%s: %s", what, error_text());
}

static void
card_write(struct forming *forming, struct card *card)
{
    const uint32_t size = context_size(forming->context);

    if (forming->modes->shm_negotiation == SHM_MODE_NEVER)
        return;
    enum hoop_status status =
        engine_wakeup_handle(forming->engine, &card->bell);
    if (status == HOOP_OK && context_rank(forming->context) == 0)
        status = shm_region_create(size, shm_region_default_slot_bytes(size),
                                   &card->shm_region, &forming->shm_region);
    card->is_willing = status == HOOP_OK;
    if (forming->modes->attaching != CMA_NEVER)
        card->may_read = engine_publish_cma_address(forming->engine,
                                                    &card->attach) == HOOP_OK;
    if (status != HOOP_OK)
        note_failure("no hall: nothing to share");
}

static enum hoop_status
bells_reach(const struct forming *forming, const struct card *cards)
{
    const struct comm_context *context = forming->context;

    for (uint32_t i = 0; i < context_size(context); i++) {
        const uint32_t rank = context_world_rank(context, i);

        if (i == context_rank(context))
            continue;
        const enum hoop_status status =
            engine_import_wakeup(forming->engine, rank, &cards[i].bell);
        if (status != HOOP_OK)
            return error_pass(status);
    }
    return HOOP_OK;
}

static bool
are_all_willing(const struct card *cards, uint32_t n_ranks)
{
    for (uint32_t i = 0; i < n_ranks; i++) {
        if (!cards[i].is_willing)
            return false;
    }
    return true;
}

static enum hoop_status
others_attach(struct forming *forming, const struct card *cards)
{
    for (uint32_t i = 0; i < context_size(forming->context); i++) {
        enum hoop_status status = HOOP_OK;

        if (!cards[i].may_read)
            return error_raise(HOOP_E_UNAVAILABLE, "rank %u does not want it",
                               i);
        if (i != context_rank(forming->context))
            status = shm_region_cma_attach(forming->shm_region, i,
                                           cards[i].bell.pid, &cards[i].attach);
        if (status != HOOP_OK)
            return error_pass(status);
    }
    return shm_region_enable_cma(forming->shm_region);
}

/* Returns how much this rank can use. */
static uint8_t
cards_read(struct forming *forming, const struct card *cards)
{
    const uint32_t rank = context_rank(forming->context);
    const uint32_t size = context_size(forming->context);
    enum hoop_status status = HOOP_OK;

    if (!are_all_willing(cards, size))
        return ANSWER_NO;
    if (rank > 0)
        status = shm_region_open(&cards[0].shm_region, rank, size,
                                 &forming->shm_region);
    if (status == HOOP_OK)
        status = bells_reach(forming, cards);
    if (status != HOOP_OK) {
        note_failure("no hall: out of reach");
        return ANSWER_NO;
    }
    if (others_attach(forming, cards) == HOOP_OK)
        return ANSWER_READING;
    note_failure("no reading of others' memory");
    return ANSWER_HALL;
}

static uint8_t
least_of(const uint8_t *answers, uint32_t n_ranks)
{
    uint8_t least = ANSWER_READING;

    for (uint32_t i = 0; i < n_ranks; i++)
        least = answers[i] < least ? answers[i] : least;
    return least;
}

static enum hoop_status
forming_agree(struct forming *forming)
{
    const uint32_t size = context_size(forming->context);
    CLEANUP(free) struct card *cards = calloc(size, sizeof(*cards));
    uint8_t answers[SHM_REGION_RANKS];
    struct card card = {0};

    if (!cards)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for %u ranks", size);
    card_write(forming, &card);
    enum hoop_status status =
        gather(forming->context, &card, cards, sizeof(card));
    if (status != HOOP_OK)
        return error_pass(status);
    const uint8_t own = cards_read(forming, cards);
    status = gather(forming->context, &own, answers, sizeof(own));
    if (status != HOOP_OK)
        return error_pass(status);
    const uint8_t least = least_of(answers, size);
    if (least == ANSWER_NO)
        return HOOP_OK;
    if (least == ANSWER_HALL)
        shm_region_disable_cma(forming->shm_region);
    shm_region_close_fd(forming->shm_region);
    context_set_shm_region(forming->context, STEAL(forming->shm_region));
    return HOOP_OK;
}

enum hoop_status
shm_region_form(struct engine *engine,
                struct comm_context *context,
                const struct roster *roster,
                const struct shm_region_modes *modes,
                uint64_t deadline_ns)
{
    const uint32_t size = context_size(context);
    const uint32_t timeout_ms = context_timeout(context);
    struct forming forming = {engine, context, modes, NULL};

    if (size == 1 || size > SHM_REGION_RANKS ||
        !is_on_one_host(context, roster))
        return HOOP_OK;
    /* The context's own timeout is for the user's calls. */
    if (deadline_ns != CLOCK_NEVER)
        context_set_timeout(context, (uint32_t)clock_left_ms(deadline_ns));
    const enum hoop_status status = forming_agree(&forming);
    context_set_timeout(context, timeout_ms);
    shm_region_destroy(forming.shm_region);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}
