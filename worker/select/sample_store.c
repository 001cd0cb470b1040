/* select/sample_store.c - keeps samples of this machine for later jobs */

#include "select/sample_store.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "algorithms/registry.h"
#include "base/digest.h"
#include "base/error.h"
#include "base/log.h"

enum {
    LINE_BYTES = 512,
};

static const char PROCESSORS[] = "/proc/cpuinfo";
static const char MODEL[] = "model name";

static void
stream_close_at(FILE **stream)
{
    if (*stream)
        fclose(*stream);
}

static void
digest_add_text(struct digest *digest, const char *text)
{
    digest_add(digest, text, strlen(text) + 1);
}

/* Adds the model of the first processor; the others are assumed to be the
 * same. */
static void
digest_add_processor_model(struct digest *digest)
{
    CLEANUP(stream_close) FILE *stream = fopen(PROCESSORS, "re");
    char line[LINE_BYTES] = "";

    while (stream && fgets(line, sizeof(line), stream)) {
        if (strncmp(line, MODEL, strlen(MODEL)) != 0)
            continue;
        digest_add_text(digest, line);
        return;
    }
}

/* Samples of other algorithms would say nothing about these. */
static void
digest_add_algorithm_names(struct digest *digest)
{
    size_t n_entries;
    const struct registry_algorithm *entries = registry_all_entries(&n_entries);

    for (size_t i = 0; i < n_entries; i++)
        digest_add_text(digest, entries[i].algorithm->name);
}

static enum hoop_status
machine_signature_make(const char *transport, uint64_t *out_signature)
{
    CLEANUP(digest_destroy) struct digest *digest = NULL;
    const long n_processors = sysconf(_SC_NPROCESSORS_ONLN);

    const enum hoop_status status = digest_create(&digest);
    if (status != HOOP_OK)
        return error_pass(status);
    digest_add_processor_model(digest);
    digest_add(digest, &n_processors, sizeof(n_processors));
    digest_add_text(digest, transport);
    digest_add_algorithm_names(digest);
    *out_signature = digest_value(digest);
    return HOOP_OK;
}

enum hoop_status
sample_store_path(const char *transport, char **out_path)
{
    const char *cache = getenv("XDG_CACHE_HOME");
    const char *home = getenv("HOME");
    const bool is_said = cache && cache[0] == '/';
    uint64_t signature = 0;

    if (!is_said && (!home || home[0] != '/'))
        return error_raise(HOOP_E_NOT_FOUND,
                           "HOOP_TUNING=auto: neither XDG_CACHE_HOME nor HOME "
                           "is the path of a folder to keep times in");
    const enum hoop_status status =
        machine_signature_make(transport, &signature);
    if (status != HOOP_OK)
        return error_pass(status);
    if (asprintf(out_path, "%s%s/hoop/tuning-%016" PRIx64 ".txt",
                 is_said ? cache : home, is_said ? "" : "/.cache",
                 signature) < 0)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for a path");
    return HOOP_OK;
}

struct samples *
sample_store_read(const char *path)
{
    struct samples *samples = NULL;

    if (samples_read(path, &samples) == HOOP_OK)
        return samples;
    log_debug("tune", "no races are kept: %s", error_text());
    return NULL;
}

/* Folders that exist are fine; if one cannot be made, opening the file
 * fails. */
static void
parent_folders_create(const char *path)
{
    CLEANUP(free) char *folder = strdup(path);

    for (char *at = folder; at && (at = strchr(at + 1, '/'));) {
        *at = '\0';
        (void)!mkdir(folder, S_IRWXU);
        *at = '/';
    }
}

static bool
file_write_all(int fd, const char *text, size_t n_bytes)
{
    while (n_bytes > 0) {
        const ssize_t n = write(fd, text, n_bytes);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        text += n;
        n_bytes -= (size_t)n;
    }
    return true;
}

enum hoop_status
sample_store_write(const char *path, const char *text, size_t n_bytes)
{
    CLEANUP(free) char *made = NULL;

    if (asprintf(&made, "%s.XXXXXX", path) < 0)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for a path");
    parent_folders_create(path);
    const int fd = mkostemp(made, O_CLOEXEC);
    if (fd < 0)
        return error_raise(HOOP_E_UNAVAILABLE, "cannot write beside %s: %s",
                           path, strerror(errno));
    const bool is_written = file_write_all(fd, text, n_bytes);
    if (close(fd) == 0 && is_written && rename(made, path) == 0)
        return HOOP_OK;
    (void)error_raise(HOOP_E_UNAVAILABLE, "cannot write %s: %s", path,
                      strerror(errno));
    unlink(made);
    return error_pass(HOOP_E_UNAVAILABLE);
}
