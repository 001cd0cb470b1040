/* hoop/recorder.h - what a rank called last, read from its flight recorder
 *
 * With HOOP_RECORDER_DIR every rank records its calls in a file of that folder,
 * JOB.RANK.hoopr, which is whole even if the rank was killed. A record can be
 * read while the rank writes it, and on any host that stores numbers in the
 * same order.
 *
 * Thread: one at a time for a recording.
 */

#ifndef HOOP_RECORDER_H
#define HOOP_RECORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hoop/api.h"
#include "hoop/status.h"

HOOP_BEGIN

typedef struct hoop_recording hoop_recording_t;

/* Who wrote a record. Later versions may add members at the end. */
struct hoop_recorded_rank {
    char job[128];
    char host[128];
    uint32_t rank;
    uint32_t size; /* of the world that it joined */
    uint32_t pid;
    uint64_t epoch;      /* of that world */
    uint64_t started_ns; /* when it joined; this and all times: since 1970, on
                            its host's clock until hoop_recordings_align() */
    uint64_t seen_ns;    /* when it compared its clocks last: about once in a
                            second while it waits */
    uint64_t clock_error_ns; /* how wrong a time can be on its host's clock;
                                UINT64_MAX: that is not known */
    uint64_t n_dropped;      /* calls that found no room, because others hung */
    bool is_closed;          /* it has left the job in good order */
    uint64_t run; /* random; ranks of one world have the same, and no others */
};

/* A communicator of the rank. Later versions may add members at the end. */
struct hoop_recorded_comm {
    uint64_t id; /* as hoopctl groups shows it; 0: the world */
    uint32_t rank;
    uint32_t size;
    const uint32_t *ranks; /* world ranks of its members; NULL: not known */
    char name[128];        /* hoop_comm_set_name(); "": none */
    bool is_open;
};

enum hoop_recorded_state {
    HOOP_RECORDED_CALLED = 1, /* it waits for the calls before it */
    HOOP_RECORDED_BEGUN = 2,
    HOOP_RECORDED_DONE = 3,
    HOOP_RECORDED_FAILED = 4,
};

/* Which ways the bytes of a call took, as bits. */
enum hoop_recorded_path {
    HOOP_RECORDED_INLINE = 1, /* the caller made the call by itself */
    HOOP_RECORDED_REGION = 2, /* memory that all ranks of the call share */
    HOOP_RECORDED_RING = 4,   /* memory that two ranks share */
    HOOP_RECORDED_SOCKET = 8,
};

/* One call. Times are 0 if it has not come to that. Ranks are the world's, or
 * HOOP_NO_RANK (hoop/comm.h). Texts live as long as the recording. Later
 * versions may add members at the end. */
struct hoop_recorded_call {
    uint64_t place;        /* among all calls of the rank; grows */
    uint64_t number;       /* as errors give it, from 1; 0: it has none */
    uint64_t wire_number;  /* equal on all ranks of a collective */
    const char *kind;      /* "allreduce" */
    const char *dtype;     /* "float32", or "" */
    const char *reduce_op; /* "sum", or "" */
    const char *algorithm; /* "ring", or "" */
    enum hoop_recorded_state state;
    enum hoop_status status;
    uint64_t comm; /* id of its communicator */
    uint64_t tag;  /* of a message */
    uint64_t count;
    uint64_t n_bytes;
    uint64_t called_ns;
    uint64_t begun_ns;
    uint64_t first_byte_ns; /* arrived; of calls through regions not known */
    uint64_t last_byte_ns;
    uint64_t ended_ns;
    uint64_t waiting_since_ns; /* the wait that was under way */
    uint64_t waited_ns;        /* the longest that was over */
    uint32_t waiting_for;
    uint32_t waited_for; /* of a failure: for whom the call waited in the end */
    uint32_t peer;       /* root or peer, a rank of the communicator */
    uint32_t path;       /* bits of enum hoop_recorded_path */
    uint32_t retries; /* tries of the same call before: HOOP_ON_FAILURE=retry */
    bool is_message;
    bool is_partial; /* the rank was killed, or had no processor for long, while
                        it changed the record: what is later than called_ns may
                        be half changed */
};

/*
 * Read the file at path. *out_recording is the caller's, who gives it to
 * hoop_recording_destroy().
 *
 * Handle: HOOP_E_NOT_FOUND (it cannot be opened), HOOP_E_INVALID (it is no
 * record of hoop, of another version, or of a host that stores numbers in
 * another order), HOOP_E_DATA_LOSS (it is cut off or damaged), HOOP_E_EXHAUSTED.
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_recording_read(const char *path, hoop_recording_t **out_recording);

/* NULL is fine. */
HOOP_API void
hoop_recording_destroy(hoop_recording_t *recording);

/* Never NULL; lives as long as the recording. Of NULL: all is 0. */
HOOP_API const struct hoop_recorded_rank *
hoop_recording_origin(const hoop_recording_t *recording);

/* The last calls, the oldest first; NULL has none. What it returns lives as long
 * as the recording. */
HOOP_API const struct hoop_recorded_call *
hoop_recording_calls(const hoop_recording_t *recording, size_t *out_n_calls);

/* The communicators that were open last; NULL has none. What it returns lives as
 * long as the recording. */
HOOP_API const struct hoop_recorded_comm *
hoop_recording_comms(const hoop_recording_t *recording, size_t *out_n_comms);

/* On which clock times are. */
enum hoop_recorded_clock {
    HOOP_RECORDED_CLOCK_OF_COORDINATOR,
    HOOP_RECORDED_CLOCK_OF_HOST,      /* the one on which all ranks ran */
    HOOP_RECORDED_CLOCK_OF_EACH_HOST, /* each rank's own */
};

/* How times of several recordings compare. UINT64_MAX: it is not known. Later
 * versions may add members at the end. */
struct hoop_recorded_alignment {
    enum hoop_recorded_clock clock;
    uint64_t error_ns;      /* how wrong a time can be on that clock */
    uint64_t rank_error_ns; /* the same moment can have times that differ so
                               much on two ranks */
};

/* Put the times of recordings of one run on one clock: the coordinator's, if a
 * rank of each host has compared its own with that one; else, if all ranks ran
 * on one host, that host's. If neither is so, they stay as they are. Ranks of
 * one host stay exact beside each other. If one of them is NULL, all stay as they
 * are. out_alignment may be NULL. */
HOOP_API void
hoop_recordings_align(hoop_recording_t *const *recordings,
                      size_t n_recordings,
                      struct hoop_recorded_alignment *out_alignment);

HOOP_END

#endif
