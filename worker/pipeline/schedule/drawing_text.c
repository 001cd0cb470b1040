/*
 * pipeline/schedule/drawing_text.c - draws a line per stage, a character per unit of
 * time
 *
 * A forward is shown as the last digit of its micro-batch, a backward as the
 * letter of that digit. If a stage has several chunks, a second line shows the
 * chunk.
 */

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "pipeline/schedule/drawing.h"
#include "pipeline/schedule/schedule.h"

enum {
    TICK = 10,
    MARKS = 10, /* ten digits and ten letters */
};

static void
task_chars_fill(const struct drawing *drawing,
                uint32_t stage,
                const struct hoop_task *task,
                char *line,
                char mark)
{
    const double begin = timetable_task_begin(drawing->timetable, stage, task);
    const double end = timetable_task_end(drawing->timetable, stage, task);

    memset(line + (size_t)begin, mark, (size_t)(end - begin));
}

static char
task_char(const struct hoop_task *task)
{
    const char first = task->kind == HOOP_TASK_FORWARD ? '0' : 'a';

    return (char)(first + (char)(task->micro_batch % MARKS));
}

static char
chunk_char(const struct hoop_task *task)
{
    return (char)('0' + (char)(task->chunk % MARKS));
}

static void
stage_print(const struct drawing *drawing,
            uint32_t stage,
            char *line,
            FILE *file)
{
    const struct hoop_schedule *schedule = drawing->schedule;
    const struct hoop_task *end = schedule->tasks + schedule->firsts[stage + 1];
    const struct hoop_task *first = schedule->tasks + schedule->firsts[stage];
    const size_t n_units = strlen(line);

    memset(line, '.', n_units);
    for (const struct hoop_task *task = first; task < end; task++) {
        if (task_is_compute(task))
            task_chars_fill(drawing, stage, task, line, task_char(task));
    }
    fprintf(file, "stage %3u |%s|\n", stage, line);
    if (schedule->options.n_chunks == 1)
        return;
    memset(line, ' ', n_units);
    for (const struct hoop_task *task = first; task < end; task++) {
        if (task_is_compute(task))
            task_chars_fill(drawing, stage, task, line, chunk_char(task));
    }
    fprintf(file, "    chunk |%s|\n", line);
}

static void
time_axis_print(size_t n_units, FILE *file)
{
    fputs("     time  ", file);
    for (size_t at = 0; at < n_units; at += TICK)
        fprintf(file, "%-*zu", at + TICK < n_units ? TICK : 0, at);
    fputs("\n", file);
}

enum hoop_status
drawing_text(const struct drawing *drawing, FILE *file)
{
    const size_t n_units = (size_t)drawing->timetable->makespan;
    CLEANUP(free) char *line = malloc(n_units + 1);

    if (!line)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for %zu characters",
                           n_units);
    memset(line, '.', n_units);
    line[n_units] = '\0';
    fprintf(file, "%s\n", drawing->title);
    for (uint32_t i = 0; i < drawing->schedule->options.n_stages; i++)
        stage_print(drawing, i, line, file);
    time_axis_print(n_units, file);
    fputs("0-9: forward, a-j: backward of the micro-batch that ends in 0-9; "
          ".: idle\n",
          file);
    return HOOP_OK;
}
