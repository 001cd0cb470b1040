/*
 * hoopctl/record.c - hoopctl record: writes what ranks called last
 *
 * The records are files, or folders of them (HOOP_RECORDER_DIR). Of a folder,
 * those of earlier jobs (*.previous.hoopr) are read only if they are named.
 */

#include "hoopctl/record.h"

#include <dirent.h>
#include <errno.h>
#include <hoop/comm.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hoopctl/command.h"

static const char suffix[] = ".hoopr";
static const char previous_suffix[] = ".previous.hoopr";

static bool
has_suffix(const char *name, const char *end)
{
    const size_t n = strlen(name);

    return n > strlen(end) && strcmp(name + n - strlen(end), end) == 0;
}

static enum hoop_status
no_memory(void)
{
    fprintf(stderr, "hoopctl: no memory for the records\n");
    return HOOP_E_EXHAUSTED;
}

static enum hoop_status
file_add(struct record_set *set, const char *path)
{
    hoop_recording_t *recording = NULL;
    const enum hoop_status status = hoop_recording_read(path, &recording);

    if (status != HOOP_OK) {
        fprintf(stderr, "hoopctl: %s\n", hoop_error_text());
        return status;
    }
    struct rank_record *ranks =
        realloc(set->ranks, (set->n_ranks + 1) * sizeof(*ranks));
    if (!ranks) {
        hoop_recording_destroy(recording);
        return no_memory();
    }
    struct rank_record *rank = &ranks[set->n_ranks++];
    rank->recording = recording;
    rank->origin = hoop_recording_origin(recording);
    rank->calls = hoop_recording_calls(recording, &rank->n_calls);
    rank->comms = hoop_recording_comms(recording, &rank->n_comms);
    set->ranks = ranks;
    return HOOP_OK;
}

static enum hoop_status
folder_add(struct record_set *set, const char *path)
{
    enum hoop_status status = HOOP_OK;
    const struct dirent *entry;
    DIR *folder = opendir(path);

    if (!folder) {
        fprintf(stderr, "hoopctl: '%s' cannot be read: %s\n", path,
                strerror(errno));
        return HOOP_E_NOT_FOUND;
    }
    while (status == HOOP_OK && (entry = readdir(folder))) {
        char file[PATH_MAX];

        if (entry->d_name[0] == '.' || !has_suffix(entry->d_name, suffix) ||
            has_suffix(entry->d_name, previous_suffix))
            continue;
        snprintf(file, sizeof(file), "%s/%s", path, entry->d_name);
        status = file_add(set, file);
    }
    closedir(folder);
    return status;
}

static enum hoop_status
place_add(struct record_set *set, const char *path)
{
    struct stat place;

    if (stat(path, &place) < 0) {
        fprintf(stderr,
                "hoopctl: there is no file or folder '%s' (%s); with "
                "HOOP_RECORDER_DIR, ranks keep their records in that folder\n",
                path, strerror(errno));
        return HOOP_E_NOT_FOUND;
    }
    return S_ISDIR(place.st_mode) ? folder_add(set, path) : file_add(set, path);
}

static int
rank_compare(const void *a, const void *b)
{
    const struct rank_record *left = a;
    const struct rank_record *right = b;

    return (left->origin->rank > right->origin->rank) -
           (left->origin->rank < right->origin->rank);
}

/* The records must be of the ranks of one world, each once. */
static enum hoop_status
set_check(const struct record_set *set)
{
    for (size_t i = 1; i < set->n_ranks; i++) {
        const struct hoop_recorded_rank *one = set->ranks[i - 1].origin;
        const struct hoop_recorded_rank *other = set->ranks[i].origin;

        if (one->rank == other->rank || one->epoch != other->epoch ||
            strcmp(one->job, other->job) != 0) {
            fprintf(stderr,
                    "hoopctl: the records of rank %u and of rank %u are not of "
                    "one job that ran once: name the files of one\n",
                    one->rank, other->rank);
            return HOOP_E_INVALID;
        }
    }
    if (set->n_ranks > 0)
        return HOOP_OK;
    fprintf(stderr, "hoopctl: there are no records (*%s)\n", suffix);
    return HOOP_E_NOT_FOUND;
}

