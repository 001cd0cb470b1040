/* tests/checker/checker.c - proves an algorithm correct for one shape, in
 * one process */

#include "checker/checker.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "checker/expectation.h"
#include "checker/shm_vrank.h"
#include "checker/vrank.h"

/* Runs all ranks of a collective in random order. */

/* Which steps of the chosen rank a turn tries to move. */
enum turn_step_selection {
    TURN_SOME, /* a random selection */
    TURN_ALL,
};

/* A turn of TURN_SOME ends after so many steps that could not move. Those that
 * can move are mostly among the oldest. */
enum {
    TURN_MISSES_MAX = 3
};

/* In large cases more than single bytes move at once, so that a schedule takes
 * about so many moves. */
enum {
    CHECKER_RUN_MOVES = 4000
};

struct checker_run {
    const struct checker_case *scenario;
    struct checker_messages *checker_messages;
    struct vrank *vranks;
    uint64_t *bytes; /* the contents of all messages */
    uint64_t n_bytes;
    /* The state of the schedule. */
    uint64_t random;
    uint64_t socket_buffer_bytes;
    uint64_t move_bytes_max;
    /* Moves only when no other rank can; equal to size if there is none. */
    uint32_t victim;
};

uint64_t
checker_random_below(uint64_t *state, uint64_t bound)
{
    uint64_t x = *state;

    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    *state = x;
    return (x >> 16) % bound;
}

/* One turn in eight tries the newest steps first. */
static struct tracked_step *
turn_first_step(struct vrank *vrank, uint64_t draw)
{
    struct tracked_step_list *active = &vrank->tracker.active;

    return draw % 8 == 0 ? TAILQ_LAST(active, tracked_step_list)
                         : TAILQ_FIRST(active);
}

static struct tracked_step *
turn_next_step(struct tracked_step *tracked_step, uint64_t draw)
{
    return draw % 8 == 0 ? TAILQ_PREV(tracked_step, tracked_step_list, link)
                         : TAILQ_NEXT(tracked_step, link);
}

static enum hoop_status
vrank_take_turn(struct checker_run *checker_run,
                struct vrank *vrank,
                enum turn_step_selection style,
                uint64_t *out_moved)
{
    const uint64_t draw =
        checker_random_below(&checker_run->random, UINT64_C(1) << 40);
    const struct vrank_move_limits limits = {
        .move_bytes_max = 1 + checker_random_below(&checker_run->random,
                                                   checker_run->move_bytes_max),
        .socket_buffer_bytes = checker_run->socket_buffer_bytes,
    };
    uint64_t skips = style == TURN_SOME ? draw >> 3 : 0;
    uint32_t n_in_vain = 0;
    uint64_t moved = 0;
    const enum hoop_status status = vrank_activate_steps(vrank);
    struct tracked_step *tracked_step = turn_first_step(vrank, draw);

    if (status != HOOP_OK)
        return error_pass(status);
    while (tracked_step && (style == TURN_ALL || n_in_vain < TURN_MISSES_MAX)) {
        struct tracked_step *const next = turn_next_step(tracked_step, draw);
        const uint64_t n =
            skips & 1 ? 0 : vrank_advance_step(vrank, tracked_step, &limits);

        n_in_vain += n > 0 ? 0 : 1;
        moved += n;
        skips >>= 1;
        tracked_step = next;
    }
    *out_moved = moved;
    return HOOP_OK;
}

/* Let every rank but the victim move, and the victim only if none of them
 * could. */
static enum hoop_status
checker_run_sweep_ranks(struct checker_run *checker_run, uint64_t *out_moved)
{
    const uint32_t size = checker_run->scenario->shape.size;
    uint64_t moved = 0;

    for (uint32_t i = 0; i <= size; i++) {
        const uint32_t rank = i < size ? i : checker_run->victim;
        const bool is_victim = rank == checker_run->victim;
        uint64_t n = 0;

        if (rank == size || (i < size ? is_victim : moved > 0))
            continue;
        const enum hoop_status status = vrank_take_turn(
            checker_run, &checker_run->vranks[rank], TURN_ALL, &n);
        if (status != HOOP_OK)
            return error_pass(status);
        moved += n;
    }
    *out_moved = moved;
    return HOOP_OK;
}

static bool
checker_run_is_done(const struct checker_run *checker_run)
{
    for (uint32_t rank = 0; rank < checker_run->scenario->shape.size; rank++) {
        if (!tracker_is_done(&checker_run->vranks[rank].tracker))
            return false;
    }
    return true;
}

