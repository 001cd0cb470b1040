/*
 * hoopctl/record_chrome.c - records as a trace of Chrome's format, which
 * Perfetto reads, too
 *
 * Each rank is a process of the trace. Its calls are complete events on one
 * track; a call that began before another had ended is on a further track, so
 * that events of a track never overlap. A message is a flow from the send to
 * the receive, if both are in the records. Times count from the first call of
 * all ranks.
 */

#include <hoop/comm.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "hoopctl/json.h"
#include "hoopctl/record.h"

enum {
    TRACKS_MAX = 64, /* of a rank; the last one takes what does not fit */
};

/* One end of a message. */
struct message_end {
    uint64_t comm;
    uint64_t number;
    uint32_t from; /* world ranks */
    uint32_t to;
    bool is_receive;
    uint32_t rank;
    unsigned track;
    uint64_t called_ns;
    uint64_t end_ns;
};

struct trace {
    FILE *out;
    uint64_t base_ns; /* what times count from */
    const char *separator;
    struct message_end *ends;
    size_t n_ends;
};

static double
to_us(const struct trace *trace, uint64_t time_ns)
{
    return (double)(time_ns - trace->base_ns) / 1000;
}

static void
event_begin(struct trace *trace)
{
    fputs(trace->separator, trace->out);
    trace->separator = ",\n";
}

static void
names_write(struct trace *trace, const struct rank_record *rank)
{
    const struct hoop_recorded_rank *origin = rank->origin;
    json_t *name = json_sprintf("rank %u", origin->rank);
    json_t *args =
        json_pack("{so so}", "name", name, "labels", json_text(origin->host));
    char *text = json_dumps(args, JSON_COMPACT | JSON_ENSURE_ASCII);

    event_begin(trace);
    fprintf(trace->out,
            "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%u,\"args\":%s}",
            origin->rank, text ? text : "{}");
    event_begin(trace);
    fprintf(trace->out,
            "{\"ph\":\"M\",\"name\":\"process_sort_index\",\"pid\":%u,"
            "\"args\":{\"sort_index\":%u}}",
            origin->rank, origin->rank);
    free(text);
    json_decref(args);
}

static void
call_write(struct trace *trace,
           const struct rank_record *rank,
           const struct hoop_recorded_call *call,
           unsigned track)
{
    const uint64_t end_ns = record_call_end_ns(rank, call);

    event_begin(trace);
    fprintf(trace->out,
            "{\"ph\":\"X\",\"cat\":\"%s\",\"name\":\"%s\",\"pid\":%u,"
            "\"tid\":%u,\"ts\":%.3f,\"dur\":%.3f,\"args\":{\"number\":%" PRIu64
            ",\"bytes\":%" PRIu64 ",\"communicator\":\"%" PRIu64
            "\",\"state\":\"%s\",\"status\":\"%s\",\"algorithm\":\"%s\"",
            call->is_message ? "message" : "collective", call->kind,
            rank->origin->rank, track, to_us(trace, call->called_ns),
            (double)(end_ns - call->called_ns) / 1000, call->number,
            call->n_bytes, call->comm, record_state_name(call->state),
            hoop_status_name(call->status), call->algorithm);
    if (call->waited_for != HOOP_NO_RANK)
        fprintf(trace->out, ",\"waited_for\":%u,\"waited_us\":%.3f",
                call->waited_for, (double)call->waited_ns / 1000);
    if (call->waiting_since_ns != 0)
        fprintf(trace->out, ",\"waiting_for\":%u", call->waiting_for);
    fputs("}}", trace->out);
}

static void
message_end_add(struct trace *trace,
                const struct rank_record *rank,
                const struct hoop_recorded_call *call,
                unsigned track)
{
    const uint32_t peer = record_world_rank(rank, call->comm, call->peer);
    const bool is_receive = strncmp(call->kind, "recv", 4) == 0;

    /* The number of a receive is known when it has ended well. */
    if (peer == HOOP_NO_RANK ||
        (is_receive && call->state != HOOP_RECORDED_DONE))
        return;
    trace->ends[trace->n_ends++] = (struct message_end){
        .comm = call->comm,
        .number = call->wire_number,
        .from = is_receive ? peer : rank->origin->rank,
        .to = is_receive ? rank->origin->rank : peer,
        .is_receive = is_receive,
        .rank = rank->origin->rank,
        .track = track,
        .called_ns = call->called_ns,
        .end_ns = record_call_end_ns(rank, call),
    };
}

/* Returns the first track on which no call is under way at the time of the
 * next, and marks it as taken until that one's end. */
static unsigned
track_take(uint64_t ends_ns[TRACKS_MAX], uint64_t begin_ns, uint64_t end_ns)
{
    unsigned track = 0;

    while (track + 1 < TRACKS_MAX && ends_ns[track] > begin_ns)
        track++;
    ends_ns[track] = end_ns;
    return track;
}

static int
call_compare_begin(const void *a, const void *b)
{
    const struct hoop_recorded_call *left =
        *(const struct hoop_recorded_call *const *)a;
    const struct hoop_recorded_call *right =
        *(const struct hoop_recorded_call *const *)b;

    return (left->called_ns > right->called_ns) -
           (left->called_ns < right->called_ns);
}

