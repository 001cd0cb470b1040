/*
 * hoopctl/record.c - hoopctl record: writes what ranks called last
 *
 * The records are files, or folders of them (HOOP_RECORDER_DIR). Of a folder,
 * those of earlier jobs (*.previous.hoopr) and copies (*.copy.hoopr) are read
 * only if they are named. A
 * folder may hold records of several jobs, of which --job chooses one, and of
 * several runs of a job, of which the last one is taken.
 *
 * Without a file or folder, the records are those of a job: of the ranks of this
 * host that run under hooprun, and of all others that the coordinator can get; or,
 * if there are none, those that hooprun has kept of the run that has failed last.
 */

#include "hoopctl/record.h"

#include <dirent.h>
#include <errno.h>
#include <hoop/comm.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "hoopctl/command.h"
#include "hoopctl/local_job.h"
#include "hoopctl/shown.h"
#include "record_place.h"
#include "variable.h"

static const char suffix[] = ".hoopr";
static const char previous_suffix[] = ".previous.hoopr";
static const char copy_suffix[] = ".copy.hoopr";

static bool
has_suffix(const char *name, const char *end)
{
    const size_t n = strlen(name);

    return n > strlen(end) && strcmp(name + n - strlen(end), end) == 0;
}

enum hoop_status
record_no_memory(void)
{
    fprintf(stderr, "hoopctl: no memory for the records\n");
    return HOOP_E_EXHAUSTED;
}

static uint64_t
wall_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Returns whether a process of this host has the record mapped: it writes it.
 * Its number alone would not do, since another host or a later process may have
 * the same. */
static bool
is_mapped(const char *path, uint32_t pid)
{
    char maps[64];
    char line[PATH_MAX + 128];
    struct stat file;
    bool is_found = false;

    snprintf(maps, sizeof(maps), "/proc/%u/maps", pid);
    FILE *in = stat(path, &file) == 0 ? fopen(maps, "re") : NULL;
    /* address permissions offset device inode path */
    while (in && !is_found && fgets(line, sizeof(line), in)) {
        unsigned long inode;

        line[strcspn(line, "\n")] = '\0';
        is_found = has_suffix(line, suffix) &&
                   sscanf(line, "%*s %*s %*s %*s %lu", &inode) == 1 &&
                   inode == file.st_ino;
    }
    if (in)
        fclose(in);
    return is_found;
}

enum hoop_status
record_set_add(struct record_set *set, hoop_recording_t *recording)
{
    struct rank_record *ranks =
        realloc(set->ranks, (set->n_ranks + 1) * sizeof(*ranks));

    if (!ranks) {
        hoop_recording_destroy(recording);
        return record_no_memory();
    }
    struct rank_record *rank = &ranks[set->n_ranks++];
    *rank = (struct rank_record){
        .recording = recording,
        .origin = hoop_recording_origin(recording),
    };
    rank->calls = hoop_recording_calls(recording, &rank->n_calls);
    rank->comms = hoop_recording_comms(recording, &rank->n_comms);
    rank->known_ns = rank->origin->seen_ns;
    set->ranks = ranks;
    return HOOP_OK;
}

static enum hoop_status
file_add(struct record_set *set, const char *path)
{
    hoop_recording_t *recording = NULL;
    const uint64_t before_ns = wall_now_ns();
    enum hoop_status status = hoop_recording_read(path, &recording);

    if (status != HOOP_OK) {
        fprintf(stderr, "hoopctl: %s\n", hoop_error_text());
        return status;
    }
    status = record_set_add(set, recording);
    if (status != HOOP_OK)
        return status;
    struct rank_record *rank = &set->ranks[set->n_ranks - 1];
    /* What had not ended when the file was read had not before. */
    rank->is_running = is_mapped(path, rank->origin->pid);
    if (rank->is_running && before_ns > rank->known_ns)
        rank->known_ns = before_ns;
    return HOOP_OK;
}

