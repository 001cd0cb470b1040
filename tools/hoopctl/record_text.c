/*
 * hoopctl/record_text.c - records for people: in which call each rank is, or
 * what it called last
 */

#include <hoop/comm.h>
#include <inttypes.h>
#include <string.h>

#include "hoopctl/record.h"
#include "hoopctl/shown.h"

enum {
    MEMBERS_MAX = 8, /* of a communicator, that are listed */
};

/* Returns the call under way that was made first, else the last one; NULL:
 * there is none. *out_n_unended is how many are under way. */
static const struct hoop_recorded_call *
call_choose(const struct rank_record *rank, size_t *out_n_unended)
{
    const struct hoop_recorded_call *chosen = NULL;

    *out_n_unended = 0;
    for (size_t i = 0; i < rank->n_calls; i++) {
        if (rank->calls[i].ended_ns == 0 && (*out_n_unended)++ == 0)
            chosen = &rank->calls[i];
    }
    if (!chosen && rank->n_calls > 0)
        chosen = &rank->calls[rank->n_calls - 1];
    return chosen;
}

static void
parameters_show(FILE *out, const struct hoop_recorded_call *call)
{
    if (!call->dtype[0])
        return;
    fprintf(out, " (%s, %" PRIu64 " element%s%s%s)", call->dtype, call->count,
            call->count == 1 ? "" : "s", call->reduce_op[0] ? ", " : "",
            call->reduce_op);
}

static void
comm_show(FILE *out,
          const struct rank_record *rank,
          const struct hoop_recorded_call *call)
{
    const struct hoop_recorded_comm *comm = record_find_comm(rank, call->comm);
    struct shown name;

    if (comm && comm->name[0])
        fprintf(out, " of '%s'", show(comm->name, &name));
    else
        fprintf(out, " of communicator @%" PRIu64, call->comm);
    if (!comm || comm->name[0])
        return;
    if (!comm->ranks || comm->size > MEMBERS_MAX) {
        fprintf(out, " (%u ranks)", comm->size);
        return;
    }
    for (uint32_t i = 0; i < comm->size; i++)
        fprintf(out, "%s%u",
                i > 0            ? ", "
                : comm->size > 1 ? " (ranks "
                                 : " (rank ",
                comm->ranks[i]);
    fputs(")", out);
}

/* The library's own messages have greater tags. */
static bool
is_message_of_user(const struct hoop_recorded_call *call)
{
    return call->is_message && call->tag <= (uint64_t)1 << 62;
}

static void
call_show(FILE *out,
          const struct rank_record *rank,
          const struct hoop_recorded_call *call)
{
    const uint32_t peer = record_world_rank(rank, call->comm, call->peer);

    fputs(call->kind, out);
    if (call->number > 0)
        fprintf(out, " #%" PRIu64, call->number);
    if (call->is_message && peer != HOOP_NO_RANK)
        fprintf(out, " %s rank %u",
                strncmp(call->kind, "send", 4) == 0 ? "to" : "from", peer);
    if (is_message_of_user(call))
        fprintf(out, ", tag %" PRIu64, call->tag);
    parameters_show(out, call);
    comm_show(out, rank, call);
}

static double
seconds_until_known(const struct rank_record *rank, uint64_t since_ns)
{
    return rank->known_ns > since_ns ? (double)(rank->known_ns - since_ns) / 1e9
                                     : 0;
}

static void
unended_show(FILE *out,
             const struct rank_record *rank,
             const struct hoop_recorded_call *call,
             size_t n_unended)
{
    fputs("in ", out);
    call_show(out, rank, call);
    fprintf(out, " for %.1f s", seconds_until_known(rank, call->called_ns));
    if (call->waiting_since_ns != 0)
        fprintf(out, ", waits for rank %u", call->waiting_for);
    if (n_unended > 1)
        fprintf(out, ", and in %zu more", n_unended - 1);
}

static void
ended_show(FILE *out,
           const struct rank_record *rank,
           const struct hoop_recorded_call *call)
{
    if (rank->origin->is_closed)
        fputs("has left the job, last in ", out);
    else
        fprintf(out, "in no call for %.1f s, last in ",
                seconds_until_known(rank, call->ended_ns));
    call_show(out, rank, call);
    if (call->state == HOOP_RECORDED_FAILED)
        fprintf(out, ", which failed: %s", hoop_status_name(call->status));
    if (call->state == HOOP_RECORDED_FAILED && call->waited_for != HOOP_NO_RANK)
        fprintf(out, ", waiting for rank %u", call->waited_for);
}

static void
rank_show(FILE *out, const struct rank_record *rank)
{
    const struct hoop_recorded_rank *origin = rank->origin;
    char seen[RECORD_TIME_TEXT];
    struct shown host;
    size_t n_unended;
    const struct hoop_recorded_call *call = call_choose(rank, &n_unended);

    fprintf(out, "%6u %s:%u  ", origin->rank, show(origin->host, &host),
            origin->pid);
    if (!call)
        fputs("has called nothing", out);
    else if (n_unended > 0)
        unended_show(out, rank, call, n_unended);
    else
        ended_show(out, rank, call);
    if (!rank->is_running)
        fprintf(out, "; seen last %s", record_time_text(rank->known_ns, seen));
    fputs("\n", out);
}

/* "  0.152 s ago  send to rank 2, tag 78 (int32, 1 element) of 'world', 0.013
 * ms" */
static void
last_call_show(FILE *out,
               const struct rank_record *rank,
               const struct hoop_recorded_call *call)
{
    fprintf(out, "%18.3f s ago  ", seconds_until_known(rank, call->called_ns));
    call_show(out, rank, call);
    if (call->ended_ns == 0)
        fputs(", under way\n", out);
    else
        fprintf(out, ", %s%.3f ms\n",
                call->state == HOOP_RECORDED_FAILED ? "failed after " : "",
                (double)(call->ended_ns - call->called_ns) / 1e6);
}

/* The oldest first. */
static void
last_calls_show(FILE *out, const struct rank_record *rank, size_t n_last_calls)
{
    const size_t n =
        n_last_calls < rank->n_calls ? n_last_calls : rank->n_calls;

    for (size_t i = rank->n_calls - n; i < rank->n_calls; i++)
        last_call_show(out, rank, &rank->calls[i]);
}

void
record_write_text(const struct record_set *set, size_t n_last_calls, FILE *out)
{
    const struct hoop_recorded_rank *one = set->ranks[0].origin;
    struct shown job;
    uint32_t next = 0;

    fprintf(out,
            "job '%s', run %016" PRIx64 ": the records of %zu of %u ranks\n\n"
            "%6s %s\n",
            show(one->job, &job), one->run, set->n_ranks, one->size, "RANK",
            "PROCESS, CALL");
    for (size_t i = 0; i < set->n_ranks; i++) {
        for (; next < set->ranks[i].origin->rank; next++)
            fprintf(out, "%6u has no record here\n", next);
        rank_show(out, &set->ranks[i]);
        last_calls_show(out, &set->ranks[i], n_last_calls);
        next++;
    }
    for (; next < one->size; next++)
        fprintf(out, "%6u has no record here\n", next);
}
