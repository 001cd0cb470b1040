/*
 * recorder/recording.c - reads the memory of a recorder
 *
 * The writer does not wait for a reader. A reader reads the whole file three
 * times: what a word stands for is whole in the second copy if the word is the
 * same in the first and the third. Records that changed meanwhile are read
 * again. Reads of a file are no races, and a file that is cut off while it is
 * read raises no signal, as a mapping would.
 */

#include "recorder/recording.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hoop/comm.h"

#include "base/cleanup.h"
#include "base/error.h"

enum {
    READS_AGAIN_MAX = 200, /* of a record that changes while it is read */
};

/* Messages that form a communicator are numbered from here (engine/context.h);
 * they are the library's own. */
static const uint64_t FORMING_MESSAGES_FROM = (uint64_t)1 << 32;

void
hoop_recording_destroy(hoop_recording_t *recording)
{
    if (!recording)
        return;
    free(recording->calls);
    free(recording->comms);
    free(recording->n_forming);
    free(recording->members);
    free(recording);
}

DEFINE_CLEANUP(hoop_recording_t *, hoop_recording_destroy)

/*
 * The pure half.
 */

static uint64_t
load(const _Atomic uint64_t *member)
{
    return atomic_load_explicit(member, memory_order_relaxed);
}

/* Copy a text that need not end, of as many bytes as there is room. */
static void
text_copy(char *out_text, size_t n_room, const char *text)
{
    memcpy(out_text, text, n_room);
    out_text[n_room - 1] = '\0';
}

static enum hoop_status
header_check(const struct recorder_header *header)
{
    if (header->magic == __builtin_bswap64(RECORDER_MAGIC))
        return error_raise(HOOP_E_INVALID,
                           "the record was written on a host that stores "
                           "numbers in another order of bytes: read it there");
    if (header->magic != RECORDER_MAGIC)
        return error_raise(HOOP_E_INVALID, "this is not a record of hoop");
    if (header->version != RECORDER_VERSION)
        return error_raise(HOOP_E_INVALID,
                           "the record has version %u, and this hoop reads "
                           "version %d: read it with the hoop that wrote it",
                           header->version, RECORDER_VERSION);
    if (header->n_names != RECORDER_NAMES ||
        header->n_comms != LIMIT_RECORDER_COMMS ||
        header->n_members != LIMIT_RECORDER_MEMBERS ||
        header->n_slots != LIMIT_RECORDER_CALLS ||
        header->slot_bytes != sizeof(struct recorder_slot) ||
        header->n_bytes != sizeof(struct recorder_memory))
        return error_raise(HOOP_E_DATA_LOSS, "the record's header is damaged");
    if (header->size > LIMIT_RANKS || header->rank >= header->size ||
        load(&header->calibration.n_moments) == 0)
        return error_raise(HOOP_E_DATA_LOSS,
                           "the record's header is damaged: rank %u of %u",
                           header->rank, header->size);
    return HOOP_OK;
}

/* What turns readings of the counter into times. */
struct time_scale {
    struct recorder_moment last;
    double ns_per_count;
    double error_per_ns; /* of that rate; negative: it is not known */
    double error_ns;     /* the largest so far */
};

static struct time_scale
time_scale_make(const struct recorder_header *header)
{
    const struct recorder_calibration *calibration = &header->calibration;
    const uint64_t n = load(&calibration->n_moments);
    const struct recorder_moment *first = &calibration->moments[0];
    const struct recorder_moment *last =
        &calibration->moments[recorder_moment_place(n - 1)];
    struct time_scale scale = {.last = *last, .error_per_ns = -1};

    if (!header->is_processor_counter) {
        scale.ns_per_count = 1;
        scale.error_per_ns = 0;
    } else if (last->counter > first->counter &&
               last->monotonic_ns > first->monotonic_ns) {
        const double span_ns =
            (double)(last->monotonic_ns - first->monotonic_ns);

        scale.ns_per_count = span_ns / (double)(last->counter - first->counter);
        scale.error_per_ns =
            ((double)first->error_ns + (double)last->error_ns) / span_ns;
    }
    scale.error_ns = (double)last->error_ns;
    return scale;
}

