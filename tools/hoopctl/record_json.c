/* hoopctl/record_json.c - records in hoop's own format: docs/recorder.md */

#include <hoop/comm.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "hoopctl/json.h"
#include "hoopctl/record.h"

enum {
    RECORD_JSON_VERSION = 1,
};

static json_t *
rank_or_null(uint32_t rank)
{
    return rank == HOOP_NO_RANK ? json_null() : json_integer(rank);
}

static json_t *
time_or_null(uint64_t time_ns)
{
    return time_ns == 0 ? json_null() : json_number(time_ns);
}

static json_t *
error_or_null(uint64_t error_ns)
{
    return error_ns == UINT64_MAX ? json_null() : json_number(error_ns);
}

static json_t *
text_or_null(const char *text)
{
    return text[0] ? json_text(text) : json_null();
}

static json_t *
path_list(uint32_t path)
{
    static const char *const names[] = {"inline", "region", "ring", "socket"};
    json_t *list = json_array();

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (path & 1U << i)
            json_array_append_new(list, json_string(names[i]));
    }
    return list;
}

static json_t *
call_to_json(const struct hoop_recorded_call *call)
{
    json_t *object = json_pack(
        "{so so so ss so so so so so}", "place", json_number(call->place),
        "number", call->number ? json_number(call->number) : json_null(),
        "wire_number", json_number(call->wire_number), "kind", call->kind,
        "dtype", text_or_null(call->dtype), "reduce_op",
        text_or_null(call->reduce_op), "algorithm",
        text_or_null(call->algorithm), "communicator", json_number(call->comm),
        "tag", call->is_message ? json_number(call->tag) : json_null());
    json_t *rest = json_pack(
        "{so so so ss ss so si sb}", "peer", rank_or_null(call->peer), "count",
        json_number(call->count), "bytes", json_number(call->n_bytes), "state",
        record_state_name(call->state), "status",
        hoop_status_name(call->status), "path", path_list(call->path),
        "retries", (int)call->retries, "partial", (int)call->is_partial);
    json_t *times = json_pack(
        "{so so so so so so so so so}", "called_ns",
        time_or_null(call->called_ns), "begun_ns", time_or_null(call->begun_ns),
        "first_byte_ns", time_or_null(call->first_byte_ns), "last_byte_ns",
        time_or_null(call->last_byte_ns), "ended_ns",
        time_or_null(call->ended_ns), "waiting_for",
        rank_or_null(call->waiting_since_ns ? call->waiting_for : HOOP_NO_RANK),
        "waiting_since_ns", time_or_null(call->waiting_since_ns), "waited_for",
        rank_or_null(call->waited_for), "waited_ns",
        json_number(call->waited_ns));

    json_object_update(object, rest);
    json_object_update(object, times);
    json_decref(rest);
    json_decref(times);
    return object;
}

static json_t *
comm_to_json(const struct hoop_recorded_comm *comm)
{
    json_t *ranks = comm->ranks ? json_array() : json_null();

    for (uint32_t i = 0; comm->ranks && i < comm->size; i++)
        json_array_append_new(ranks, json_integer(comm->ranks[i]));
    return json_pack("{so so si si so sb}", "id", json_number(comm->id), "name",
                     text_or_null(comm->name), "rank", (int)comm->rank, "size",
                     (int)comm->size, "ranks", ranks, "open",
                     (int)comm->is_open);
}

/* Write object behind what came before, and release it. */
static void
dump_next(FILE *out, const char **separator, json_t *object)
{
    fputs(*separator, out);
    json_dumpf(object, out, JSON_COMPACT | JSON_ENSURE_ASCII);
    json_decref(object);
    *separator = ",\n";
}

/* The members that describe the rank, without the final brace. */
static void
origin_write(FILE *out, const struct hoop_recorded_rank *origin)
{
    json_t *object = json_pack(
        "{so so si si si so so so so so sb}", "job", json_text(origin->job),
        "host", json_text(origin->host), "rank", (int)origin->rank, "size",
        (int)origin->size, "pid", (int)origin->pid, "epoch",
        json_number(origin->epoch), "started_ns",
        json_number(origin->started_ns), "seen_ns",
        json_number(origin->seen_ns), "clock_error_ns",
        error_or_null(origin->clock_error_ns), "dropped",
        json_number(origin->n_dropped), "closed", (int)origin->is_closed);
    json_object_set_new(object, "run",
                        json_sprintf("%016" PRIx64, origin->run));
    char *text = json_dumps(object, JSON_COMPACT | JSON_ENSURE_ASCII);

    if (text)
        fprintf(out, "%.*s", (int)strlen(text) - 1, text);
    free(text);
    json_decref(object);
}

/* On which clock all times are. */
static void
clock_write(FILE *out, const struct hoop_recorded_alignment *alignment)
{
    json_t *object =
        json_pack("{ss so so}", "of", record_clock_name(alignment->clock),
                  "error_ns", error_or_null(alignment->error_ns),
                  "rank_error_ns", error_or_null(alignment->rank_error_ns));

    json_dumpf(object, out, JSON_COMPACT);
    json_decref(object);
}

/* Objects are written one by one, because all of them in memory would be many
 * times the records. */
void
record_write_json(const struct record_set *set, FILE *out)
{
    fprintf(out, "{\"format\":\"hoop record\",\"version\":%d,\"clock\":",
            RECORD_JSON_VERSION);
    clock_write(out, &set->alignment);
    fputs(",\"ranks\":[", out);
    for (size_t i = 0; i < set->n_ranks; i++) {
        const struct rank_record *rank = &set->ranks[i];
        const char *separator = "\n";

        fputs(i > 0 ? ",\n" : "\n", out);
        origin_write(out, rank->origin);
        fputs(",\"communicators\":[", out);
        for (size_t comm = 0; comm < rank->n_comms; comm++)
            dump_next(out, &separator, comm_to_json(&rank->comms[comm]));
        fputs("],\"calls\":[", out);
        separator = "\n";
        for (size_t call = 0; call < rank->n_calls; call++)
            dump_next(out, &separator, call_to_json(&rank->calls[call]));
        fputs("]}", out);
    }
    fputs("]}\n", out);
}
