/*
 * schedule/messages.c - adds sends and receives to the computations of stages
 *
 * The list of a stage is merged from four rows, each of them already in order:
 * what the stage computes, what it sends, and what each of its two neighbours
 * sends to it.
 */

#include "schedule/messages.h"

#include "base/cleanup.h"
#include "schedule/schedule.h"

/* A position in the total order of all tasks. Positions are ordered by time.
 * At the same time messages of activations come first, then those of
 * gradients, then computations, which may need them. A stage ends one task
 * at a time, so no two positions are equal. */
enum place_class {
    PLACE_ACTIVATION,
    PLACE_GRADIENT,
    PLACE_COMPUTED,
};

struct place {
    double time;
    enum place_class class;
    uint32_t maker;
};

static bool
place_is_before(const struct place *a, const struct place *b)
{
    if (a->time != b->time)
        return a->time < b->time;
    if (a->class != b->class)
        return a->class < b->class;
    return a->maker < b->maker;
}

/* Computations of the stage maker, as they concern the stage whose list is
 * made. */
enum row_kind {
    ROW_COMPUTED,    /* the stage's own computations */
    ROW_SENT,        /* those of its own whose results it sends */
    ROW_ACTIVATIONS, /* forwards of the previous stage */
    ROW_GRADIENTS,   /* backwards of the next stage */
};

struct row {
    const struct timetable *timetable;
    enum row_kind kind;
    uint32_t maker;
    size_t at;
};

static const struct hoop_task *
row_task(const struct row *row)
{
    return &row->timetable->schedule->tasks[row->at];
}

/* Returns whether the result of a task goes to another stage. */
static bool
is_handed_on(const struct hoop_schedule_options *options,
             uint32_t maker,
             const struct hoop_task *task)
{
    const uint32_t at = schedule_virtual_stage(options, maker, task->chunk);

    if (options->n_stages == 1)
        return false;
    return task->kind == HOOP_TASK_FORWARD
               ? at < schedule_n_virtual(options) - 1
               : at > 0;
}

static bool
row_has(const struct row *row, const struct hoop_task *task)
{
    const struct hoop_schedule_options *options =
        &row->timetable->schedule->options;

    switch (row->kind) {
    case ROW_COMPUTED:
        return true;
    case ROW_SENT:
        return is_handed_on(options, row->maker, task);
    case ROW_ACTIVATIONS:
        return task->kind == HOOP_TASK_FORWARD &&
               is_handed_on(options, row->maker, task);
    case ROW_GRADIENTS:
        return task->kind == HOOP_TASK_BACKWARD &&
               is_handed_on(options, row->maker, task);
    }
    return false;
}

/* Moves to the next task that belongs to the row. Returns false at its end. */
static bool
row_seek(struct row *row)
{
    const size_t end = row->timetable->schedule->firsts[row->maker + 1];

    while (row->at < end && !row_has(row, row_task(row)))
        row->at++;
    return row->at < end;
}

static struct place
row_place(const struct row *row)
{
    const struct hoop_task *task = row_task(row);
    struct place place = {.maker = row->maker};

    if (row->kind == ROW_COMPUTED) {
        place.time = timetable_begin(row->timetable, row->maker, task);
        place.class = PLACE_COMPUTED;
        return place;
    }
    place.time = timetable_end(row->timetable, row->maker, task);
    place.class =
        task->kind == HOOP_TASK_FORWARD ? PLACE_ACTIVATION : PLACE_GRADIENT;
    return place;
}

/* Returns the row's current task as the stage whose list is made performs
 * it. */
static struct hoop_task
row_entry(const struct row *row)
{
    const uint32_t n_stages = row->timetable->schedule->options.n_stages;
    struct hoop_task task = *row_task(row);

    switch (row->kind) {
    case ROW_COMPUTED:
        break;
    case ROW_SENT:
        task.kind = task.kind == HOOP_TASK_FORWARD ? HOOP_TASK_SEND_FORWARD
                                                   : HOOP_TASK_SEND_BACKWARD;
        break;
    case ROW_ACTIVATIONS:
        task.kind = HOOP_TASK_RECV_FORWARD;
        task.chunk += row->maker == n_stages - 1;
        break;
    case ROW_GRADIENTS:
        task.kind = HOOP_TASK_RECV_BACKWARD;
        task.chunk -= row->maker == 0;
        break;
    }
    return task;
}

/* Returns the row whose next task comes first, or NULL if all have ended. */
static struct row *
rows_first(struct row *rows, size_t n_rows)
{
    struct row *first = NULL;
    struct place first_place = {0};

    for (struct row *row = rows; row < rows + n_rows; row++) {
        if (!row_seek(row))
            continue;
        const struct place place = row_place(row);
        if (!first || place_is_before(&place, &first_place)) {
            first = row;
            first_place = place;
        }
    }
    return first;
}

size_t
messages_merge(const struct timetable *timetable,
               uint32_t stage,
               struct hoop_task *out_tasks)
{
    const struct hoop_schedule *schedule = timetable->schedule;
    const uint32_t n = schedule->options.n_stages;
    struct row rows[] = {
        {.kind = ROW_COMPUTED, .maker = stage},
        {.kind = ROW_SENT, .maker = stage},
        {.kind = ROW_ACTIVATIONS, .maker = (stage + n - 1) % n},
        {.kind = ROW_GRADIENTS, .maker = (stage + 1) % n},
    };
    struct hoop_task *at = out_tasks;
    struct row *row;

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        rows[i].timetable = timetable;
        rows[i].at = schedule->firsts[rows[i].maker];
    }
    while ((row = rows_first(rows, COUNT_OF(rows)))) {
        *at++ = row_entry(row);
        row->at++;
    }
    return (size_t)(at - out_tasks);
}

uint64_t
messages_n_tasks(const struct hoop_schedule_options *options)
{
    const uint64_t n_virtual = schedule_n_virtual(options);
    const uint64_t n_messages = options->n_stages > 1 ? 2 * (n_virtual - 1) : 0;

    /* Each message is two tasks. */
    return (2 * n_virtual + 2 * n_messages) * options->n_micro_batches;
}