/* Returns a duration that a record can have. */
static uint64_t
scale_duration(const struct time_scale *scale, uint64_t counts)
{
    const double ns = (double)counts * scale->ns_per_count;

    return ns < (double)INT64_MAX ? (uint64_t)ns : INT64_MAX;
}

/* Returns the time of a reading, or 0 if there is none. */
static uint64_t
scale_time(struct time_scale *scale, uint64_t counter)
{
    if (counter == 0)
        return 0;
    const bool is_before = counter <= scale->last.counter;
    const uint64_t distance =
        scale_duration(scale, is_before ? scale->last.counter - counter
                                        : counter - scale->last.counter);
    const double error_ns =
        (double)scale->last.error_ns + (double)distance * scale->error_per_ns;

    if (error_ns > scale->error_ns)
        scale->error_ns = error_ns;
    if (is_before)
        return distance < scale->last.wall_ns ? scale->last.wall_ns - distance
                                              : 1;
    return distance < UINT64_MAX - scale->last.wall_ns
               ? scale->last.wall_ns + distance
               : UINT64_MAX;
}

static void
origin_parse(hoop_recording_t *recording, const struct recorder_header *header)
{
    struct hoop_recorded_rank *origin = &recording->origin;
    const struct recorder_calibration *calibration = &header->calibration;
    const uint64_t n = load(&calibration->n_moments);
    const uint64_t n_comparisons = load(&header->n_comparisons);
    const struct recorder_moment *last =
        &calibration->moments[recorder_moment_place(n - 1)];

    text_copy(origin->job, sizeof(origin->job), header->job);
    text_copy(origin->host, sizeof(origin->host), header->host);
    origin->rank = header->rank;
    origin->size = header->size;
    origin->pid = header->pid;
    origin->epoch = header->epoch;
    origin->run = header->run;
    origin->started_ns = calibration->moments[0].wall_ns;
    origin->seen_ns = last->wall_ns;
    origin->n_dropped = load(&header->n_dropped);
    origin->is_closed = load(&header->is_closed) != 0;
    recording->clock_id = header->clock_id;
    recording->wall_minus_monotonic = last->wall_ns - last->monotonic_ns;
    recording->is_compared = n_comparisons > 0;
    recording->comparison =
        header->comparisons[(n_comparisons - 1) % RECORDER_COMPARISONS];
}

/* Every byte of a name is printable ASCII. */
static void
names_parse(hoop_recording_t *recording, const struct recorder_memory *memory)
{
    for (size_t table = 0; table < RECORDER_TABLES; table++) {
        for (size_t id = 0; id < RECORDER_NAMES; id++) {
            char *name = recording->names[table][id];

            text_copy(name, RECORDER_NAME_BYTES, memory->names[table][id]);
            for (; *name; name++) {
                if (*name < ' ' || *name > '~')
                    *name = '?';
            }
        }
    }
}

/* Copy the members of a communicator behind *n_members others. Returns NULL if
 * they are not known, or not all. */
static const uint32_t *
members_parse(hoop_recording_t *recording,
              const struct recorder_memory *memory,
              const struct recorder_comm *entry,
              size_t *n_members)
{
    const uint64_t n_stored = load(&memory->header.n_members_stored);
    uint32_t *members = recording->members + *n_members;

    if (entry->is_prefix || entry->size > LIMIT_RECORDER_MEMBERS ||
        entry->first_member > n_stored ||
        n_stored - entry->first_member > LIMIT_RECORDER_MEMBERS ||
        n_stored - entry->first_member < entry->size ||
        LIMIT_RECORDER_MEMBERS - *n_members < entry->size)
        return NULL;
    for (uint32_t i = 0; i < entry->size; i++) {
        members[i] =
            memory->members[(entry->first_member + i) % LIMIT_RECORDER_MEMBERS];
        if (members[i] >= memory->header.size)
            return NULL;
    }
    *n_members += entry->size;
    return members;
}

/* The world's ranks in order are behind those of all communicators. */
static const uint32_t *
prefix_members(const hoop_recording_t *recording)
{
    return recording->members + LIMIT_RECORDER_MEMBERS;
}

