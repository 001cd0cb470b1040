/* hoopctl/why.c - hoopctl why: says what holds a job up, and which ranks are
 * furthest behind */

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "hoopctl/command.h"
#include "hoopctl/json.h"
#include "hoopctl/shown.h"

enum {
    /* More lines would push the verdict out of sight. */
    LINES_MAX = 20,
    STACK_LINES_MAX = 64,
};

static json_t *
rank_number_json(uint32_t rank)
{
    return rank == HOOP_CONTROL_RANK_ANY ? json_null() : json_number(rank);
}

static json_t *
time_json(uint64_t n_ms)
{
    return n_ms == UINT64_MAX ? json_null() : json_number(n_ms);
}

static const char *
process_text(char state)
{
    switch (state) {
    case 'R':
        return "running";
    case 'S':
        return "sleeping";
    case 'D':
        return "sleeping uninterruptibly";
    case 'T':
        return "stopped";
    case 'Z':
    case 'X':
        return "ended";
    default:
        return "";
    }
}

/* Return NULL if the rank has not told. */
static json_t *
call_json(const struct hoop_control_why_rank *line)
{
    const struct hoop_control_activity *activity = line->rank->activity;

    if (!activity || activity->silence[0] || !activity->call[0])
        return json_null();
    return json_pack(
        "{so so so so so sb so so ss so ss ss so so so}", "text",
        json_text(activity->call), "communicator",
        json_text(activity->communicator), "communicator_id",
        json_number(line->communicator_id), "number",
        json_number(activity->number), "age_ms", json_number(activity->age_ms),
        "is_setup", (int)line->is_setup, "waits_for",
        json_text(activity->waits_for), "awaited_rank",
        rank_number_json(line->awaited_rank), "awaited_doing",
        line->awaited_doing, "awaited_call", json_text(line->awaited_call),
        "awaited_sign", line->awaited_sign, "awaited_hears",
        line->awaited_hears, "awaited_silence_ms",
        time_json(line->awaited_silence_ms), "done_bytes",
        json_number(line->n_done_bytes), "bytes", json_number(line->n_bytes));
}

static json_t *
line_json(const struct hoop_control_why_rank *line)
{
    const struct hoop_control_rank *rank = line->rank;
    const struct hoop_control_activity *activity = rank->activity;

    return json_pack(
        "{so so so so so so so so so so so so ss so so so so so so}", "rank",
        rank_number_json(rank->rank), "host", json_text(rank->host), "pid",
        json_number(rank->pid), "state", json_text(rank->state), "reason",
        json_text(rank->reason), "lost_revision",
        json_number(line->lost_revision), "silence",
        activity ? json_text(activity->silence) : json_null(), "last_sign_ms",
        time_json(line->last_sign_ms), "call", call_json(line), "finished",
        json_text(line->finished), "failure", json_text(line->failure),
        "failure_status", json_number((uint64_t)line->failure_status),
        "process", process_text(line->process), "where", json_text(line->where),
        "swapped_kib", json_number(line->swapped_kib), "held_up_ms",
        json_number(line->held_up_ms), "held_up_rank",
        rank_number_json(line->held_up_rank), "stack", json_text(line->stack),
        "held_up_span_ms", json_number(line->held_up_span_ms));
}

static void
json_show(const struct hoop_control_verdict *verdict)
{
    const struct hoop_control_job *job = &verdict->roster->job;
    json_t *culprits = json_array();
    json_t *ranks = json_array();

    for (size_t i = 0; i < verdict->n_culprits; i++)
        json_array_append_new(culprits, json_number(verdict->culprits[i]));
    for (size_t i = 0; i < verdict->n_ranks; i++)
        json_array_append_new(ranks, line_json(&verdict->ranks[i]));
    json_print(json_pack(
        "{so so so so sb so so so so so so so so so}", "job",
        json_text(job->name), "kind", json_text(verdict->kind), "verdict",
        json_text(verdict->sentence), "advice", json_text(verdict->advice),
        "is_held_up", (int)verdict->is_held_up, "culprits", culprits, "state",
        json_text(job->state), "size", json_number(job->size), "members",
        json_number(job->n_members), "epoch", json_number(job->epoch), "lost",
        json_number(job->n_lost), "age_ms", json_number(job->age_ms), "missing",
        json_text(verdict->roster->missing), "ranks", ranks));
}

