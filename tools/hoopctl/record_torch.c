/*
 * hoopctl/record_torch.c - a record as PyTorch's flight recorder dumps it
 *
 * A pickle of protocol 2 with dictionaries, lists, texts and numbers, as
 * torch.distributed.flight_recorder reads it. It analyses collectives that it
 * knows by name; those that it does not know, and messages, which it expects of
 * all ranks of a group, are left out. It also expects the name of a backend that
 * it knows, so hoop appears as gloo.
 *
 * Records that have wrapped around begin at different calls on each rank. All
 * begin here with the first call of a communicator that no rank has lost.
 */

#include <hoop/comm.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "hoopctl/record.h"

/* What PyTorch calls a collective, and by what its count is multiplied to get
 * the elements of its input and output: 1 or the size of its communicator. */
static const struct torch_collective {
    const char *kind;
    const char *name;
    bool has_input_of_all;
    bool has_output_of_all;
} collectives[] = {
    {"allreduce", "all_reduce", false, false},
    {"allreduce_coalesced", "allreduce_coalesced", false, false},
    {"reduce", "reduce", false, false},
    {"broadcast", "broadcast", false, false},
    {"allgather", "all_gather", false, true},
    {"allgatherv", "all_gather_v", false, false},
    {"reduce_scatter", "reduce_scatter", true, false},
    {"reduce_scatterv", "reduce_scatter_v", false, false},
    {"barrier", "barrier", false, false},
    {"gather", "gather", false, true},
    {"gatherv", "gather", false, false},
    {"scatter", "scatter", true, false},
    {"scatterv", "scatter", false, false},
    {"alltoall", "all_to_all", true, true},
    {"alltoallv", "all_to_all_v_single", false, false},
};

static const struct torch_collective *
collective_find(const struct hoop_recorded_call *call)
{
    for (size_t i = 0; i < sizeof(collectives) / sizeof(collectives[0]); i++) {
        if (strcmp(collectives[i].kind, call->kind) == 0)
            return call->number > 0 ? &collectives[i] : NULL;
    }
    return NULL;
}

/*
 * Pickle.
 */

static void
pickle_bytes(FILE *out, uint64_t value, unsigned n_bytes)
{
    for (unsigned i = 0; i < n_bytes; i++)
        putc((int)(value >> (8 * i) & 0xff), out);
}

static void
pickle_text(FILE *out, const char *text)
{
    const size_t n = strlen(text);

    putc('X', out);
    pickle_bytes(out, n, 4);
    fwrite(text, 1, n, out);
}

/* LONG1 with nine bytes, the last of which says that it is not negative. */
static void
pickle_number(FILE *out, uint64_t number)
{
    putc(0x8a, out);
    putc(9, out);
    pickle_bytes(out, number, 8);
    putc(0, out);
}

static void
pickle_time(FILE *out, uint64_t time_ns)
{
    if (time_ns == 0)
        putc('N', out);
    else
        pickle_number(out, time_ns);
}

static void
pickle_bool(FILE *out, int is_true)
{
    putc(is_true ? 0x88 : 0x89, out);
}

/* A member of a dictionary: its key, and its value if that is a text or a
 * number. */
static void
member_text(FILE *out, const char *key, const char *text)
{
    pickle_text(out, key);
    pickle_text(out, text);
}

static void
member_number(FILE *out, const char *key, uint64_t number)
{
    pickle_text(out, key);
    pickle_number(out, number);
}

/* [[n]] */
static void
member_sizes(FILE *out, const char *key, uint64_t n)
{
    pickle_text(out, key);
    fputs("](](", out);
    pickle_number(out, n);
    fputs("ee", out);
}

/* [text] */
static void
member_texts(FILE *out, const char *key, const char *text)
{
    pickle_text(out, key);
    fputs("](", out);
    pickle_text(out, text);
    fputs("e", out);
}

/*
 * Entries.
 */

static const char *
comm_describe(uint64_t id, char text[32])
{
    snprintf(text, 32, "communicator %" PRIu64, id);
    return text;
}

/* A call that did not end well counts as started on all ranks: whether it was
 * only called, or also begun, is no difference between them. */
static const char *
state_name(const struct hoop_recorded_call *call)
{
    return call->state == HOOP_RECORDED_DONE ? "completed" : "started";
}

static void
entry_write_times(FILE *out, const struct hoop_recorded_call *call)
{
    const bool is_done = call->state == HOOP_RECORDED_DONE;

    member_number(out, "time_created_ns", call->called_ns);
    pickle_text(out, "time_discovered_started_ns");
    pickle_time(out, call->begun_ns);
    pickle_text(out, "time_discovered_completed_ns");
    pickle_time(out, is_done ? call->ended_ns : 0);
    pickle_text(out, "retired");
    pickle_bool(out, call->state >= HOOP_RECORDED_DONE);
}