static enum hoop_status
rank_write(struct trace *trace, const struct rank_record *rank)
{
    const struct hoop_recorded_call **calls =
        calloc(rank->n_calls + 1, sizeof(*calls));
    uint64_t ends_ns[TRACKS_MAX] = {0};

    if (!calls)
        return HOOP_E_EXHAUSTED;
    for (size_t i = 0; i < rank->n_calls; i++)
        calls[i] = &rank->calls[i];
    qsort(calls, rank->n_calls, sizeof(*calls), call_compare_begin);
    names_write(trace, rank);
    for (size_t i = 0; i < rank->n_calls; i++) {
        const struct hoop_recorded_call *call = calls[i];
        const unsigned track = track_take(ends_ns, call->called_ns,
                                          record_call_end_ns(rank, call));

        call_write(trace, rank, call, track);
        if (call->is_message)
            message_end_add(trace, rank, call, track);
    }
    free(calls);
    return HOOP_OK;
}

static int
end_compare(const void *a, const void *b)
{
    const struct message_end *left = a;
    const struct message_end *right = b;

    if (left->comm != right->comm)
        return left->comm < right->comm ? -1 : 1;
    if (left->from != right->from)
        return left->from < right->from ? -1 : 1;
    if (left->to != right->to)
        return left->to < right->to ? -1 : 1;
    if (left->number != right->number)
        return left->number < right->number ? -1 : 1;
    return left->is_receive - right->is_receive;
}

static bool
are_of_one_message(const struct message_end *a, const struct message_end *b)
{
    return a->comm == b->comm && a->from == b->from && a->to == b->to &&
           a->number == b->number && !a->is_receive && b->is_receive;
}

/* Returns a time within the receive: its middle, or when the message was sent if
 * that was later. An event that begins then lies in no other one. */
static uint64_t
receive_time_ns(const struct message_end *receive,
                const struct message_end *send)
{
    const uint64_t half_ns = (receive->end_ns - receive->called_ns) / 2;
    const uint64_t middle_ns = receive->called_ns + half_ns;
    const uint64_t last_ns =
        receive->called_ns + (half_ns ? 2 * half_ns - 1 : 0);

    if (send->called_ns <= middle_ns)
        return middle_ns;
    return send->called_ns < last_ns ? send->called_ns : last_ns;
}

static void
flows_write(struct trace *trace)
{
    uint64_t id = 0;

    qsort(trace->ends, trace->n_ends, sizeof(*trace->ends), end_compare);
    for (size_t i = 0; i + 1 < trace->n_ends; i++) {
        const struct message_end *send = &trace->ends[i];
        const struct message_end *receive = &trace->ends[i + 1];

        if (!are_of_one_message(send, receive))
            continue;
        id++;
        event_begin(trace);
        fprintf(trace->out,
                "{\"ph\":\"s\",\"cat\":\"message\",\"name\":\"message\","
                "\"id\":%" PRIu64 ",\"pid\":%u,\"tid\":%u,\"ts\":%.3f}",
                id, send->rank, send->track, to_us(trace, send->called_ns));
        event_begin(trace);
        fprintf(trace->out,
                "{\"ph\":\"f\",\"bp\":\"e\",\"cat\":\"message\",\"name\":"
                "\"message\",\"id\":%" PRIu64
                ",\"pid\":%u,\"tid\":%u,\"ts\":%.3f}",
                id, receive->rank, receive->track,
                to_us(trace, receive_time_ns(receive, send)));
    }
}

static void
error_write(const struct trace *trace, const char *name, uint64_t error_ns)
{
    if (error_ns == UINT64_MAX)
        fprintf(trace->out, ",\"%s\":null", name);
    else
        fprintf(trace->out, ",\"%s\":%" PRIu64, name, error_ns);
}

/* Say what the times are, and how wrong they can be. */
static void
metadata_write(const struct trace *trace,
               const struct hoop_recorded_alignment *alignment)
{
    fprintf(
        trace->out,
        "\n],\"displayTimeUnit\":\"ns\",\"otherData\":{\"base_ns\":\"%" PRIu64
        "\",\"clock\":\"CLOCK_REALTIME of %s%s\"",
        trace->base_ns,
        alignment->clock == HOOP_RECORDED_CLOCK_OF_EACH_HOST ? "" : "the ",
        record_clock_name(alignment->clock));
    error_write(trace, "clock_error_ns", alignment->error_ns);
    error_write(trace, "rank_error_ns", alignment->rank_error_ns);
    fputs("}}\n", trace->out);
}

enum hoop_status
record_write_chrome(const struct record_set *set, FILE *out)
{
    struct trace trace = {.out = out, .base_ns = UINT64_MAX, .separator = "\n"};
    enum hoop_status status = HOOP_OK;
    size_t n_calls = 0;

    for (size_t i = 0; i < set->n_ranks; i++) {
        n_calls += set->ranks[i].n_calls;
        for (size_t call = 0; call < set->ranks[i].n_calls; call++) {
            if (set->ranks[i].calls[call].called_ns < trace.base_ns)
                trace.base_ns = set->ranks[i].calls[call].called_ns;
        }
    }
    trace.ends = calloc(n_calls + 1, sizeof(*trace.ends));
    if (!trace.ends)
        return HOOP_E_EXHAUSTED;
    fputs("{\"traceEvents\":[", out);
    for (size_t i = 0; status == HOOP_OK && i < set->n_ranks; i++)
        status = rank_write(&trace, &set->ranks[i]);
    if (status == HOOP_OK)
        flows_write(&trace);
    metadata_write(&trace, &set->alignment);
    free(trace.ends);
    return status;
}
