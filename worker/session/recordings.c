/*
 * session/recordings.c - what the flight recorders of this host hold, for the
 * coordinator
 */

#include "session/recordings.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "recorder/recorder_file.h"
#include "recorder/recording.h"

void
recordings_open(struct recordings *recordings,
                const struct config *config,
                const struct roster *roster)
{
    const char *folder = config->recorder.folder;

    *recordings = (struct recordings){
        .roster = roster,
        .folder_fd =
            folder[0] ? open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1,
    };
}

void
recordings_close(struct recordings *recordings)
{
    if (recordings->folder_fd >= 0)
        close(recordings->folder_fd);
    recordings->folder_fd = -1;
}

/* Open the file of a rank. Handle: HOOP_E_NOT_FOUND. */
static enum hoop_status
recording_open(const struct recordings *recordings, uint32_t rank, int *out_fd)
{
    char name[RECORDER_FILE_NAME];

    if (recordings->folder_fd < 0)
        return error_raise(HOOP_E_NOT_FOUND,
                           "it records nothing: start it by hooprun --record, "
                           "or with HOOP_RECORDER_DIR");
    recorder_file_name(
        &(struct recorder_options){
            .job = recordings->roster->job,
            .rank = rank,
        },
        "", name);
    /* A pipe of that name must not stop the reader. */
    const int fd = openat(recordings->folder_fd, name,
                          O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    if (fd < 0)
        return error_raise(HOOP_E_NOT_FOUND,
                           "in its folder '%.200s' cannot be opened: %s", name,
                           strerror(errno));
    *out_fd = fd;
    return HOOP_OK;
}

/* Copy the memory of a rank of this world. The caller frees it. Handle:
 * HOOP_E_NOT_FOUND, and as recording_copy(). */
static enum hoop_status
recording_find(const struct recordings *recordings,
               uint32_t rank,
               struct recorder_memory **out_memory)
{
    CLEANUP(free) struct recorder_memory *memory = NULL;
    int fd = -1;

    enum hoop_status status = recording_open(recordings, rank, &fd);
    if (status != HOOP_OK)
        return error_pass(status);
    status = recording_copy(fd, &memory);
    close(fd);
    if (status != HOOP_OK)
        return error_pass(status);
    if (memory->header.run != recordings->roster->seed ||
        memory->header.rank != rank)
        return error_raise(HOOP_E_NOT_FOUND,
                           "what its folder holds of rank %" PRIu32
                           " is of another run",
                           rank);
    *out_memory = STEAL(memory);
    return HOOP_OK;
}

bool
recordings_answer(struct recordings *recordings,
                  const struct member_request *self,
                  const struct watch_reply *reply,
                  struct pack *pack)
{
    struct recording_answer answer = {
        .member = *self,
        .query = reply->recording_query,
    };
    CLEANUP(free) struct recorder_memory *memory = NULL;

    if (reply->recording_query == 0 ||
        reply->recording_query == recordings->query)
        return false;
    recordings->query = reply->recording_query;
    if (recording_find(recordings, reply->recording_rank, &memory) == HOOP_OK)
        answer.memory =
            (struct message_span){(const uint8_t *)memory, sizeof(*memory)};
    else
        snprintf(answer.why, sizeof(answer.why), "%s", error_text());
    recording_answer_encode(&answer, pack);
    return true;
}