static void
entry_write(FILE *out,
            const struct hoop_recorded_comm *comm,
            const struct hoop_recorded_call *call,
            uint64_t record_id)
{
    const struct torch_collective *collective = collective_find(call);
    const uint64_t n_all = call->count * comm->size;
    char text[64];

    fputs("}(", out);
    member_number(out, "record_id", record_id);
    member_number(out, "pg_id", call->comm);
    pickle_text(out, "process_group");
    snprintf(text, sizeof(text), "%" PRIu64, call->comm);
    pickle_text(out, text);
    pickle_text(out, comm_describe(call->comm, text));
    putc(0x86, out);
    member_number(out, "collective_seq_id", call->number);
    member_number(out, "p2p_seq_id", 0);
    member_number(out, "op_id", call->number);
    snprintf(text, sizeof(text), "gloo:%s", collective->name);
    member_text(out, "profiling_name", text);
    member_sizes(out, "input_sizes",
                 collective->has_input_of_all ? n_all : call->count);
    member_texts(out, "input_dtypes", call->dtype);
    member_sizes(out, "output_sizes",
                 collective->has_output_of_all ? n_all : call->count);
    member_texts(out, "output_dtypes", call->dtype);
    member_text(out, "state", state_name(call));
    entry_write_times(out, call);
    pickle_text(out, "is_p2p");
    pickle_bool(out, 0);
    pickle_text(out, "frames");
    fputs("]u", out);
}

/* Returns where a communicator's calls start, or NULL: it is not in starts. */
static struct record_start *
start_find(const struct record_starts *starts, uint64_t comm)
{
    for (size_t i = 0; i < starts->n_starts; i++) {
        if (starts->starts[i].comm == comm)
            return &starts->starts[i];
    }
    return NULL;
}

/* Returns NULL if there is no memory. */
static struct record_start *
start_add(struct record_starts *starts, uint64_t comm)
{
    struct record_start *more =
        realloc(starts->starts, (starts->n_starts + 1) * sizeof(*more));

    if (!more)
        return NULL;
    starts->starts = more;
    more[starts->n_starts] = (struct record_start){.comm = comm};
    return &more[starts->n_starts++];
}

/* Note the first call of each communicator that a rank, the n-th from 1, has not
 * lost. Returns false if there is no memory. */
static bool
starts_note(struct record_starts *starts,
            const struct rank_record *rank,
            size_t n)
{
    struct record_start *start = NULL;

    for (size_t i = 0; i < rank->n_calls; i++) {
        const struct hoop_recorded_call *call = &rank->calls[i];

        if (call->is_message)
            continue;
        if (!start || start->comm != call->comm)
            start = start_find(starts, call->comm);
        if (!start)
            start = start_add(starts, call->comm);
        if (!start)
            return false;
        if (start->n_ranks != n && call->number > start->number)
            start->number = call->number;
        start->n_ranks = n;
    }
    return true;
}

enum hoop_status
record_starts_find(const struct record_set *set,
                   struct record_starts *out_starts)
{
    *out_starts = (struct record_starts){0};
    for (size_t i = 0; i < set->n_ranks; i++) {
        const struct rank_record *rank = &set->ranks[i];
        const bool has_wrapped = rank->n_calls > 0 && rank->calls[0].place > 0;

        if (!has_wrapped || starts_note(out_starts, rank, i + 1))
            continue;
        free(out_starts->starts);
        return HOOP_E_EXHAUSTED;
    }
    return HOOP_OK;
}

static void
groups_write(const struct rank_record *rank, FILE *out)
{
    char text[64];

    pickle_text(out, "pg_config");
    fputs("}(", out);
    for (size_t i = 0; i < rank->n_comms; i++) {
        const struct hoop_recorded_comm *comm = &rank->comms[i];

        if (!comm->ranks)
            continue;
        snprintf(text, sizeof(text), "%" PRIu64, comm->id);
        pickle_text(out, text);
        fputs("}(", out);
        member_text(out, "name", text);
        member_text(out, "desc", comm_describe(comm->id, text));
        pickle_text(out, "ranks");
        /* A list of numbers, as a text: "[0, 1]". */
        putc('X', out);
        pickle_bytes(out, 12 * (uint64_t)comm->size + 2, 4);
        for (uint32_t member = 0; member < comm->size; member++)
            fprintf(out, "%c%10u,", member == 0 ? '[' : ' ',
                    comm->ranks[member]);
        fputs(" ]u", out);
    }
    fputs("u", out);
}

void
record_write_torch(const struct record_starts *starts,
                   const struct rank_record *rank,
                   FILE *out)
{
    const struct hoop_recorded_comm *comm = NULL;
    const struct record_start *start = NULL;
    uint64_t record_id = 0;

    fputs("\x80\x02}(", out);
    member_text(out, "version", "2.10");
    groups_write(rank, out);
    pickle_text(out, "entries");
    fputs("](", out);
    for (size_t i = 0; i < rank->n_calls; i++) {
        const struct hoop_recorded_call *call = &rank->calls[i];

        if (!comm || comm->id != call->comm) {
            comm = record_find_comm(rank, call->comm);
            start = start_find(starts, call->comm);
        }
        if (!collective_find(call) || !comm || !comm->ranks)
            continue;
        if (!start || call->number >= start->number)
            entry_write(out, comm, call, record_id++);
    }
    fputs("eu.", out);
}
