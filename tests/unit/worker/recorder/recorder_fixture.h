/* tests/unit/worker/recorder/recorder_fixture.h - a recorder in a folder of the
 * test's own */

#ifndef RECORDER_FIXTURE_H
#define RECORDER_FIXTURE_H

#include <dirent.h>
#include <stdio.h>
#include <unistd.h>

#include "hoop/comm.h"
#include "hoop/recorder.h"

#include "base/error.h"
#include "check.h"
#include "recorder/recorder.h"
#include "temporary.h"

enum {
    KIND_ALLREDUCE = 1,
    KIND_SEND = 9,
    DTYPE_FLOAT = 10,
};

struct recorder_fixture {
    char folder[TEMPORARY_PATH];
    char path[TEMPORARY_FILE];
    struct recorder *recorder;
};

static inline void
recorder_fixture_open(struct recorder_fixture *fixture)
{
    snprintf(fixture->folder, sizeof(fixture->folder), "recorder-XXXXXX");
    assert_non_null(temporary_folder(fixture->folder, sizeof(fixture->folder)));
    assert_ok(recorder_create(
        &(struct recorder_options){
            .folder = fixture->folder,
            .signal = "USR1",
            .job = "job",
            .host = "host",
            .epoch = 7,
            .run = 77,
            .rank = 3,
            .size = 8,
            .pid = 70,
        },
        &fixture->recorder));
    snprintf(fixture->path, sizeof(fixture->path), "%s/job.3.hoopr",
             fixture->folder);
    recorder_set_name(fixture->recorder, RECORDER_KINDS, KIND_ALLREDUCE,
                      "allreduce");
    recorder_set_name(fixture->recorder, RECORDER_KINDS, KIND_SEND, "send");
    recorder_set_name(fixture->recorder, RECORDER_DTYPES, DTYPE_FLOAT,
                      "float32");
}

/* Removes all files of the folder. */
static inline void
recorder_fixture_close(struct recorder_fixture *fixture)
{
    char path[sizeof(fixture->folder) + 260];
    const struct dirent *entry;

    recorder_destroy(fixture->recorder);
    DIR *folder = opendir(fixture->folder);
    assert_non_null(folder);
    while ((entry = readdir(folder))) {
        snprintf(path, sizeof(path), "%s/%s", fixture->folder, entry->d_name);
        unlink(path);
    }
    closedir(folder);
    assert_int_equal(rmdir(fixture->folder), 0);
}

#endif