static enum hoop_status
checker_run_raise_deadlock(const struct checker_run *checker_run)
{
    uint32_t rank = 0;

    while (tracker_is_done(&checker_run->vranks[rank].tracker))
        rank++;

    const struct tracker *tracker = &checker_run->vranks[rank].tracker;
    const struct tracked_step *tracked_step = TAILQ_FIRST(&tracker->active);

    return error_raise(
        HOOP_E_INTERNAL,
        "deadlock with socket buffers of %llu bytes: rank %u "
        "waits in round %u",
        (unsigned long long)checker_run->socket_buffer_bytes, rank,
        tracked_step ? tracked_step->round : tracker->round_next);
}

static enum hoop_status
checker_run_random_turns(struct checker_run *checker_run)
{
    const uint32_t size = checker_run->scenario->shape.size;
    uint32_t n_in_vain = 0;

    for (;;) {
        const uint32_t rank =
            (uint32_t)checker_random_below(&checker_run->random, size);
        uint64_t moved = 0;
        enum hoop_status status = HOOP_OK;

        if (n_in_vain <= size && rank != checker_run->victim) {
            status = vrank_take_turn(checker_run, &checker_run->vranks[rank],
                                     TURN_SOME, &moved);
        } else if (n_in_vain > size) {
            status = checker_run_sweep_ranks(checker_run, &moved);
            if (status == HOOP_OK && moved == 0)
                return checker_run_is_done(checker_run)
                           ? HOOP_OK
                           : checker_run_raise_deadlock(checker_run);
        }
        if (status != HOOP_OK)
            return error_pass(status);
        n_in_vain = moved > 0 ? 0 : n_in_vain + 1;
    }
}

static void
checker_run_reset(struct checker_run *checker_run)
{
    struct checker_message_list *sends = &checker_run->checker_messages->sends;
    uint64_t *bytes = checker_run->bytes;

    for (size_t i = 0; i < sends->n_messages; i++) {
        struct checker_message *message = &sends->messages[i];

        message->n_sent = 0;
        message->n_taken = 0;
        message->sender = NULL;
        message->receiver = NULL;
        message->bytes = bytes;
        bytes += message->n_bytes;
    }
    for (uint32_t rank = 0; rank < checker_run->scenario->shape.size; rank++)
        vrank_reset(&checker_run->vranks[rank]);
}

/* Are the outputs of all ranks equal? */
static enum hoop_status
checker_run_compare_outputs(const struct checker_run *checker_run)
{
    const struct checker_case *scenario = checker_run->scenario;
    const size_t n_bytes = expectation_buffer_bytes(scenario, 0, PLAN_OUTPUT);
    const uint64_t *first = checker_run->vranks[0].memory[PLAN_OUTPUT];

    for (uint32_t rank = 1; rank < scenario->shape.size; rank++) {
        const uint64_t *other = checker_run->vranks[rank].memory[PLAN_OUTPUT];

        assert(expectation_buffer_bytes(scenario, rank, PLAN_OUTPUT) ==
               n_bytes);
        if (n_bytes > 0 && memcmp(first, other, n_bytes * sizeof(*first)) != 0)
            return error_raise(HOOP_E_INTERNAL,
                               "rank %u has combined otherwise than rank 0; "
                               "look at sides and brackets",
                               rank);
    }
    return HOOP_OK;
}

static enum hoop_status
checker_run_check_results(const struct checker_run *checker_run)
{
    if (checker_run->scenario->arithmetic == ARITHMETIC_HASH)
        return checker_run_compare_outputs(checker_run);
    for (uint32_t rank = 0; rank < checker_run->scenario->shape.size; rank++) {
        const enum hoop_status status =
            vrank_check_result(&checker_run->vranks[rank]);

        if (status != HOOP_OK)
            return error_pass(status);
    }
    return HOOP_OK;
}