static void
comms_parse(hoop_recording_t *recording, const struct recorder_memory *memory)
{
    size_t n_members = 0;

    for (uint32_t i = 0; i < recording->origin.size; i++)
        recording->members[LIMIT_RECORDER_MEMBERS + i] = i;
    for (size_t i = 0; i < LIMIT_RECORDER_COMMS; i++) {
        const struct recorder_comm *entry = &memory->comms[i];
        const uint64_t word = load(&entry->word);
        struct hoop_recorded_comm *comm = &recording->comms[recording->n_comms];

        if (word == 0 || word % 2 == 1 || entry->size == 0 ||
            entry->size > recording->origin.size || entry->rank >= entry->size)
            continue;
        comm->id = entry->id;
        comm->rank = entry->rank;
        comm->size = entry->size;
        comm->is_open = entry->is_open != 0;
        text_copy(comm->name, sizeof(comm->name), entry->name);
        comm->ranks = entry->is_prefix
                          ? prefix_members(recording)
                          : members_parse(recording, memory, entry, &n_members);
        recording->n_forming[recording->n_comms++] = entry->n_forming;
    }
}

static const char *
name_find(const hoop_recording_t *recording,
          enum recorder_table table,
          size_t id)
{
    return id < RECORDER_NAMES ? recording->names[table][id] : "";
}

/* Returns the number that users are told. */
static uint64_t
user_number(const hoop_recording_t *recording,
            const struct hoop_recorded_call *call)
{
    if (call->is_message)
        return call->wire_number < FORMING_MESSAGES_FROM ? call->wire_number
                                                         : 0;
    for (size_t i = 0; i < recording->n_comms; i++) {
        if (recording->comms[i].id == call->comm)
            return call->wire_number > recording->n_forming[i]
                       ? call->wire_number - recording->n_forming[i]
                       : 0;
    }
    return 0;
}

static bool
kind_is_message(const char *kind)
{
    return strncmp(kind, "send", 4) == 0 || strncmp(kind, "recv", 4) == 0;
}

static void
call_parse_times(struct hoop_recorded_call *call,
                 const struct recorder_slot *slot,
                 struct time_scale *scale)
{
    call->called_ns = scale_time(scale, load(&slot->called));
    call->begun_ns = scale_time(scale, load(&slot->begun));
    call->first_byte_ns = scale_time(scale, load(&slot->first_byte));
    call->last_byte_ns = scale_time(scale, load(&slot->last_byte));
    call->ended_ns = scale_time(scale, load(&slot->ended));
    call->waiting_since_ns = scale_time(scale, load(&slot->waiting_since));
    call->waited_ns = scale_duration(scale, load(&slot->waited));
    call->waiting_for = slot->waiting_for;
    call->waited_for = slot->waited_for;
}

static void
call_parse(hoop_recording_t *recording,
           const struct recorder_slot *slot,
           struct time_scale *scale)
{
    const uint64_t word = load(&slot->word);
    const enum recorder_state state = recorder_word_state(word);
    struct hoop_recorded_call *call = &recording->calls[recording->n_calls];

    if (state == RECORDER_EMPTY || state > RECORDER_FAILED)
        return;
    call->place = word >> RECORDER_CLAIM_SHIFT;
    call->is_partial = word & RECORDER_IS_BEING_WRITTEN;
    call->state = (enum hoop_recorded_state)state;
    call->wire_number = load(&slot->number);
    call->kind = name_find(recording, RECORDER_KINDS, slot->kind);
    call->dtype = name_find(recording, RECORDER_DTYPES, slot->dtype);
    call->reduce_op =
        name_find(recording, RECORDER_REDUCE_OPS, slot->reduce_op);
    call->algorithm =
        name_find(recording, RECORDER_ALGORITHMS, slot->algorithm);
    call->status = (enum hoop_status)slot->status;
    call->comm = load(&slot->comm);
    call->tag = load(&slot->tag);
    call->count = load(&slot->count);
    call->n_bytes = load(&slot->n_bytes);
    call->peer = slot->peer;
    call->path = slot->path;
    call->retries = slot->retries;
    call->is_message = kind_is_message(call->kind);
    call->number = user_number(recording, call);
    call_parse_times(call, slot, scale);
    recording->n_calls++;
}

