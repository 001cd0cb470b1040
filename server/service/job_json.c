/* service/job_json.c - jobs, ranks and notices as JSON, for the page */

#include "service/job_json.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/escape.h"
#include "core/event.h"
#include "service/page_verdicts.h"
#include "service/why.h"

struct json_text {
    char *bytes;
    size_t n_bytes;
    FILE *out; /* NULL: no memory */
};

static struct json_text *
json_open(struct json_text *json)
{
    *json = (struct json_text){0};
    json->out = open_memstream(&json->bytes, &json->n_bytes);
    return json->out ? json : NULL;
}

static char *
json_close(struct json_text *json)
{
    if (fclose(json->out) == 0)
        return json->bytes;
    free(json->bytes);
    return NULL;
}

static void
text_write(FILE *out, const char *text)
{
    char escaped[ESCAPE_BYTES];

    fputc('"', out);
    while (*text) {
        text += escape_character(text, ESCAPE_JSON, escaped);
        fputs(escaped, out);
    }
    fputc('"', out);
}

/* Write ,"name":"text". */
static void
text_field_write(FILE *out, const char *name, const char *text)
{
    fprintf(out, ",\"%s\":", name);
    text_write(out, text);
}

static void
number_field_write(FILE *out, const char *name, uint64_t number)
{
    fprintf(out, ",\"%s\":%" PRIu64, name, number);
}

static uint64_t
wall_ms(const struct job_json_context *context, uint64_t ns)
{
    return (ns + context->wall_offset_ns) / CLOCK_NS_PER_MS;
}

/* Write one sentence that says who holds the job up, and why; "": none is
 * known, and the page shows none. */
static void
verdict_write(FILE *out, bool is_held_up, const char *sentence)
{
    fprintf(out, ",\"is_held_up\":%s", is_held_up ? "true" : "false");
    text_field_write(out, "verdict", sentence);
}

static void
numbers_write(FILE *out, const char *name, const uint32_t *items, size_t n)
{
    fprintf(out, ",\"%s\":[", name);
    for (size_t i = 0; i < n; i++)
        fprintf(out, "%s%" PRIu32, i > 0 ? "," : "", items[i]);
    fputc(']', out);
}

static void
row_begin(FILE *out, size_t i)
{
    fputs(i > 0 ? ",\n" : "\n", out);
}

/* Write the verdict on a job as `hoopctl why` gives it: also what to look at
 * next, and the ranks that hold the job up. */
static void
explanation_write(FILE *out, const struct verdict *verdict)
{
    verdict_write(out, verdict->is_held_up, verdict->sentence);
    text_field_write(out, "kind", verdict->kind);
    text_field_write(out, "advice", verdict->advice);
    numbers_write(out, "culprits", verdict->culprits, verdict->n_culprits);
}

/* Write a job without the brace that ends it. */
static void
job_summary_write(FILE *out,
                  const struct cluster_job_summary *job,
                  const struct job_json_context *context)
{
    fputs("{\"name\":", out);
    text_write(out, job->name);
    text_field_write(out, "state", cluster_job_state_name(job->state));
    number_field_write(out, "epoch", job->epoch);
    number_field_write(out, "size", job->size);
    number_field_write(out, "members", job->n_members);
    number_field_write(out, "lost", job->n_lost);
    number_field_write(out, "left", job->n_left);
    number_field_write(out, "since_ms",
                       wall_ms(context, context->now_ns - job->age_ns));
}

char *
jobs_json(const struct cluster_jobs *jobs,
          const struct page_verdicts *verdicts,
          const struct job_json_context *context)
{
    struct json_text json;

    if (!json_open(&json))
        return NULL;
    fputs("{\"version\":", json.out);
    text_write(json.out, context->version);
    number_field_write(json.out, "since_ms",
                       wall_ms(context, context->started_ns));
    fputs(",\"jobs\":[", json.out);
    for (size_t i = 0; i < jobs->n_items; i++) {
        const struct page_verdict *verdict =
            page_verdicts_find(verdicts, &jobs->items[i], context->now_ns);

        row_begin(json.out, i);
        job_summary_write(json.out, &jobs->items[i], context);
        verdict_write(json.out, verdict && verdict->is_held_up,
                      verdict ? verdict->sentence : "");
        fputc('}', json.out);
    }
    fputs("\n]}", json.out);
    return json_close(&json);
}

/* Write whom the call of a rank waits for, and its communicator, as numbers. */
static void
call_numbers_write(FILE *out, const struct snapshot_call *call)
{
    if (call->awaited_rank != SNAPSHOT_NO_RANK)
        number_field_write(out, "awaited_rank", call->awaited_rank);
    if (call->communicator_id > 0)
        number_field_write(out, "communicator_id", call->communicator_id);
}

/* Write what a rank has answered; null: it was not asked. Without memory, call is
 * NULL. */
