/* tests/checker/shm_vrank.c - one rank of a shared-memory checker run, and
 * its slots */

#include "checker/shm_vrank.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "checker/expectation.h"

/* Runs all ranks of a shared-memory plan randomly. */

struct checker_shm_run {
    const struct checker_case *scenario;
    struct shm_vrank *vranks;
    uint64_t random;
    uint64_t move_bytes_max;
    /* Moves only when no other rank can; equal to size if there is none. */
    uint32_t victim;
};

/* Let one rank make some moves, until it must wait. */
static enum hoop_status
checker_shm_run_take_turn(struct checker_shm_run *checker_run,
                          uint32_t rank,
                          bool *out_has_moved)
{
    uint64_t n_moves = 1 + checker_random_below(&checker_run->random, 8);
    bool has_moved = true;

    *out_has_moved = false;
    for (; n_moves > 0 && has_moved; n_moves--) {
        const uint64_t n_bytes =
            1 + checker_random_below(&checker_run->random,
                                     checker_run->move_bytes_max);
        const enum hoop_status status =
            shm_vrank_advance(&checker_run->vranks[rank], n_bytes, &has_moved);

        if (status != HOOP_OK)
            return error_pass(status);
        *out_has_moved |= has_moved;
    }
    return HOOP_OK;
}

/* Let every rank but the victim take a turn, and the victim only if none of
 * them could move. */
