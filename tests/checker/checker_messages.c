/* tests/checker/checker_messages.c - checks all messages and steps of a collective */

#include "checker/checker_messages.h"

#include <stdlib.h>

#include "base/error.h"
#include "checker/expectation.h"

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
    scenario->algorithm->plan_round(plan, &shape, round);
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
    const uint32_t n_rounds = scenario->algorithm->n_rounds(&shape);

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