static void
activity_write(FILE *out,
               const struct cluster_member_activity *activity,
               const struct snapshot_call *call,
               const struct job_json_context *context)
{
    fputs(",\"activity\":", out);
    if (!activity) {
        fputs("null", out);
        return;
    }
    if (activity->silence[0]) {
        fputs("{\"silence\":", out);
        text_write(out, activity->silence);
        fputc('}', out);
        return;
    }
    fprintf(out, "{\"calls\":%u", activity->n_calls);
    if (activity->call[0]) {
        text_field_write(out, "call", activity->call);
        text_field_write(out, "communicator", activity->communicator);
        number_field_write(out, "number", activity->number);
        number_field_write(out, "since_ms",
                           wall_ms(context, context->now_ns) -
                               activity->age_ms);
        text_field_write(out, "waits_for", activity->waits_for);
        if (call)
            call_numbers_write(out, call);
    }
    fputc('}', out);
}

static void
member_write(FILE *out,
             const struct cluster_member *member,
             const struct cluster_member_activity *activity,
             const struct snapshot_call *call,
             const struct job_json_context *context)
{
    if (member->rank == CLUSTER_RANK_ANY)
        fputs("{\"rank\":null", out);
    else
        fprintf(out, "{\"rank\":%u", member->rank);
    text_field_write(out, "state", cluster_member_state_name(member->state));
    text_field_write(out, "host", member->host);
    number_field_write(out, "pid", member->pid);
    text_field_write(out, "reason", member->reason);
    activity_write(out, activity, call, context);
    fputc('}', out);
}

char *
job_json(const struct cluster_job_detail *job,
         const struct job_json_context *context,
         struct verdict *out_verdict)
{
    CLEANUP(job_snapshot_deinit) struct job_snapshot seen = {0};
    CLEANUP(free) uint32_t *order = calloc(job->n_members + 1, sizeof(*order));
    size_t n_order = 0;
    struct json_text json;

    *out_verdict = (struct verdict){.kind = ""};
    if (order && job_snapshot_init(job, &seen) == HOOP_OK) {
        diagnosis_make(&seen.snapshot, out_verdict);
        diagnosis_order(&seen.snapshot, out_verdict, order);
        /* If nothing holds the job up, a sample is no reason to move ranks. */
        n_order = out_verdict->is_held_up ? job->n_members : 0;
    }
    if (!json_open(&json))
        return NULL;
    job_summary_write(json.out, &job->line, context);
    explanation_write(json.out, out_verdict);
    number_field_write(json.out, "clock_ms", wall_ms(context, context->now_ns));
    number_field_write(json.out, "size_min", job->size_min);
    text_field_write(json.out, "missing", job->missing);
    text_field_write(json.out, "hosts", job->hosts);
    fputs(",\"ranks\":[", json.out);
    for (size_t i = 0; i < job->n_members; i++) {
        row_begin(json.out, i);
        member_write(json.out, &job->members[i],
                     job->activities ? &job->activities[i] : NULL,
                     seen.ranks ? &seen.ranks[i].call : NULL, context);
    }
    fputs("\n]", json.out);
    /* It is long, and seldom changes: http/rows.h. */
    numbers_write(json.out, "order", order, n_order);
    fputc('}', json.out);
    return json_close(&json);
}

char *
notice_json(const char *kind,
            const struct cluster_log_notice *notice,
            const struct job_json_context *context)
{
    struct json_text json;

    if (!json_open(&json))
        return NULL;
    fprintf(json.out, "{\"at_ms\":%" PRIu64, wall_ms(context, context->now_ns));
    text_field_write(json.out, "kind", kind);
    text_field_write(json.out, "job", notice->job ? notice->job : "");
    text_field_write(json.out, "text", notice->text);
    fputc('}', json.out);
    return json_close(&json);
}

char *
error_json(const char *text)
{
    struct json_text json;

    if (!json_open(&json))
        return NULL;
    fputs("{\"error\":", json.out);
    text_write(json.out, text);
    fputc('}', json.out);
    return json_close(&json);
}

/* Refusals are left out: strangers can cause them at will. */
const char *
notice_kind_name(enum cluster_log_notice_kind kind)
{
    switch (kind) {
    case CLUSTER_NOTICE_JOINED:
        return "joined";
    case CLUSTER_NOTICE_WITHDRAWN:
        return "withdrawn";
    case CLUSTER_NOTICE_FORMED:
        return "formed";
    case CLUSTER_NOTICE_GROWN:
        return "grown";
    case CLUSTER_NOTICE_SHRUNK:
        return "shrunk";
    case CLUSTER_NOTICE_FORM_FAILED:
        return "form_failed";
    case CLUSTER_NOTICE_REFUSED:
        return NULL;
    case CLUSTER_NOTICE_LEFT:
        return "left";
    case CLUSTER_NOTICE_LOST:
        return "lost";
    case CLUSTER_NOTICE_ENDED:
        return "ended";
    case CLUSTER_NOTICE_STEPPED_LATE:
        return "stepped_late";
    case CLUSTER_NOTICE_PEER_HEARS:
        return "peer_hears";
    }
    return NULL;
}