static int
call_compare(const void *a, const void *b)
{
    const struct hoop_recorded_call *left = a;
    const struct hoop_recorded_call *right = b;

    return (left->place > right->place) - (left->place < right->place);
}

static void
calls_parse(hoop_recording_t *recording, const struct recorder_memory *memory)
{
    struct time_scale scale = time_scale_make(&memory->header);

    for (size_t i = 0; i < LIMIT_RECORDER_CALLS; i++)
        call_parse(recording, &memory->slots[i], &scale);
    qsort(recording->calls, recording->n_calls, sizeof(*recording->calls),
          call_compare);
    recording->origin.clock_error_ns =
        scale.error_per_ns < 0 || scale.error_ns >= (double)INT64_MAX
            ? UINT64_MAX
            : (uint64_t)scale.error_ns;
}

static enum hoop_status
recording_allocate(uint32_t n_ranks, hoop_recording_t **out_recording)
{
    CLEANUP(hoop_recording_destroy)
    hoop_recording_t *recording = calloc(1, sizeof(*recording));

    if (recording) {
        recording->calls =
            calloc(LIMIT_RECORDER_CALLS, sizeof(*recording->calls));
        recording->comms =
            calloc(LIMIT_RECORDER_COMMS, sizeof(*recording->comms));
        recording->n_forming =
            calloc(LIMIT_RECORDER_COMMS, sizeof(*recording->n_forming));
        recording->members = calloc(LIMIT_RECORDER_MEMBERS + (size_t)n_ranks,
                                    sizeof(*recording->members));
    }
    if (!recording || !recording->calls || !recording->comms ||
        !recording->n_forming || !recording->members)
        return error_raise(HOOP_E_EXHAUSTED, "no memory to read a record");
    *out_recording = STEAL(recording);
    return HOOP_OK;
}

enum hoop_status
recording_parse(const uint8_t *bytes,
                size_t n_bytes,
                hoop_recording_t **out_recording)
{
    const struct recorder_memory *memory =
        (const struct recorder_memory *)(const void *)bytes;
    CLEANUP(hoop_recording_destroy) hoop_recording_t *recording = NULL;

    if (n_bytes < sizeof(memory->header) || n_bytes % 8 != 0)
        return error_raise(HOOP_E_INVALID, "this is not a record of hoop");
    enum hoop_status status = header_check(&memory->header);
    if (status != HOOP_OK)
        return error_pass(status);
    if (n_bytes != sizeof(*memory))
        return error_raise(HOOP_E_DATA_LOSS,
                           "the record is cut off: it has %zu of %zu bytes",
                           n_bytes, sizeof(*memory));
    status = recording_allocate(memory->header.size, &recording);
    if (status != HOOP_OK)
        return error_pass(status);
    origin_parse(recording, &memory->header);
    names_parse(recording, memory);
    comms_parse(recording, memory);
    calls_parse(recording, memory);
    *out_recording = STEAL(recording);
    return HOOP_OK;
}

/*
 * The copy.
 */

/* Three copies of a file, one after the other. */
struct copies {
    int fd;
    struct recorder_memory *before;
    struct recorder_memory *memory; /* this one is returned */
    struct recorder_memory *after;
};

/* For CLEANUP. */
static void
copies_free_at(struct copies *copies)
{
    free(copies->before);
    free(copies->memory);
    free(copies->after);
}

static enum hoop_status
read_at(int fd, size_t offset, void *out_bytes, size_t n_bytes)
{
    size_t n_read = 0;

    while (n_read < n_bytes) {
        const ssize_t n = pread(fd, (uint8_t *)out_bytes + n_read,
                                n_bytes - n_read, (off_t)(offset + n_read));

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return error_raise(HOOP_E_DATA_LOSS,
                               "the record cannot be read: %s",
                               strerror(errno));
        if (n == 0)
            return error_raise(HOOP_E_DATA_LOSS, "the record is cut off");
        n_read += (size_t)n;
    }
    return HOOP_OK;
}

