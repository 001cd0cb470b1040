/*
 * pipeline/schedule/messages.c - adds sends and receives to the computations of
 * stages
 *
 * The list of a stage is merged from four rows, each of them already in order:
 * what the stage computes, what it sends, and what each of its two neighbours
 * sends to it.
 */

#include "pipeline/schedule/messages.h"

#include "base/cleanup.h"
#include "pipeline/schedule/schedule.h"

/* A position in the total order of all tasks. Positions are ordered by time.
 * At the same time messages of activations come first, then those of
 * gradients, then computations, which may need them. A stage ends one task
 * at a time, so no two positions are equal. */
enum task_order_class {
    TASK_ORDER_ACTIVATION_MESSAGE,
    TASK_ORDER_GRADIENT_MESSAGE,
    TASK_ORDER_COMPUTATION,
};

struct task_order_key {
    double time;
    enum task_order_class class;
    uint32_t maker;
};

static bool
task_order_key_is_before(const struct task_order_key *a,
                         const struct task_order_key *b)
{
    if (a->time != b->time)
        return a->time < b->time;
    if (a->class != b->class)
        return a->class < b->class;
    return a->maker < b->maker;
}

/* Computations of the stage maker, as they concern the stage whose list is
 * made. */
enum merge_source_kind {
    MERGE_OWN_COMPUTATIONS,     /* the stage's own computations */
    MERGE_OWN_SENDS,            /* those of its own whose results it sends */
    MERGE_PREV_STAGE_FORWARDS,  /* forwards of the previous stage */
    MERGE_NEXT_STAGE_BACKWARDS, /* backwards of the next stage */
};

struct merge_source {
    const struct timetable *timetable;
    enum merge_source_kind kind;
    uint32_t maker;
    size_t at;
};

static const struct hoop_task *
merge_source_task(const struct merge_source *merge_source)
{
    return &merge_source->timetable->schedule->tasks[merge_source->at];
}

/* Returns whether the result of a task goes to another stage. */
static bool
task_result_is_sent(const struct hoop_schedule_options *options,
                    uint32_t maker,
                    const struct hoop_task *task)
{
    const uint32_t at = schedule_virtual_stage(options, maker, task->chunk);

    if (options->n_stages == 1)
        return false;
    return task->kind == HOOP_TASK_FORWARD
               ? at < schedule_n_virtual_stages(options) - 1
               : at > 0;
}

static bool
merge_source_has_task(const struct merge_source *merge_source,
                      const struct hoop_task *task)
{
    const struct hoop_schedule_options *options =
        &merge_source->timetable->schedule->options;

    switch (merge_source->kind) {
    case MERGE_OWN_COMPUTATIONS:
        return true;
    case MERGE_OWN_SENDS:
        return task_result_is_sent(options, merge_source->maker, task);
    case MERGE_PREV_STAGE_FORWARDS:
        return task->kind == HOOP_TASK_FORWARD &&
               task_result_is_sent(options, merge_source->maker, task);
    case MERGE_NEXT_STAGE_BACKWARDS:
        return task->kind == HOOP_TASK_BACKWARD &&
               task_result_is_sent(options, merge_source->maker, task);
    }
    return false;
}

/* Moves to the next task that belongs to the source. Returns false at its
 * end. */
static bool
merge_source_seek(struct merge_source *merge_source)
{
    const size_t end =
        merge_source->timetable->schedule->firsts[merge_source->maker + 1];

    while (
        merge_source->at < end &&
        !merge_source_has_task(merge_source, merge_source_task(merge_source)))
        merge_source->at++;
    return merge_source->at < end;
}

static struct task_order_key
merge_source_order_key(const struct merge_source *merge_source)
{
    const struct hoop_task *task = merge_source_task(merge_source);
    struct task_order_key task_order_key = {.maker = merge_source->maker};

    if (merge_source->kind == MERGE_OWN_COMPUTATIONS) {
        task_order_key.time = timetable_task_begin(merge_source->timetable,
                                                   merge_source->maker, task);
        task_order_key.class = TASK_ORDER_COMPUTATION;
        return task_order_key;
    }
    task_order_key.time =
        timetable_task_end(merge_source->timetable, merge_source->maker, task);
    task_order_key.class = task->kind == HOOP_TASK_FORWARD
                               ? TASK_ORDER_ACTIVATION_MESSAGE
                               : TASK_ORDER_GRADIENT_MESSAGE;
    return task_order_key;
}

/* Returns the source's current task as the stage whose list is made performs
 * it. */
static struct hoop_task
merge_source_entry(const struct merge_source *merge_source)
{
    const uint32_t n_stages =
        merge_source->timetable->schedule->options.n_stages;
    struct hoop_task task = *merge_source_task(merge_source);

    switch (merge_source->kind) {
    case MERGE_OWN_COMPUTATIONS:
        break;
    case MERGE_OWN_SENDS:
        task.kind = task.kind == HOOP_TASK_FORWARD ? HOOP_TASK_SEND_FORWARD
                                                   : HOOP_TASK_SEND_BACKWARD;
        break;
    case MERGE_PREV_STAGE_FORWARDS:
        task.kind = HOOP_TASK_RECV_FORWARD;
        task.chunk += merge_source->maker == n_stages - 1;
        break;
    case MERGE_NEXT_STAGE_BACKWARDS:
        task.kind = HOOP_TASK_RECV_BACKWARD;
        task.chunk -= merge_source->maker == 0;
        break;
    }
    return task;
}

/* Returns the source whose next task comes first, or NULL if all have
 * ended. */
static struct merge_source *
merge_sources_earliest(struct merge_source *rows, size_t n_rows)
{
    struct merge_source *first = NULL;
    struct task_order_key first_place = {0};

    for (struct merge_source *merge_source = rows; merge_source < rows + n_rows;
         merge_source++) {
        if (!merge_source_seek(merge_source))
            continue;
        const struct task_order_key task_order_key =
            merge_source_order_key(merge_source);
        if (!first || task_order_key_is_before(&task_order_key, &first_place)) {
            first = merge_source;
            first_place = task_order_key;
        }
    }
    return first;
}

size_t
messages_merge_stage_tasks(const struct timetable *timetable,
                           uint32_t stage,
                           struct hoop_task *out_tasks)
{
    const struct hoop_schedule *schedule = timetable->schedule;
    const uint32_t n = schedule->options.n_stages;
    struct merge_source rows[] = {
        {.kind = MERGE_OWN_COMPUTATIONS, .maker = stage},
        {.kind = MERGE_OWN_SENDS, .maker = stage},
        {.kind = MERGE_PREV_STAGE_FORWARDS, .maker = (stage + n - 1) % n},
        {.kind = MERGE_NEXT_STAGE_BACKWARDS, .maker = (stage + 1) % n},
    };
    struct hoop_task *at = out_tasks;
    struct merge_source *merge_source;

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        rows[i].timetable = timetable;
        rows[i].at = schedule->firsts[rows[i].maker];
    }
    while ((merge_source = merge_sources_earliest(rows, COUNT_OF(rows)))) {
        *at++ = merge_source_entry(merge_source);
        merge_source->at++;
    }
    return (size_t)(at - out_tasks);
}

uint64_t
messages_count_tasks(const struct hoop_schedule_options *options)
{
    const uint64_t n_virtual = schedule_n_virtual_stages(options);
    const uint64_t n_messages = options->n_stages > 1 ? 2 * (n_virtual - 1) : 0;

    /* Each message is two tasks. */
    return (2 * n_virtual + 2 * n_messages) * options->n_micro_batches;
}
