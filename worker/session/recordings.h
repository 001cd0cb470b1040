/*
 * session/recordings.h - what the flight recorders of this host hold, for the
 * coordinator
 *
 * The ranks of a host keep their memories in one folder, so each can read those
 * of the others, also of one that is stopped or dead.
 *
 * Thread: the loop's.
 */

#ifndef SESSION_RECORDINGS_H
#define SESSION_RECORDINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/config.h"
#include "rpc/messages/rendezvous_messages.h"
#include "transport/roster.h"

struct pack;

struct recordings {
    const struct roster *roster;
    int folder_fd;  /* -1: this rank keeps no memory, or the folder is gone */
    uint64_t query; /* the last one asked */
};

/* Open the folder of config, which may be relative to the present one. Borrows
 * roster until recordings_close(). */
void
recordings_open(struct recordings *recordings,
                const struct config *config,
                const struct roster *roster);

/* Zeroed memory is not allowed. */
void
recordings_close(struct recordings *recordings);

/* If reply has a new question, encode a recording_answer of self to it, and return
 * true: a copy of that rank's memory as it is now, or why there is none. Takes
 * some milliseconds. */
bool
recordings_answer(struct recordings *recordings,
                  const struct member_request *self,
                  const struct watch_reply *reply,
                  struct pack *pack);

#endif