/* Read a part of the file three times again. */
static enum hoop_status
copies_read(const struct copies *copies, size_t offset, size_t n_bytes)
{
    struct recorder_memory *const all[] = {copies->before, copies->memory,
                                           copies->after};
    enum hoop_status status = HOOP_OK;

    for (size_t i = 0; status == HOOP_OK && i < COUNT_OF(all); i++)
        status =
            read_at(copies->fd, offset, (uint8_t *)all[i] + offset, n_bytes);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

/* Returns whether the word at offset was the same before and after. */
static bool
is_word_same(const struct copies *copies, size_t offset)
{
    uint64_t words[3];

    memcpy(&words[0], (const uint8_t *)copies->before + offset, 8);
    memcpy(&words[1], (const uint8_t *)copies->memory + offset, 8);
    memcpy(&words[2], (const uint8_t *)copies->after + offset, 8);
    return words[0] == words[1] && words[1] == words[2];
}

/* Read what begins with a word until it is whole, or for so long that its
 * writer must have been stopped, or killed, in between: then the word says
 * so. */
static enum hoop_status
copies_settle(const struct copies *copies, size_t offset, size_t n_bytes)
{
    for (unsigned i = 0; i < READS_AGAIN_MAX; i++) {
        uint64_t word;

        memcpy(&word, (const uint8_t *)copies->memory + offset, sizeof(word));
        if (is_word_same(copies, offset) && !(word & RECORDER_IS_BEING_WRITTEN))
            return HOOP_OK;
        const enum hoop_status status = copies_read(copies, offset, n_bytes);
        if (status != HOOP_OK)
            return error_pass(status);
    }
    return HOOP_OK;
}

/* A slot that did not settle has a beginning that is right if it has been of
 * one call all the time. */
static enum hoop_status
slot_settle(const struct copies *copies, size_t i)
{
    const size_t offset = offsetof(struct recorder_memory, slots) +
                          i * sizeof(struct recorder_slot);
    const enum hoop_status status =
        copies_settle(copies, offset, sizeof(struct recorder_slot));
    struct recorder_slot *slot = &copies->memory->slots[i];
    const uint64_t before = load(&copies->before->slots[i].word);
    const uint64_t after = load(&copies->after->slots[i].word);

    if (status != HOOP_OK)
        return error_pass(status);
    if (is_word_same(copies, offset))
        return HOOP_OK;
    if (before >> RECORDER_CLAIM_SHIFT != after >> RECORDER_CLAIM_SHIFT ||
        recorder_word_state(before) == RECORDER_EMPTY)
        atomic_store(&slot->word, 0);
    else
        atomic_store(&slot->word,
                     load(&slot->word) | RECORDER_IS_BEING_WRITTEN);
    return HOOP_OK;
}

static enum hoop_status
comm_settle(const struct copies *copies, size_t i)
{
    const size_t offset = offsetof(struct recorder_memory, comms) +
                          i * sizeof(struct recorder_comm);
    const enum hoop_status status =
        copies_settle(copies, offset, sizeof(struct recorder_comm));

    if (status != HOOP_OK)
        return error_pass(status);
    if (!is_word_same(copies, offset))
        atomic_store(&copies->memory->comms[i].word, 0);
    return HOOP_OK;
}

static enum hoop_status
header_settle(const struct copies *copies)
{
    const size_t moments =
        offsetof(struct recorder_memory, header.calibration.n_moments);
    const size_t comparisons =
        offsetof(struct recorder_memory, header.n_comparisons);
    enum hoop_status status = HOOP_OK;

    for (unsigned i = 0;
         status == HOOP_OK && i < READS_AGAIN_MAX &&
         !(is_word_same(copies, moments) && is_word_same(copies, comparisons));
         i++)
        status = copies_read(copies, 0, sizeof(struct recorder_header));
    if (status != HOOP_OK)
        return error_pass(status);
    /* Members that were stored meanwhile may be written over these. */
    atomic_store(&copies->memory->header.n_members_stored,
                 load(&copies->after->header.n_members_stored));
    return HOOP_OK;
}

static enum hoop_status
copies_settle_all(const struct copies *copies)
{
    enum hoop_status status = header_settle(copies);

    for (size_t i = 0; status == HOOP_OK && i < LIMIT_RECORDER_COMMS; i++)
        status = comm_settle(copies, i);
    for (size_t i = 0; status == HOOP_OK && i < LIMIT_RECORDER_CALLS; i++)
        status = slot_settle(copies, i);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

/* Refuse what is no record before all of it is read. */
static enum hoop_status
file_check(int fd)
{
    struct recorder_header header;
    struct stat file;

    if (fstat(fd, &file) < 0 || !S_ISREG(file.st_mode) ||
        file.st_size < (off_t)sizeof(header))
        return error_raise(HOOP_E_INVALID, "this is not a record of hoop");
    enum hoop_status status = read_at(fd, 0, &header, sizeof(header));
    if (status == HOOP_OK)
        status = header_check(&header);
    if (status != HOOP_OK)
        return error_pass(status);
    if (file.st_size != (off_t)sizeof(struct recorder_memory))
        return error_raise(
            HOOP_E_DATA_LOSS, "the record is cut off: it has %jd of %zu bytes",
            (intmax_t)file.st_size, sizeof(struct recorder_memory));
    return HOOP_OK;
}

static enum hoop_status
copies_take(struct copies *copies)
{
    const size_t n_bytes = sizeof(struct recorder_memory);
    enum hoop_status status = file_check(copies->fd);

    if (status != HOOP_OK)
        return error_pass(status);
    copies->before = aligned_alloc(_Alignof(struct recorder_memory), n_bytes);
    copies->memory = aligned_alloc(_Alignof(struct recorder_memory), n_bytes);
    copies->after = aligned_alloc(_Alignof(struct recorder_memory), n_bytes);
    if (!copies->before || !copies->memory || !copies->after)
        return error_raise(HOOP_E_EXHAUSTED, "no memory to read a record");
    status = copies_read(copies, 0, n_bytes);
    if (status == HOOP_OK)
        status = copies_settle_all(copies);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
recording_copy(int fd, struct recorder_memory **out_memory)
{
    CLEANUP(copies_free) struct copies copies = {.fd = fd};
    const enum hoop_status status = copies_take(&copies);

    if (status != HOOP_OK)
        return error_pass(status);
    *out_memory = STEAL(copies.memory);
    return HOOP_OK;
}

enum hoop_status
hoop_recording_read(const char *path, hoop_recording_t **out_recording)
{
    CLEANUP(free) struct recorder_memory *memory = NULL;

    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!path || !out_recording)
        return error_raise(HOOP_E_INVALID, "%s is NULL",
                           path ? "out_recording" : "path");
    /* A pipe of that name must not stop the reader. */
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return error_raise(HOOP_E_NOT_FOUND, "'%.300s' cannot be opened: %s",
                           path, strerror(errno));
    enum hoop_status status = recording_copy(fd, &memory);
    close(fd);
    if (status == HOOP_OK)
        status = recording_parse((const uint8_t *)memory, sizeof(*memory),
                                 out_recording);
    if (status != HOOP_OK) {
        char why[LIMIT_ERROR_TEXT];

        snprintf(why, sizeof(why), "%s", error_text());
        return error_raise(status, "'%.300s': %.600s", path, why);
    }
    return HOOP_OK;
}

const struct hoop_recorded_rank *
hoop_recording_origin(const hoop_recording_t *recording)
{
    static const struct hoop_recorded_rank nobody = {.n_dropped = 0};

    return recording ? &recording->origin : &nobody;
}

const struct hoop_recorded_call *
hoop_recording_calls(const hoop_recording_t *recording, size_t *out_n_calls)
{
    if (out_n_calls)
        *out_n_calls = recording ? recording->n_calls : 0;
    return recording ? recording->calls : NULL;
}

const struct hoop_recorded_comm *
hoop_recording_comms(const hoop_recording_t *recording, size_t *out_n_comms)
{
    if (out_n_comms)
        *out_n_comms = recording ? recording->n_comms : 0;
    return recording ? recording->comms : NULL;
}
