/*
 * recorder/recorder_file.c - the memory of a recorder, with a name or without
 *
 * A file is made under a name that nobody else has and renamed when its header
 * is whole, so a reader finds a whole header or no file. Renaming replaces a
 * symbolic link instead of following it, and so does the name that is made
 * first, because it must not exist. The file of an earlier job of that name is
 * kept once: a job that was restarted after a failure has not lost the record
 * of that failure.
 */

#include "recorder/recorder_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/process.h"
#include "base/random.h"

enum {
    FOLDER_MODE = 0700,
    JOB_TEXT_MAX = LIMIT_NAME,
};

static enum hoop_status
raise_no_file(const char *folder, int error)
{
    return error_raise(resource_error_status(RESOURCE_DESCRIPTOR, error) ==
                               HOOP_E_EXHAUSTED
                           ? HOOP_E_EXHAUSTED
                           : HOOP_E_UNAVAILABLE,
                       "no record can be kept in the folder '%.300s' "
                       "(HOOP_RECORDER_DIR): %s",
                       folder, strerror(error));
}

/* Write the job's name as part of a file name: no folder, not hidden. */
static void
job_to_file_name(const char *job, char out_text[JOB_TEXT_MAX])
{
    size_t i = 0;

    for (; job[i] && i + 1 < JOB_TEXT_MAX; i++) {
        const char c = job[i];
        const bool is_plain = (c >= 'a' && c <= 'z') ||
                              (c >= 'A' && c <= 'Z') ||
                              (c >= '0' && c <= '9') || c == '-' || c == '_' ||
                              (c == '.' && i > 0);

        out_text[i] = is_plain ? c : '_';
    }
    out_text[i] = '\0';
}

void
recorder_file_name(const struct recorder_options *options,
                   const char *word,
                   char out_name[RECORDER_FILE_NAME])
{
    char job[JOB_TEXT_MAX];

    job_to_file_name(options->job, job);
    snprintf(out_name, RECORDER_FILE_NAME, "%s.%" PRIu32 "%s.hoopr", job,
             options->rank, word);
}

static enum hoop_status
map_anonymous(struct recorder_file *out_file)
{
    void *memory = mmap(NULL, sizeof(*out_file->memory), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for the recorder");
    out_file->memory = memory;
    out_file->folder_fd = -1;
    return HOOP_OK;
}

/* Returns 0, or an errno. */
static int
file_make(int folder_fd, const char *name, struct recorder_memory **out_memory)
{
    const size_t n_bytes = sizeof(**out_memory);
    const int fd = openat(folder_fd, name,
                          O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                          RECORDER_FILE_MODE);

    if (fd < 0)
        return errno;
    int error = posix_fallocate(fd, 0, (off_t)n_bytes);
    void *memory = MAP_FAILED;
    if (error == 0) {
        memory = mmap(NULL, n_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        error = memory == MAP_FAILED ? errno : 0;
    }
    close(fd);
    if (error != 0)
        unlinkat(folder_fd, name, 0);
    else
        *out_memory = memory;
    return error;
}

enum hoop_status
recorder_file_name_draw(char out_name[LIMIT_NAME])
{
    uint64_t number;
    const enum hoop_status status = random_fill(&number, sizeof(number));

    if (status != HOOP_OK)
        return error_pass(status);
    snprintf(out_name, LIMIT_NAME, ".unfinished.%016" PRIx64 ".hoopr", number);
    return HOOP_OK;
}

enum hoop_status
recorder_file_create(const struct recorder_options *options,
                     struct recorder_file *out_file)
{
    const char *folder = options->folder;

    if (!folder[0])
        return map_anonymous(out_file);
    const enum hoop_status status =
        recorder_file_name_draw(out_file->unfinished);
    if (status != HOOP_OK)
        return error_pass(status);
    if (mkdir(folder, FOLDER_MODE) < 0 && errno != EEXIST)
        return raise_no_file(folder, errno);
    const int folder_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder_fd < 0)
        return raise_no_file(folder, errno);
    const int error =
        file_make(folder_fd, out_file->unfinished, &out_file->memory);
    if (error != 0) {
        close(folder_fd);
        return raise_no_file(folder, error);
    }
    out_file->folder_fd = folder_fd;
    return HOOP_OK;
}

enum hoop_status
recorder_file_publish(struct recorder_file *file,
                      const struct recorder_options *options)
{
    char name[RECORDER_FILE_NAME];
    char previous[RECORDER_FILE_NAME];

    if (file->folder_fd < 0)
        return HOOP_OK;
    recorder_file_name(options, "", name);
    recorder_file_name(options, ".previous", previous);
    /* There usually is no earlier file. */
    (void)renameat(file->folder_fd, name, file->folder_fd, previous);
    const int error =
        renameat(file->folder_fd, file->unfinished, file->folder_fd, name) < 0
            ? errno
            : 0;
    if (error != 0)
        unlinkat(file->folder_fd, file->unfinished, 0);
    close(file->folder_fd);
    return error == 0 ? HOOP_OK : raise_no_file(options->folder, error);
}