static enum hoop_status
stream_close(FILE *out, const char *path)
{
    const bool has_failed = ferror(out) != 0;

    if (out == stdout ? fflush(out) == 0 && !has_failed
                      : fclose(out) == 0 && !has_failed)
        return HOOP_OK;
    fprintf(stderr, "hoopctl: '%s' cannot be written: %s\n", path,
            strerror(errno));
    return HOOP_E_UNAVAILABLE;
}

static FILE *
stream_open(const char *path)
{
    FILE *out = fopen(path, "we");

    if (!out)
        fprintf(stderr, "hoopctl: '%s' cannot be written: %s\n", path,
                strerror(errno));
    return out;
}

/* One file for each rank, as PyTorch has it. */
static enum hoop_status
torch_write(const struct record_set *set, const char *folder)
{
    enum hoop_status status = HOOP_OK;

    if (!folder) {
        fprintf(stderr, "hoopctl: --format torch needs a folder: --output\n");
        return HOOP_E_INVALID;
    }
    if (mkdir(folder, 0777) < 0 && errno != EEXIST) {
        fprintf(stderr, "hoopctl: '%s' cannot be made: %s\n", folder,
                strerror(errno));
        return HOOP_E_UNAVAILABLE;
    }
    for (size_t i = 0; status == HOOP_OK && i < set->n_ranks; i++) {
        char path[PATH_MAX];

        snprintf(path, sizeof(path), "%s/rank_%u", folder,
                 set->ranks[i].origin->rank);
        FILE *out = stream_open(path);
        if (!out)
            return HOOP_E_UNAVAILABLE;
        record_write_torch(set, &set->ranks[i], out);
        status = stream_close(out, path);
    }
    return status;
}

static enum hoop_status
set_write(const struct record_set *set, const struct command_call *call)
{
    const char *path = call->output ? call->output : "standard output";
    enum hoop_status status = HOOP_OK;

    if (call->record_format == RECORD_TORCH)
        return torch_write(set, call->output);
    FILE *out = call->output ? stream_open(call->output) : stdout;
    if (!out)
        return HOOP_E_UNAVAILABLE;
    if (call->record_format == RECORD_CHROME)
        status = record_write_chrome(set, out);
    else
        record_write_json(set, out);
    if (status != HOOP_OK)
        (void)no_memory();
    const enum hoop_status closed = stream_close(out, path);
    return status == HOOP_OK ? closed : status;
}

enum hoop_status
record_run(const struct command_call *call)
{
    struct record_set set = {.n_ranks = 0};
    enum hoop_status status = HOOP_OK;

    for (int i = 0; status == HOOP_OK && i < call->n_arguments; i++)
        status = place_add(&set, call->arguments[i]);
    if (status == HOOP_OK && set.n_ranks > 1)
        qsort(set.ranks, set.n_ranks, sizeof(*set.ranks), rank_compare);
    if (status == HOOP_OK)
        status = set_check(&set);
    if (status == HOOP_OK)
        status = set_write(&set, call);
    for (size_t i = 0; i < set.n_ranks; i++)
        hoop_recording_destroy(set.ranks[i].recording);
    free(set.ranks);
    return status;
}

const struct hoop_recorded_comm *
record_find_comm(const struct rank_record *rank, uint64_t id)
{
    for (size_t i = 0; i < rank->n_comms; i++) {
        if (rank->comms[i].id == id)
            return &rank->comms[i];
    }
    return NULL;
}

uint32_t
record_world_rank(const struct rank_record *rank,
                  uint64_t comm,
                  uint32_t comm_rank)
{
    const struct hoop_recorded_comm *found = record_find_comm(rank, comm);

    return found && found->ranks && comm_rank < found->size
               ? found->ranks[comm_rank]
               : HOOP_NO_RANK;
}

const char *
record_state_name(enum hoop_recorded_state state)
{
    switch (state) {
    case HOOP_RECORDED_CALLED:
        return "called";
    case HOOP_RECORDED_BEGUN:
        return "begun";
    case HOOP_RECORDED_DONE:
        return "done";
    case HOOP_RECORDED_FAILED:
        return "failed";
    }
    return "unknown";
}

uint64_t
record_call_end_ns(const struct rank_record *rank,
                   const struct hoop_recorded_call *call)
{
    const uint64_t end_ns =
        call->ended_ns ? call->ended_ns : rank->origin->seen_ns;

    return end_ns > call->called_ns ? end_ns : call->called_ns;
}