/* Print what the rank is in, or why nobody knows. */
static void
call_show(const struct hoop_control_why_rank *line)
{
    const struct hoop_control_activity *activity = line->rank->activity;
    struct shown first;
    struct shown second;
    struct shown third;
    char number[48] = "";

    if (activity && !activity->communicator[0] && line->communicator_id > 0)
        snprintf(number, sizeof(number), " of communicator @%" PRIu64,
                 line->communicator_id);
    if (line->rank->reason[0])
        printf("  %s", show(line->rank->reason, &first));
    else if (!activity)
        return;
    else if (activity->silence[0])
        printf("  %s", show(activity->silence, &first));
    else if (!activity->call[0])
        printf("%s",
               strcmp(line->rank->state, "left") == 0 ? "" : "  in no call");
    else
        printf("  in %s%s%s%s%s for %.1f s, waits for %s",
               show(activity->call, &first),
               activity->communicator[0] ? " of '" : "",
               show(activity->communicator, &second),
               activity->communicator[0] ? "'" : "", number,
               (double)activity->age_ms / 1000,
               show(activity->waits_for, &third));
}

static void
process_show(const struct hoop_control_why_rank *line)
{
    struct shown where;

    if (!line->process)
        return;
    printf("; process %s", process_text(line->process));
    if (line->where[0])
        printf(" in %s", show(line->where, &where));
    if (line->swapped_kib > 0)
        printf(", %" PRIu64 " MiB swapped out", line->swapped_kib / 1024);
}

/* Write the first line of a text, and return what follows it. */
static const char *
first_line(const char *text, struct shown *room)
{
    const size_t n = strcspn(text, "\n");
    char line[512];

    snprintf(line, sizeof(line), "%.*s", (int)n, text);
    (void)show(line, room);
    return text[n] ? text + n + 1 : text + n;
}

static bool
is_culprit(const struct hoop_control_verdict *verdict,
           const struct hoop_control_why_rank *line)
{
    for (size_t i = 0; i < verdict->n_culprits; i++) {
        if (verdict->culprits[i] == line->rank->rank)
            return true;
    }
    return false;
}

/* The stack of a rank that holds up nobody would hide the others, and so would a
 * long one. */
static void
stack_show(const struct hoop_control_verdict *verdict,
           const struct hoop_control_why_rank *line)
{
    struct shown frame;
    const char *frames =
        is_culprit(verdict, line) ? first_line(line->stack, &frame) : "";

    for (int i = 0; frames[0] && i < STACK_LINES_MAX; i++) {
        frames = first_line(frames, &frame);
        printf("%16s %s\n", "", frame.text);
    }
}

static void
line_show(const struct hoop_control_why_rank *line)
{
    struct shown state;
    struct shown host;
    struct shown text;
    char number[16] = "-";

    if (line->rank->rank != HOOP_CONTROL_RANK_ANY)
        snprintf(number, sizeof(number), "%" PRIu32, line->rank->rank);
    printf("%6s %-8s %s:%" PRIu32, number, show(line->rank->state, &state),
           show(line->rank->host, &host), line->rank->pid);
    call_show(line);
    process_show(line);
    if (line->finished[0])
        printf("; has finished %s", show(line->finished, &text));
    if (line->failure[0])
        printf("; its last failure: %s", show(line->failure, &text));
    if (line->stack[0]) {
        (void)first_line(line->stack, &text);
        /* A line alone says why there is no stack. */
        printf("; %s%s", strchr(line->stack, '\n') ? "at " : "", text.text);
    }
    printf("\n");
}

static void
table_show(const struct hoop_control_verdict *verdict, bool has_all)
{
    const size_t n_lines =
        has_all || verdict->n_ranks <= LINES_MAX ? verdict->n_ranks : LINES_MAX;
    struct shown sentence;
    struct shown advice;

    printf("%s\n", show(verdict->sentence, &sentence));
    if (verdict->advice[0])
        printf("%s\n", show(verdict->advice, &advice));
    if (n_lines > 0)
        printf("\n%6s %-8s %s\n", "RANK", "STATE",
               "PROCESS, CALL (furthest behind first)");
    for (size_t i = 0; i < n_lines; i++) {
        line_show(&verdict->ranks[i]);
        stack_show(verdict, &verdict->ranks[i]);
    }
    if (n_lines < verdict->n_ranks)
        printf("%6s and %zu more: hoopctl why --all\n", "",
               verdict->n_ranks - n_lines);
}

enum hoop_status
why_run(const struct command_call *call)
{
    const struct hoop_control_verdict *verdict = NULL;

    const enum hoop_status status = hoop_control_why(call->control, &verdict);
    if (status != HOOP_OK)
        return status;
    if (call->format == COMMAND_JSON)
        json_show(verdict);
    else
        table_show(verdict, call->has_all);
    *call->out_is_held_up = verdict->is_held_up;
    return HOOP_OK;
}