/* Returns whether a file of a folder is a record that is read if nobody names
 * it. */
static bool
is_record_name(const char *name)
{
    return name[0] != '.' && has_suffix(name, suffix) &&
           !has_suffix(name, previous_suffix) && !has_suffix(name, copy_suffix);
}

/* A file that cannot be read is told of and left out, unless all are so: the
 * records of a crash are wanted, too, if one of them is damaged. */
static enum hoop_status
folder_add(struct record_set *set, const char *path)
{
    const size_t n_before = set->n_ranks;
    enum hoop_status failed = HOOP_OK;
    const struct dirent *entry;
    DIR *folder = opendir(path);

    if (!folder) {
        fprintf(stderr, "hoopctl: '%s' cannot be read: %s\n", path,
                strerror(errno));
        return HOOP_E_NOT_FOUND;
    }
    while ((entry = readdir(folder))) {
        char file[PATH_MAX];

        if (!is_record_name(entry->d_name))
            continue;
        snprintf(file, sizeof(file), "%s/%s", path, entry->d_name);
        const enum hoop_status status = file_add(set, file);

        if (status != HOOP_OK)
            failed = status;
    }
    closedir(folder);
    return set->n_ranks > n_before ? HOOP_OK : failed;
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

/*
 * The records of hooprun.
 */

/* Returns whether a folder has records, and of this job if job is not NULL: the
 * first one that can be read tells. */
static bool
folder_is_of(const char *path, const char *job)
{
    DIR *folder = opendir(path);
    hoop_recording_t *recording = NULL;
    const struct dirent *entry;

    while (folder && !recording && (entry = readdir(folder))) {
        char file[PATH_MAX];

        snprintf(file, sizeof(file), "%s/%s", path, entry->d_name);
        if (is_record_name(entry->d_name) &&
            hoop_recording_read(file, &recording) != HOOP_OK)
            recording = NULL;
    }
    const bool is_of =
        recording &&
        (!job || strcmp(hoop_recording_origin(recording)->job, job) == 0);

    hoop_recording_destroy(recording);
    if (folder)
        closedir(folder);
    return is_of;
}

/* Add the records of all runs whose hooprun runs. job may be NULL: any. */
static enum hoop_status
live_runs_add(struct record_set *set, const char *job)
{
    enum hoop_status status = HOOP_OK;

    for (unsigned place = 0; place < RECORD_PLACES; place++) {
        struct record_folder *folders = NULL;
        const size_t n = record_folders_list(place, &folders);

        for (size_t i = 0; status == HOOP_OK && i < n; i++) {
            if (folders[i].is_live && folder_is_of(folders[i].path, job))
                status = folder_add(set, folders[i].path);
        }
        free(folders);
    }
    return status;
}

/* Add the records of the run that has ended last. job may be NULL: any. */
static enum hoop_status
ended_run_add(struct record_set *set, const char *job)
{
    struct record_folder last = {.path = ""};
    char changed[RECORD_TIME_TEXT];

    for (unsigned place = 0; place < RECORD_PLACES; place++) {
        struct record_folder *folders = NULL;
        const size_t n = record_folders_list(place, &folders);
        size_t i = 0;

        while (i < n &&
               (folders[i].is_live || !folder_is_of(folders[i].path, job)))
            i++;
        if (i < n && folders[i].changed.tv_sec > last.changed.tv_sec)
            last = folders[i];
        free(folders);
    }
    if (!last.path[0])
        return HOOP_OK;
    fprintf(
        stderr,
        "hoopctl: the run whose records changed last at %s has ended; they are "
        "in %s\n",
        record_time_text((uint64_t)last.changed.tv_sec * 1000000000, changed),
        last.path);
    return folder_add(set, last.path);
}

/* By job, run and rank. */
static int
rank_compare(const void *a, const void *b)
{
    const struct hoop_recorded_rank *left =
        ((const struct rank_record *)a)->origin;
    const struct hoop_recorded_rank *right =
        ((const struct rank_record *)b)->origin;
    const int jobs = strcmp(left->job, right->job);

    if (jobs != 0)
        return jobs;
    if (left->run != right->run)
        return left->run < right->run ? -1 : 1;
    if (left->epoch != right->epoch)
        return left->epoch < right->epoch ? -1 : 1;
    return (left->rank > right->rank) - (left->rank < right->rank);
}

/*
 * The runs of a set, whose records are sorted.
 */

/* Returns where the run that begins at first ends. */
static size_t
run_end(const struct record_set *set, size_t first)
{
    const struct hoop_recorded_rank *one = set->ranks[first].origin;
    size_t end = first + 1;

    while (end < set->n_ranks && set->ranks[end].origin->run == one->run &&
           set->ranks[end].origin->epoch == one->epoch &&
           strcmp(set->ranks[end].origin->job, one->job) == 0)
        end++;
    return end;
}

/* Returns when its last rank began. */
static uint64_t
run_started_ns(const struct record_set *set, size_t first)
{
    const size_t end = run_end(set, first);
    uint64_t started_ns = 0;

    for (size_t i = first; i < end; i++) {
        if (set->ranks[i].origin->started_ns > started_ns)
            started_ns = set->ranks[i].origin->started_ns;
    }
    return started_ns;
}

static void
run_show(const struct record_set *set, size_t first)
{
    const struct hoop_recorded_rank *one = set->ranks[first].origin;
    const size_t n_ranks = run_end(set, first) - first;
    char begun[RECORD_TIME_TEXT];
    struct shown job;

    fprintf(stderr,
            "  job '%s', run %016" PRIx64 ", begun %s: ", show(one->job, &job),
            one->run, record_time_text(run_started_ns(set, first), begun));
    if (n_ranks == 1)
        fprintf(stderr, "rank %u of %u\n", one->rank, one->size);
    else
        fprintf(stderr, "%zu of %u ranks\n", n_ranks, one->size);
}

/* Show all runs but the one that begins at except. */
static void
runs_show(const struct record_set *set, size_t except)
{
    for (size_t i = 0; i < set->n_ranks; i = run_end(set, i)) {
        if (i != except)
            run_show(set, i);
    }
}

/* Keep the records from first to before end. */
static void
set_keep(struct record_set *set, size_t first, size_t end)
{
    for (size_t i = 0; i < set->n_ranks; i++) {
        if (i < first || i >= end)
            hoop_recording_destroy(set->ranks[i].recording);
    }
    set->n_ranks = end - first;
    memmove(set->ranks, set->ranks + first, set->n_ranks * sizeof(*set->ranks));
}

/* Keep the records of one job. name may be NULL: there must be one job. */
static enum hoop_status
job_choose(struct record_set *set, const char *name)
{
    struct shown shown;
    size_t first = 0;

    while (name && first < set->n_ranks &&
           strcmp(set->ranks[first].origin->job, name) != 0)
        first++;
    if (first == set->n_ranks) {
        fprintf(stderr, "hoopctl: there are no records of job '%s', but of:\n",
                show(name, &shown));
        runs_show(set, SIZE_MAX);
        return HOOP_E_NOT_FOUND;
    }
    size_t end = first;
    while (end < set->n_ranks && strcmp(set->ranks[end].origin->job,
                                        set->ranks[first].origin->job) == 0)
        end++;
    if (!name && end < set->n_ranks) {
        fprintf(stderr, "hoopctl: there are records of several jobs: choose "
                        "one with --job\n");
        runs_show(set, SIZE_MAX);
        return HOOP_E_INVALID;
    }
    set_keep(set, first, end);
    return HOOP_OK;
}

/* Keep the records of the run that began last, and tell of the others. */
static void
run_choose(struct record_set *set)
{
    size_t chosen = 0;

    for (size_t i = 0; i < set->n_ranks; i = run_end(set, i)) {
        if (run_started_ns(set, i) > run_started_ns(set, chosen))
            chosen = i;
    }
    if (run_end(set, 0) < set->n_ranks) {
        fprintf(stderr, "hoopctl: the records of earlier runs are left out:\n");
        runs_show(set, chosen);
    }
    set_keep(set, chosen, run_end(set, chosen));
}

/* Leave the records of one world of one job, each rank once, in the order of
 * ranks. job may be NULL. */
static enum hoop_status
set_choose(struct record_set *set, const char *job)
{
    if (set->n_ranks == 0) {
        fprintf(stderr, "hoopctl: there are no records (*%s)\n", suffix);
        return HOOP_E_NOT_FOUND;
    }
    qsort(set->ranks, set->n_ranks, sizeof(*set->ranks), rank_compare);
    const enum hoop_status status = job_choose(set, job);
    if (status != HOOP_OK)
        return status;
    run_choose(set);
    for (size_t i = 1; i < set->n_ranks; i++) {
        if (set->ranks[i - 1].origin->rank != set->ranks[i].origin->rank)
            continue;
        fprintf(stderr, "hoopctl: the record of rank %u is given twice\n",
                set->ranks[i].origin->rank);
        return HOOP_E_INVALID;
    }
    return HOOP_OK;
}

/*
 * The records of a job.
 */

/* Add the records of this host's ranks that run under hooprun. options->job may
 * be NULL: of any job. */
static enum hoop_status
local_records_add(struct record_set *set,
                  const struct hoop_control_options *options)
{
    char path[PATH_MAX] = "";
    enum hoop_status status = live_runs_add(set, options->job);

    if (status == HOOP_OK && set->n_ranks == 0)
        status = local_job_find_records(options, path);
    return status == HOOP_OK && path[0] ? folder_add(set, path) : status;
}

/* Returns whether the set has every rank of one run, and nothing else. Sorts
 * it. */
static bool
set_is_whole(struct record_set *set)
{
    if (set->n_ranks == 0)
        return false;
    qsort(set->ranks, set->n_ranks, sizeof(*set->ranks), rank_compare);
    return run_end(set, 0) == set->n_ranks &&
           set->n_ranks == set->ranks[0].origin->size;
}

/* Get what this host lacks from the coordinator that the user names or, if
 * something is lacking, from that of the hooprun that runs here. */
static enum hoop_status
missing_fetch(struct record_set *set,
              const struct hoop_control_options *options)
{
    struct hoop_control_options asked = *options;

    if (!asked.coordinator && !variable("HOOP_COORDINATOR")) {
        if (set_is_whole(set))
            return HOOP_OK;
        if (!asked.job && set->n_ranks > 0)
            asked.job = set->ranks[0].origin->job;
        const enum hoop_status status = local_job_adopt(&asked);
        if (status != HOOP_OK)
            return status == HOOP_E_NOT_FOUND ? HOOP_OK : status;
    }
    const enum hoop_status status = record_fetch(&asked, set);
    if (status != HOOP_OK && status != HOOP_E_INVALID && set->n_ranks > 0)
        fprintf(stderr, "hoopctl: the records of other hosts are missing\n");
    return status;
}

/* options->job may be NULL: there must be one job. */
static enum hoop_status
job_records_add(struct record_set *set,
                const struct hoop_control_options *options)
{
    const char *job = options->job;
    struct shown shown;
    enum hoop_status status = local_records_add(set, options);

    if (status != HOOP_OK)
        return status;
    const enum hoop_status asked = missing_fetch(set, options);
    /* What was meant is not clear. */
    if (asked == HOOP_E_INVALID)
        return asked;
    if (set->n_ranks == 0 && !set->is_of_world)
        status = ended_run_add(set, job);
    if (status != HOOP_OK || set->n_ranks > 0)
        return status;
    if (asked != HOOP_OK)
        return asked;
    fprintf(stderr,
            "hoopctl: there are no records of %s%s%s: start it by hooprun "
            "--record, or name the folder of HOOP_RECORDER_DIR\n",
            job ? "a file, folder or job '" : "a job",
            job ? show(job, &shown) : "", job ? "'" : "");
    return HOOP_E_NOT_FOUND;
}

/* Put all times on one clock, if there is one. */
static enum hoop_status
set_align(struct record_set *set)
{
    hoop_recording_t **recordings = calloc(set->n_ranks, sizeof(*recordings));

    if (!recordings)
        return record_no_memory();
    for (size_t i = 0; i < set->n_ranks; i++) {
        recordings[i] = set->ranks[i].recording;
        /* Counted from a time that will be shifted. */
        set->ranks[i].known_ns -= set->ranks[i].origin->seen_ns;
    }
    hoop_recordings_align(recordings, set->n_ranks, &set->alignment);
    for (size_t i = 0; i < set->n_ranks; i++)
        set->ranks[i].known_ns += set->ranks[i].origin->seen_ns;
    free(recordings);
    return HOOP_OK;
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
    struct record_starts starts;
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
    if (record_starts_find(set, &starts) != HOOP_OK)
        return record_no_memory();
    for (size_t i = 0; status == HOOP_OK && i < set->n_ranks; i++) {
        char path[PATH_MAX];

        snprintf(path, sizeof(path), "%s/rank_%u", folder,
                 set->ranks[i].origin->rank);
        FILE *out = stream_open(path);
        if (out)
            record_write_torch(&starts, &set->ranks[i], out);
        status = out ? stream_close(out, path) : HOOP_E_UNAVAILABLE;
    }
    free(starts.starts);
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
    else if (call->record_format == RECORD_JSON || call->format == COMMAND_JSON)
        record_write_json(set, out);
    else
        record_write_text(set, call->n_last_calls, out);
    if (status != HOOP_OK)
        (void)record_no_memory();
    const enum hoop_status closed = stream_close(out, path);
    return status == HOOP_OK ? closed : status;
}

/* Returns whether the records of a job are meant, and not files and folders. A
 * word that names one of these is no job. */
static bool
names_job(const struct command_call *call)
{
    const char *word = call->n_arguments > 0 ? call->arguments[0] : NULL;

    return !word || (call->n_arguments == 1 && !strchr(word, '/') &&
                     access(word, F_OK) != 0);
}

enum hoop_status
record_run(const struct command_call *call)
{
    struct record_set set = {.n_ranks = 0};
    struct hoop_control_options options = *call->options;
    enum hoop_status status = HOOP_OK;

    if (names_job(call)) {
        if (call->n_arguments > 0)
            options.job = call->arguments[0];
        status = job_records_add(&set, &options);
    } else {
        for (int i = 0; status == HOOP_OK && i < call->n_arguments; i++)
            status = place_add(&set, call->arguments[i]);
    }
    if (status == HOOP_OK)
        status = set_choose(&set, set.is_of_world ? NULL : options.job);
    if (status == HOOP_OK)
        status = set_align(&set);
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
record_time_text(uint64_t time_ns, char out_text[RECORD_TIME_TEXT])
{
    const time_t seconds = (time_t)(time_ns / 1000000000);
    struct tm parts;

    if (!localtime_r(&seconds, &parts) ||
        strftime(out_text, RECORD_TIME_TEXT, "%F %T", &parts) == 0)
        snprintf(out_text, RECORD_TIME_TEXT, "at a time unknown");
    return out_text;
}

const char *
record_clock_name(enum hoop_recorded_clock clock)
{
    switch (clock) {
    case HOOP_RECORDED_CLOCK_OF_COORDINATOR:
        return "coordinator";
    case HOOP_RECORDED_CLOCK_OF_HOST:
        return "host";
    case HOOP_RECORDED_CLOCK_OF_EACH_HOST:
        return "each host";
    }
    return "unknown";
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
    const uint64_t end_ns = call->ended_ns ? call->ended_ns : rank->known_ns;

    return end_ns > call->called_ns ? end_ns : call->called_ns;
}