enum hoop_status
checker_run_one_schedule(struct checker_run *checker_run,
                         uint64_t socket_buffer_bytes,
                         uint64_t seed)
{
    static const uint64_t moves[] = {1, 3, 16, UINT32_MAX};
    enum hoop_status status;

    checker_run->random = (seed + 1) * UINT64_C(0x9e3779b97f4a7c15);
    checker_run->socket_buffer_bytes = socket_buffer_bytes;
    checker_run->move_bytes_max =
        moves[checker_random_below(&checker_run->random, COUNT_OF(moves))] +
        2 * checker_run->n_bytes / CHECKER_RUN_MOVES;
    checker_run->victim = (uint32_t)checker_random_below(
        &checker_run->random, checker_run->scenario->shape.size + 1);
    checker_run_reset(checker_run);

    status = checker_run_random_turns(checker_run);
    if (status == HOOP_OK)
        status = checker_run_check_results(checker_run);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
checker_run_create(const struct checker_case *scenario,
                   struct checker_messages *checker_messages,
                   struct checker_run **out_run)
{
    CLEANUP(checker_run_destroy)
    struct checker_run *checker_run = calloc(1, sizeof(*checker_run));
    uint64_t n_bytes = 1;

    for (size_t i = 0; i < checker_messages->sends.n_messages; i++)
        n_bytes += checker_messages->sends.messages[i].n_bytes;
    if (checker_run) {
        checker_run->scenario = scenario;
        checker_run->checker_messages = checker_messages;
        checker_run->vranks =
            calloc(scenario->shape.size, sizeof(struct vrank));
        checker_run->bytes = calloc(n_bytes, sizeof(uint64_t));
        checker_run->n_bytes = n_bytes;
    }
    if (!checker_run || !checker_run->vranks || !checker_run->bytes)
        return error_raise(HOOP_E_EXHAUSTED,
                           "no memory to rehearse %u ranks; check a smaller "
                           "case",
                           scenario->shape.size);

    for (uint32_t rank = 0; rank < scenario->shape.size; rank++) {
        struct vrank *vrank = &checker_run->vranks[rank];

        vrank->scenario = scenario;
        vrank->checker_messages = checker_messages;
        vrank->vranks = checker_run->vranks;
        vrank->rank = rank;
        const enum hoop_status status = vrank_init(vrank);
        if (status != HOOP_OK)
            return error_pass(status);
    }
    *out_run = STEAL(checker_run);
    return HOOP_OK;
}

void
checker_run_destroy(struct checker_run *checker_run)
{
    if (!checker_run)
        return;
    for (uint32_t rank = 0;
         checker_run->vranks && rank < checker_run->scenario->shape.size;
         rank++)
        vrank_deinit(&checker_run->vranks[rank]);
    free(checker_run->vranks);
    free(checker_run->bytes);
    free(checker_run);
}

/* Checks all messages and steps of a collective. */

enum {
    CHECKER_MESSAGES_CAPACITY_MIN = 64
};

static int
message_compare(const void *left, const void *right)
{
    const struct checker_message *a = left;
    const struct checker_message *b = right;

    if (a->source != b->source)
        return a->source < b->source ? -1 : 1;
    if (a->target != b->target)
        return a->target < b->target ? -1 : 1;
    if (a->number != b->number)
        return a->number < b->number ? -1 : 1;
    return 0;
}

static enum hoop_status
checker_message_list_add(struct checker_message_list *list,
                         const struct checker_message *message)
{
    if (list->n_messages == list->capacity) {
        const size_t capacity =
            list->capacity ? 2 * list->capacity : CHECKER_MESSAGES_CAPACITY_MIN;
        struct checker_message *messages =
            reallocarray(list->messages, capacity, sizeof(*messages));

        if (!messages)
            return error_raise(HOOP_E_EXHAUSTED,
                               "no memory to check %zu messages; check a "
                               "smaller case",
                               capacity);
        list->messages = messages;
        list->capacity = capacity;
    }
    list->messages[list->n_messages++] = *message;
    return HOOP_OK;
}

static bool
step_sends(const struct plan_step *step)
{
    return step->kind == PLAN_SEND;
}

static bool
step_receives(const struct plan_step *step)
{
    return step->kind == PLAN_STORE || step->kind == PLAN_REDUCE;
}

static struct checker_message
message_of_step(uint32_t rank, const struct plan_step *step)
{
    const bool sends = step_sends(step);

    return (struct checker_message){
        .source = sends ? rank : step->peer,
        .target = sends ? step->peer : rank,
        .number = step->message,
        .n_bytes =
            (sends ? step->from.count : step->to.count) * CHECKER_ELEMENT_BYTES,
    };
}

static enum hoop_status
checker_messages_add_step(struct checker_messages *checker_messages,
                          uint32_t rank,
                          const struct plan_step *step)
{
    const struct checker_message message = message_of_step(rank, step);
    enum hoop_status status = HOOP_OK;

    if (step_sends(step))
        status = checker_message_list_add(&checker_messages->sends, &message);
    if (step_receives(step))
        status =
            checker_message_list_add(&checker_messages->receives, &message);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static const struct plan_span nothing;

static const struct plan_span *
step_read_span(const struct plan_step *step)
{
    return step->kind == PLAN_STORE ? &nothing : &step->from;
}

static const struct plan_span *
step_written_span(const struct plan_step *step)
{
    return step->kind == PLAN_SEND ? &nothing : &step->to;
}

static bool
spans_overlap(const struct plan_span *a, const struct plan_span *b)
{
    return a->count > 0 && b->count > 0 && a->buffer == b->buffer &&
           a->first < b->first + b->count && b->first < a->first + a->count;
}

static bool
steps_conflict(const struct plan_step *a, const struct plan_step *b)
{
    return spans_overlap(step_written_span(a), step_written_span(b)) ||
           spans_overlap(step_written_span(a), step_read_span(b)) ||
           spans_overlap(step_read_span(a), step_written_span(b));
}

static bool
span_is_in_buffer(const struct checker_case *scenario,
                  uint32_t rank,
                  const struct plan_span *span)
{
    const size_t n_bytes =
        expectation_buffer_bytes(scenario, rank, span->buffer);
    const size_t count = n_bytes / CHECKER_ELEMENT_BYTES;

    return span->count == 0 ||
           (span->first < count && span->count <= count - span->first);
}

/* Do from and to have one size, and no partial overlap? A step may read and
 * write the same span only if it is a REDUCE. */
static bool
step_spans_are_valid(const struct plan_step *step)
{
    const struct plan_span *from = step_read_span(step);
    const struct plan_span *to = step_written_span(step);

    if (from == &nothing || to == &nothing)
        return from->count + to->count > 0;
    if (from->count != to->count || from->count == 0)
        return false;
    if (step->kind != PLAN_REDUCE)
        return !spans_overlap(from, to);
    return from->first == to->first || !spans_overlap(from, to);
}

static enum hoop_status
plan_step_check(const struct checker_case *scenario,
                uint32_t rank,
                const struct plan_step *step)
{
    const bool is_local = step->kind == PLAN_COPY || step->kind == PLAN_COMBINE;

    if (!is_local && !step_sends(step) && !step_receives(step))
        return error_raise(
            HOOP_E_INTERNAL,
            "rank %u: a step names a slot, which only flat plans "
            "do",
            rank);
    if (!is_local && (step->peer >= scenario->shape.size || step->peer == rank))
        return error_raise(HOOP_E_INTERNAL,
                           "rank %u: message %u goes to or comes from rank %u, "
                           "which is no peer",
                           rank, step->message, step->peer);
    if (!step_spans_are_valid(step))
        return error_raise(HOOP_E_INTERNAL,
                           "rank %u: the spans of a step (message %u) half "
                           "overlap, differ in size or are empty",
                           rank, step->message);
    if (!span_is_in_buffer(scenario, rank, step_read_span(step)) ||
        !span_is_in_buffer(scenario, rank, step_written_span(step)))
        return error_raise(HOOP_E_INTERNAL,
                           "rank %u: a span of a step (message %u) leaves its "
                           "buffer",
                           rank, step->message);
    return HOOP_OK;
}

static enum hoop_status
round_check_conflicts(const struct plan *plan, uint32_t rank, uint32_t round)
{
    for (size_t i = 0; i < plan->n_steps; i++) {
        for (size_t j = 0; j < i; j++) {
            if (steps_conflict(&plan->steps[i], &plan->steps[j]))
                return error_raise(HOOP_E_INTERNAL,
                                   "rank %u: steps %zu and %zu of round %u "
                                   "touch the same elements; move one to "
                                   "another round",
                                   rank, j, i, round);
        }
    }
    return HOOP_OK;
}

static enum hoop_status
checker_messages_add_round(struct checker_messages *checker_messages,
                           const struct checker_case *scenario,
                           uint32_t rank,
                           uint32_t round)
{
    const struct plan_shape shape = expectation_shape_of_rank(scenario, rank);
    struct plan *plan = &checker_messages->plan;
    enum hoop_status status;

    plan_clear(plan);
    algorithm_plan_round(scenario->algorithm, plan, &shape, round);
    status = plan_status(plan);

    for (size_t i = 0; i < plan->n_steps && status == HOOP_OK; i++) {
        status = plan_step_check(scenario, rank, &plan->steps[i]);
        if (status == HOOP_OK)
            status = checker_messages_add_step(checker_messages, rank,
                                               &plan->steps[i]);
    }
    if (status == HOOP_OK)
        status = round_check_conflicts(plan, rank, round);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static enum hoop_status
checker_messages_add_rank(struct checker_messages *checker_messages,
                          const struct checker_case *scenario,
                          uint32_t rank)
{
    const struct plan_shape shape = expectation_shape_of_rank(scenario, rank);
    const uint32_t n_rounds = algorithm_n_rounds(scenario->algorithm, &shape);

    for (uint32_t round = 0; round < n_rounds; round++) {
        const enum hoop_status status =
            checker_messages_add_round(checker_messages, scenario, rank, round);

        if (status != HOOP_OK)
            return error_pass(status);
    }
    return HOOP_OK;
}

static enum hoop_status
checker_message_list_sort(struct checker_message_list *list, const char *verb)
{
    if (list->n_messages == 0)
        return HOOP_OK;
    qsort(list->messages, list->n_messages, sizeof(*list->messages),
          message_compare);
    for (size_t i = 1; i < list->n_messages; i++) {
        const struct checker_message *message = &list->messages[i];

        if (message_compare(message, message - 1) == 0)
            return error_raise(HOOP_E_INTERNAL,
                               "message %u from rank %u to rank %u is %s twice",
                               message->number, message->source,
                               message->target, verb);
    }
    return HOOP_OK;
}

static enum hoop_status
raise_unmatched_message(const struct checker_message *message,
                        const char *verbs)
{
    return error_raise(
        HOOP_E_INTERNAL, "message %u from rank %u to rank %u is %s",
        message->number, message->source, message->target, verbs);
}

static enum hoop_status
checker_messages_check_pairs(const struct checker_messages *checker_messages)
{
    const struct checker_message_list *sends = &checker_messages->sends;
    const struct checker_message_list *receives = &checker_messages->receives;

    for (size_t i = 0; i < sends->n_messages || i < receives->n_messages; i++) {
        const struct checker_message *sent = &sends->messages[i];
        const struct checker_message *taken = &receives->messages[i];

        if (i == receives->n_messages)
            return raise_unmatched_message(sent, "sent but not taken");
        if (i == sends->n_messages)
            return raise_unmatched_message(taken, "taken but not sent");
        const int order = message_compare(sent, taken);
        if (order < 0)
            return raise_unmatched_message(sent, "sent but not taken");
        if (order > 0)
            return raise_unmatched_message(taken, "taken but not sent");
        if (sent->n_bytes != taken->n_bytes)
            return raise_unmatched_message(sent, "taken with another size");
    }
    return HOOP_OK;
}

enum hoop_status
checker_messages_build(struct checker_messages *checker_messages,
                       const struct checker_case *scenario)
{
    enum hoop_status status = HOOP_OK;

    for (uint32_t rank = 0; rank < scenario->shape.size && status == HOOP_OK;
         rank++)
        status = checker_messages_add_rank(checker_messages, scenario, rank);
    if (status == HOOP_OK)
        status = checker_message_list_sort(&checker_messages->sends, "sent");
    if (status == HOOP_OK)
        status =
            checker_message_list_sort(&checker_messages->receives, "taken");
    if (status == HOOP_OK)
        status = checker_messages_check_pairs(checker_messages);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

void
checker_messages_deinit(struct checker_messages *checker_messages)
{
    free(checker_messages->sends.messages);
    free(checker_messages->receives.messages);
    plan_deinit(&checker_messages->plan);
    *checker_messages = (struct checker_messages){0};
}

struct checker_message *
checker_messages_find(struct checker_messages *checker_messages,
                      uint32_t rank,
                      const struct plan_step *step)
{
    const struct checker_message wanted = message_of_step(rank, step);

    if (!step_sends(step) && !step_receives(step))
        return NULL;
    return bsearch(&wanted, checker_messages->sends.messages,
                   checker_messages->sends.n_messages, sizeof(wanted),
                   message_compare);
}

static const uint64_t socket_buffers[] = {0, 1, UINT64_MAX};

static enum hoop_status
checker_run_all_schedules(const struct checker_case *scenario,
                          struct checker_messages *checker_messages)
{
    CLEANUP(checker_run_destroy) struct checker_run *checker_run = NULL;
    enum hoop_status status =
        checker_run_create(scenario, checker_messages, &checker_run);

    if (status != HOOP_OK)
        return error_pass(status);
    for (uint32_t i = 0; i < scenario->n_schedules; i++) {
        const uint64_t seed = scenario->seed + i;

        status = checker_run_one_schedule(
            checker_run, socket_buffers[seed % COUNT_OF(socket_buffers)], seed);
        if (status != HOOP_OK)
            return error_pass(status);
    }
    return HOOP_OK;
}

enum hoop_status
checker_verify_algorithm(const struct checker_case *scenario)
{
    if (scenario->algorithm->is_shm)
        return error_pass(checker_shm_run_verify_algorithm(scenario));

    struct checker_messages checker_messages = {0};
    enum hoop_status status =
        checker_messages_build(&checker_messages, scenario);

    if (status == HOOP_OK)
        status = checker_run_all_schedules(scenario, &checker_messages);
    checker_messages_deinit(&checker_messages);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}