static enum hoop_status
checker_shm_run_sweep_ranks(struct checker_shm_run *checker_run,
                            bool *out_has_moved)
{
    const uint32_t size = checker_run->scenario->shape.size;
    enum hoop_status status = HOOP_OK;
    bool has_any = false;

    for (uint32_t i = 0; status == HOOP_OK && i <= size; i++) {
        const uint32_t rank = i < size ? i : checker_run->victim;
        bool has_moved = false;

        if (rank == size || (i < size ? rank == checker_run->victim : has_any))
            continue;
        status = checker_shm_run_take_turn(checker_run, rank, &has_moved);
        has_any |= has_moved;
    }
    *out_has_moved = has_any;
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static enum hoop_status
checker_shm_run_check_done(const struct checker_shm_run *checker_run)
{
    for (uint32_t rank = 0; rank < checker_run->scenario->shape.size; rank++) {
        const struct shm_vrank *vrank = &checker_run->vranks[rank];

        if (!shm_vrank_is_done(vrank))
            return error_raise(HOOP_E_INTERNAL,
                               "deadlock: rank %u waits in round %u", rank,
                               vrank->round);
    }
    return HOOP_OK;
}

static enum hoop_status
checker_shm_run_random_turns(struct checker_shm_run *checker_run)
{
    const uint32_t size = checker_run->scenario->shape.size;
    uint32_t n_in_vain = 0;

    for (;;) {
        const uint32_t rank =
            (uint32_t)checker_random_below(&checker_run->random, size);
        const bool is_sweep = n_in_vain > size;
        bool has_moved = false;
        enum hoop_status status = HOOP_OK;

        if (is_sweep)
            status = checker_shm_run_sweep_ranks(checker_run, &has_moved);
        else if (rank != checker_run->victim)
            status = checker_shm_run_take_turn(checker_run, rank, &has_moved);
        if (status != HOOP_OK)
            return error_pass(status);
        if (is_sweep && !has_moved)
            return checker_shm_run_check_done(checker_run);
        n_in_vain = has_moved ? 0 : n_in_vain + 1;
    }
}

/* Are the outputs of all ranks equal? */
static enum hoop_status
checker_shm_run_compare_outputs(const struct checker_shm_run *checker_run)
{
    const size_t n_bytes =
        expectation_buffer_bytes(checker_run->scenario, 0, PLAN_OUTPUT) *
        sizeof(uint64_t);
    const uint64_t *first = checker_run->vranks[0].memory[PLAN_OUTPUT];

    for (uint32_t rank = 1; rank < checker_run->scenario->shape.size; rank++)
        if (memcmp(first, checker_run->vranks[rank].memory[PLAN_OUTPUT],
                   n_bytes) != 0)
            return error_raise(HOOP_E_INTERNAL,
                               "rank %u has combined otherwise than rank 0; "
                               "look at sides and brackets",
                               rank);
    return HOOP_OK;
}

static enum hoop_status
checker_shm_run_check_results(const struct checker_shm_run *checker_run)
{
    enum hoop_status status = HOOP_OK;

    if (checker_run->scenario->arithmetic == ARITHMETIC_HASH)
        return error_pass(checker_shm_run_compare_outputs(checker_run));
    for (uint32_t rank = 0;
         status == HOOP_OK && rank < checker_run->scenario->shape.size; rank++)
        status = shm_vrank_check_result(&checker_run->vranks[rank]);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static enum hoop_status
checker_shm_run_one_schedule(struct checker_shm_run *checker_run, uint64_t seed)
{
    static const uint64_t moves[] = {1, 3, 16, UINT32_MAX};
    const uint32_t size = checker_run->scenario->shape.size;

    checker_run->random = (seed + 1) * UINT64_C(0x9e3779b97f4a7c15);
    checker_run->move_bytes_max =
        moves[checker_random_below(&checker_run->random, COUNT_OF(moves))];
    checker_run->victim =
        (uint32_t)checker_random_below(&checker_run->random, size + 1);
    for (uint32_t rank = 0; rank < size; rank++)
        shm_vrank_reset(&checker_run->vranks[rank]);

    enum hoop_status status = checker_shm_run_random_turns(checker_run);
    if (status == HOOP_OK)
        status = checker_shm_run_check_results(checker_run);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

/* All ranks must have the same number of rounds. */
static enum hoop_status
checker_shm_run_init(struct checker_shm_run *checker_run)
{
    const uint32_t size = checker_run->scenario->shape.size;

    checker_run->vranks = calloc(size, sizeof(*checker_run->vranks));
    if (!checker_run->vranks)
        return error_raise(HOOP_E_EXHAUSTED, "no memory to rehearse %u ranks",
                           size);
    for (uint32_t rank = 0; rank < size; rank++) {
        struct shm_vrank *vrank = &checker_run->vranks[rank];

        vrank->scenario = checker_run->scenario;
        vrank->vranks = checker_run->vranks;
        const enum hoop_status status = shm_vrank_init(vrank, rank);
        if (status != HOOP_OK)
            return error_pass(status);
        if (vrank->n_rounds != checker_run->vranks[0].n_rounds)
            return error_raise(
                HOOP_E_INTERNAL, "rank %u has %u rounds, rank 0 has %u", rank,
                vrank->n_rounds, checker_run->vranks[0].n_rounds);
    }
    return HOOP_OK;
}

static void
checker_shm_run_deinit(struct checker_shm_run *checker_run)
{
    const uint32_t size = checker_run->scenario->shape.size;

    for (uint32_t rank = 0; checker_run->vranks && rank < size; rank++)
        shm_vrank_deinit(&checker_run->vranks[rank]);
    free(checker_run->vranks);
}

enum hoop_status
checker_shm_run_verify_algorithm(const struct checker_case *scenario)
{
    struct checker_shm_run checker_run = {.scenario = scenario};
    enum hoop_status status = checker_shm_run_init(&checker_run);

    for (uint32_t i = 0; status == HOOP_OK && i < scenario->n_schedules; i++)
        status = checker_shm_run_one_schedule(&checker_run, scenario->seed + i);
    checker_shm_run_deinit(&checker_run);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum {
    ES = CHECKER_ELEMENT_BYTES
};

static bool
is_local_step(const struct plan_step *step)
{
    return step->kind == PLAN_COPY || step->kind == PLAN_COMBINE;
}

static bool
is_fetch_step(const struct plan_step *step)
{
    return step->kind == PLAN_FETCH || step->kind == PLAN_FETCH_REDUCE;
}

/* Does the step give something to other ranks? Such steps come first in a
 * round. */
static bool
is_publishing_step(const struct plan_step *step)
{
    return step->kind == PLAN_POST_TO_SLOT || step->kind == PLAN_EXPOSE;
}

static bool
is_combining_step(const struct plan_step *step)
{
    return step->kind == PLAN_COMBINE || step->kind == PLAN_FETCH_REDUCE;
}

static enum hoop_status
raise_wrong_plan(const struct shm_vrank *vrank, size_t step, const char *what)
{
    return error_raise(HOOP_E_INTERNAL, "rank %u, round %u: step %zu %s",
                       vrank->shape.rank, vrank->round, step, what);
}

static bool
spans_overlap(const struct plan_span *a, const struct plan_span *b)
{
    return a->buffer == b->buffer && a->first < b->first + b->count &&
           b->first < a->first + a->count;
}

static bool
span_is_in_buffer(const struct shm_vrank *vrank, const struct plan_span *span)
{
    const size_t count = expectation_buffer_bytes(
                             vrank->scenario, vrank->shape.rank, span->buffer) /
                         ES;

    return span->first <= count && span->count <= count - span->first;
}

/* Checks the spans of a step that are in this rank's buffers. NULL: they are
 * right. */
static const char *
step_find_span_fault(const struct shm_vrank *vrank,
                     const struct plan_step *step)
{
    if (!is_fetch_step(step) && !span_is_in_buffer(vrank, &step->from))
        return "reads beyond its buffer";
    if (is_publishing_step(step))
        return NULL;
    if (!span_is_in_buffer(vrank, &step->to))
        return "writes beyond its buffer";
    if (step->from.count != step->to.count)
        return "has spans of different sizes";
    if (is_local_step(step) && spans_overlap(&step->from, &step->to))
        return "reads what it writes";
    return NULL;
}

static bool
is_same_span(const struct plan_span *a, const struct plan_span *b)
{
    return a->buffer == b->buffer && a->first == b->first &&
           a->count == b->count;
}

static bool
is_same_step(const struct plan_step *a, const struct plan_step *b)
{
    return a->kind == b->kind && a->peer == b->peer &&
           a->message == b->message && is_same_span(&a->from, &b->from) &&
           is_same_span(&a->to, &b->to);
}

static const char *
step_find_fault(const struct shm_vrank *vrank, size_t number)
{
    const struct plan_step *steps = vrank->plan.steps;
    const struct plan_step *step = &steps[number];

    if (step->kind == PLAN_SEND || step->kind == PLAN_STORE ||
        step->kind == PLAN_REDUCE)
        return "is a message, which no flat plan has";
    if (step->kind == (vrank->scenario->algorithm->is_direct ? PLAN_POST_TO_SLOT
                                                             : PLAN_EXPOSE))
        return "is of the other kind of flat plans";
    if (step->peer >= vrank->shape.size)
        return "names a peer that there is not";
    if (step->message >= PLAN_EXPOSED_MAX)
        return "names what cannot be shown";
    if (is_publishing_step(step) && number > 0 &&
        !is_publishing_step(&steps[number - 1]))
        return "posts behind steps that do not";
    for (size_t i = 0; i < number; i++)
        if (is_same_step(&steps[i], step))
            return "stands there twice";
    return step_find_span_fault(vrank, step);
}

/* Everything that was posted has been fetched. */
static enum hoop_status
slot_check_all_fetched(const struct shm_vrank *vrank,
                       const struct shm_vrank_slot *slot)
{
    for (size_t i = 0; i < slot->n_bytes; i++)
        if (slot->readers[i] == 0)
            return error_raise(HOOP_E_INTERNAL,
                               "rank %u: element %zu that it posted before "
                               "round %u was fetched by nobody",
                               vrank->shape.rank, i / ES, vrank->round);
    return HOOP_OK;
}

static enum hoop_status
vrank_begin_round(struct shm_vrank *vrank)
{
    struct shm_vrank_slot *slot = &vrank->slots[vrank->round % SHM_VRANK_SLOTS];
    const enum hoop_status status = slot_check_all_fetched(vrank, slot);
    size_t n_posted = 0;

    if (status != HOOP_OK)
        return error_pass(status);
    slot->n_bytes = 0;
    memset(slot->n_exposed, 0, sizeof(slot->n_exposed));
    plan_clear(&vrank->plan);
    vrank->scenario->algorithm->plan_round(&vrank->plan, &vrank->shape,
                                           vrank->round);
    vrank->is_planned = true;
    vrank->step = 0;
    vrank->step_bytes = 0;
    for (size_t i = 0; i < vrank->plan.n_steps; i++) {
        const char *fault = step_find_fault(vrank, i);

        if (vrank->plan.steps[i].kind == PLAN_POST_TO_SLOT)
            n_posted += vrank->plan.steps[i].from.count;
        if (!fault && n_posted > vrank->shape.slot_capacity)
            fault = "posts more than the slot holds";
        if (fault)
            return raise_wrong_plan(vrank, i, fault);
    }
    return error_pass(plan_status(&vrank->plan));
}

/* Have all ranks finished reading what this rank posted two rounds ago? They
 * have if they finished that round or published a later one. */
static bool
slot_is_free(const struct shm_vrank *vrank)
{
    if (vrank->round < SHM_VRANK_SLOTS ||
        vrank->scenario->slots == CHECKER_UNWAITED_WRITE)
        return true;

    const uint32_t round = vrank->round - SHM_VRANK_SLOTS;

    for (uint32_t rank = 0; rank < vrank->shape.size; rank++) {
        const struct shm_vrank *other = &vrank->vranks[rank];

        if (other->finished <= round && other->published <= round + 1)
            return false;
    }
    return true;
}

static uint64_t *
span_memory(const struct shm_vrank *vrank, const struct plan_span *span)
{
    const enum plan_buffer buffer =
        span->buffer == PLAN_INPUT && vrank->shape.is_in_place ? PLAN_OUTPUT
                                                               : span->buffer;

    return vrank->memory[buffer] + span->first * ES;
}

static void
combine_value(struct shm_vrank *vrank,
              const struct plan_step *step,
              const uint64_t *from,
              uint64_t *to)
{
    const bool own_is_left = step->side == PLAN_OWN_IS_LEFT_OPERAND;
    const uint64_t sum = arithmetic_combine(vrank->scenario->arithmetic,
                                            own_is_left ? *to : *from,
                                            own_is_left ? *from : *to);

    *to = step->is_final ? expectation_mark_final(sum) : sum;
}

static void
step_write_bytes(struct shm_vrank *vrank,
                 const struct plan_step *step,
                 const uint64_t *from,
                 uint64_t n_bytes)
{
    uint64_t *to = span_memory(vrank, &step->to) + vrank->step_bytes;

    for (uint64_t i = 0; i < n_bytes; i++) {
        if (is_combining_step(step))
            combine_value(vrank, step, from + i, to + i);
        else
            to[i] = from[i];
    }
}

static void
step_post_bytes(struct shm_vrank *vrank,
                const struct plan_step *step,
                uint64_t n_bytes)
{
    struct shm_vrank_slot *slot = &vrank->slots[vrank->round % SHM_VRANK_SLOTS];
    const uint64_t *from = span_memory(vrank, &step->from) + vrank->step_bytes;

    for (uint64_t i = 0; i < n_bytes; i++) {
        slot->bytes[slot->n_bytes] = from[i];
        slot->readers[slot->n_bytes++] = 0;
    }
}

static void
step_expose_span(struct shm_vrank *vrank, const struct plan_step *step)
{
    struct shm_vrank_slot *slot = &vrank->slots[vrank->round % SHM_VRANK_SLOTS];

    slot->exposed[step->message] = span_memory(vrank, &step->from);
    slot->n_exposed[step->message] = step->from.count * ES;
}

static enum hoop_status
step_read_exposed(struct shm_vrank *vrank,
                  const struct plan_step *step,
                  uint64_t n_bytes)
{
    const struct shm_vrank *peer = &vrank->vranks[step->peer];
    const struct shm_vrank_slot *slot =
        &peer->slots[vrank->round % SHM_VRANK_SLOTS];
    const size_t first = step->from.first * ES + vrank->step_bytes;

    if (shm_vrank_is_done(peer))
        return raise_wrong_plan(vrank, vrank->step,
                                "reads of one who has ended");
    if (first + n_bytes > slot->n_exposed[step->message])
        return raise_wrong_plan(vrank, vrank->step, "reads what nobody shows");
    step_write_bytes(vrank, step, slot->exposed[step->message] + first,
                     n_bytes);
    return HOOP_OK;
}

static enum hoop_status
step_fetch_posted(struct shm_vrank *vrank,
                  const struct plan_step *step,
                  uint64_t n_bytes)
{
    struct shm_vrank_slot *slot =
        &vrank->vranks[step->peer].slots[vrank->round % SHM_VRANK_SLOTS];
    const size_t first = step->from.first * ES + vrank->step_bytes;
    const uint64_t bit = UINT64_C(1) << vrank->shape.rank % 64;

    if (first + n_bytes > slot->n_bytes)
        return raise_wrong_plan(vrank, vrank->step,
                                "fetches what nobody posted");
    for (uint64_t i = 0; i < n_bytes; i++) {
        if (slot->readers[first + i] & bit)
            return raise_wrong_plan(vrank, vrank->step,
                                    "fetches something again");
        slot->readers[first + i] |= bit;
    }
    step_write_bytes(vrank, step, slot->bytes + first, n_bytes);
    return HOOP_OK;
}

/* How many bytes of a step to move, in whole elements. */
static uint64_t
step_bytes_to_move(const struct shm_vrank *vrank,
                   const struct plan_step *step,
                   uint64_t n_bytes_max)
{
    const uint64_t n_all = step->from.count * ES - vrank->step_bytes;
    const uint64_t n_most = (n_bytes_max + ES - 1) / ES * ES;

    return n_all < n_most ? n_all : n_most;
}

static bool
peer_has_published(const struct shm_vrank *vrank, uint32_t peer)
{
    return vrank->scenario->slots == CHECKER_UNWAITED_READ ||
           vrank->vranks[peer].published > vrank->round;
}

static enum hoop_status
step_advance(struct shm_vrank *vrank,
             const struct plan_step *step,
             uint64_t n_bytes_max)
{
    const uint64_t n_bytes = step_bytes_to_move(vrank, step, n_bytes_max);
    enum hoop_status status = HOOP_OK;

    if (step->kind == PLAN_POST_TO_SLOT)
        step_post_bytes(vrank, step, n_bytes);
    else if (step->kind == PLAN_EXPOSE)
        step_expose_span(vrank, step);
    else if (is_local_step(step))
        step_write_bytes(vrank, step,
                         span_memory(vrank, &step->from) + vrank->step_bytes,
                         n_bytes);
    else if (vrank->scenario->algorithm->is_direct && n_bytes > 0)
        status = step_read_exposed(vrank, step, n_bytes);
    else
        status = step_fetch_posted(vrank, step, n_bytes);
    if (is_fetch_step(step))
        vrank->has_synced[step->peer] = true;

    vrank->step_bytes += n_bytes;
    if (vrank->step_bytes == step->from.count * ES) {
        vrank->step++;
        vrank->step_bytes = 0;
    }
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static void
vrank_end_round(struct shm_vrank *vrank)
{
    vrank->finished = ++vrank->round;
    vrank->is_planned = false;
}

enum hoop_status
shm_vrank_advance(struct shm_vrank *vrank,
                  uint64_t n_bytes_max,
                  bool *out_has_moved)
{
    enum hoop_status status = HOOP_OK;

    *out_has_moved = false;
    if (shm_vrank_is_done(vrank))
        return HOOP_OK;
    if (!vrank->is_planned) {
        if (!slot_is_free(vrank))
            return HOOP_OK;
        *out_has_moved = true;
        return error_pass(vrank_begin_round(vrank));
    }

    const struct plan_step *step = vrank->step < vrank->plan.n_steps
                                       ? &vrank->plan.steps[vrank->step]
                                       : NULL;

    if (step && is_fetch_step(step) && vrank->published > vrank->round &&
        !peer_has_published(vrank, step->peer))
        return HOOP_OK;
    *out_has_moved = true;
    if (vrank->published == vrank->round &&
        (!step || !is_publishing_step(step)))
        vrank->published++;
    else if (step)
        status = step_advance(vrank, step, n_bytes_max);
    else
        vrank_end_round(vrank);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

bool
shm_vrank_is_done(const struct shm_vrank *vrank)
{
    return vrank->round == vrank->n_rounds;
}

/* A rank that leaves a barrier has waited for all others. */
static enum hoop_status
barrier_check_synced(const struct shm_vrank *vrank)
{
    for (uint32_t rank = 0; rank < vrank->shape.size; rank++)
        if (rank != vrank->shape.rank && !vrank->has_synced[rank])
            return error_raise(HOOP_E_INTERNAL,
                               "rank %u leaves the barrier and has not awaited "
                               "rank %u",
                               vrank->shape.rank, rank);
    return HOOP_OK;
}

enum hoop_status
shm_vrank_check_result(const struct shm_vrank *vrank)
{
    enum hoop_status status = HOOP_OK;

    for (int i = 0; status == HOOP_OK && i < SHM_VRANK_SLOTS; i++)
        status = slot_check_all_fetched(vrank, &vrank->slots[i]);
    if (status != HOOP_OK)
        return error_pass(status);
    if (vrank->scenario->goal == CHECKER_BARRIER)
        return error_pass(barrier_check_synced(vrank));
    for (int buffer = PLAN_INPUT; status == HOOP_OK && buffer < PLAN_SCRATCH;
         buffer++)
        status = expectation_check_content(vrank->scenario, vrank->shape.rank,
                                           (enum plan_buffer)buffer,
                                           vrank->memory[buffer]);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

void
shm_vrank_reset(struct shm_vrank *vrank)
{
    vrank->round = 0;
    vrank->published = 0;
    vrank->finished = 0;
    vrank->is_planned = false;
    memset(vrank->has_synced, 0, vrank->shape.size * sizeof(bool));
    for (int slot = 0; slot < SHM_VRANK_SLOTS; slot++)
        vrank->slots[slot] = (struct shm_vrank_slot){
            .bytes = vrank->slots[slot].bytes,
            .readers = vrank->slots[slot].readers,
        };
    for (int buffer = PLAN_INPUT; buffer < SHM_VRANK_BUFFERS; buffer++)
        expectation_fill_buffer(vrank->scenario, vrank->shape.rank,
                                (enum plan_buffer)buffer,
                                vrank->memory[buffer]);
}

/* One byte more than needed, so that no allocation is empty. */
static uint64_t *
byte_values_create(size_t n_bytes)
{
    return calloc(n_bytes + 1, sizeof(uint64_t));
}

enum hoop_status
shm_vrank_init(struct shm_vrank *vrank, uint32_t rank)
{
    bool has_all = true;

    vrank->shape = expectation_shape_of_rank(vrank->scenario, rank);
    vrank->n_rounds = vrank->scenario->algorithm->n_rounds(&vrank->shape);
    vrank->has_synced = calloc(vrank->shape.size, sizeof(bool));
    for (int i = 0; i < SHM_VRANK_SLOTS; i++) {
        vrank->slots[i].bytes =
            byte_values_create(vrank->shape.slot_capacity * ES);
        vrank->slots[i].readers =
            byte_values_create(vrank->shape.slot_capacity * ES);
        has_all = has_all && vrank->slots[i].bytes && vrank->slots[i].readers;
    }
    for (int buffer = PLAN_INPUT; buffer < SHM_VRANK_BUFFERS; buffer++) {
        vrank->memory[buffer] = byte_values_create(expectation_buffer_bytes(
            vrank->scenario, rank, (enum plan_buffer)buffer));
        has_all = has_all && vrank->memory[buffer];
    }
    if (!vrank->has_synced || !has_all)
        return error_raise(HOOP_E_EXHAUSTED,
                           "no memory for the buffers of rank %u; check a "
                           "smaller case",
                           rank);
    return HOOP_OK;
}

void
shm_vrank_deinit(struct shm_vrank *vrank)
{
    plan_deinit(&vrank->plan);
    free(vrank->has_synced);
    for (int i = 0; i < SHM_VRANK_SLOTS; i++) {
        free(vrank->slots[i].bytes);
        free(vrank->slots[i].readers);
    }
    for (int buffer = PLAN_INPUT; buffer < SHM_VRANK_BUFFERS; buffer++)
        free(vrank->memory[buffer]);
    *vrank = (struct shm_vrank){0};
}
