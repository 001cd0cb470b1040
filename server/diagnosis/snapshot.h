/*
 * diagnosis/snapshot.h - all that is known of a job at one moment
 *
 * The service fills it in from what the coordinator knows of the members and
 * from what the ranks have answered. All texts are borrowed and never NULL.
 */

#ifndef DIAGNOSIS_SNAPSHOT_H
#define DIAGNOSIS_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

/* In place of a rank, and of a time. */
#define SNAPSHOT_NO_RANK UINT32_MAX
#define SNAPSHOT_NO_TIME UINT64_MAX

enum snapshot_job_state {
    SNAPSHOT_FORMING,
    SNAPSHOT_RUNNING,
    SNAPSHOT_ENDED,
};

enum snapshot_rank_state {
    SNAPSHOT_JOINING,
    SNAPSHOT_ACTIVE,
    SNAPSHOT_LEFT,
    SNAPSHOT_LOST,
};

/* What the awaited rank has told of its calls. The numbers are those on the
 * wire. */
enum snapshot_doing {
    SNAPSHOT_DOING_UNKNOWN = 0,
    SNAPSHOT_HAS_CALLED = 1,
    SNAPSHOT_IN_OTHER_CALL = 2,
    SNAPSHOT_IN_NO_CALL = 3,
};

/* Whether the awaited rank is heard. The numbers are those on the wire. */
enum snapshot_sign {
    SNAPSHOT_SIGN_UNKNOWN = 0,
    SNAPSHOT_LIVES = 1,
    SNAPSHOT_IS_SILENT = 2,
};

/* The call in which a rank has waited longest. */
struct snapshot_call {
    const char *text; /* "allreduce #7 (float32, 4 elements, sum)"; "": the
                         rank is in no call */
    const char *communicator; /* its name, or "" */
    uint64_t communicator_id; /* as in hoopctl groups; 0: the world or none */
    uint64_t number;          /* of a collective; 0: a message, or no call */
    uint64_t age_ms;
    bool is_setup; /* it waits in the coordinator until others come, too */
    uint32_t awaited_rank;
    enum snapshot_doing awaited_doing;
    enum snapshot_sign awaited_sign;
    const char *awaited_call; /* of SNAPSHOT_IN_OTHER_CALL */
    uint64_t awaited_silence_ms;
    enum snapshot_sign awaited_hears; /* whether that rank hears this one */
    uint64_t n_done_bytes;
    uint64_t n_bytes;
    /* The awaited rank has sent a message with another tag instead. Each is one
     * more than the tag; 0: that is not known. */
    uint64_t receive_tag;
    uint64_t sent_tag;
    const char *waits_for; /* in the words of the rank */
};

/* A process, as it or another rank of its host sees it. */
struct snapshot_process {
    char state;        /* R S D T Z, X: it is gone; 0: nobody sees it */
    const char *where; /* S or D: the system call in which it sleeps, or "" */
    uint64_t swapped_kib;
};

/* How much of a time one rank waited for another one. */
struct snapshot_wait {
    uint32_t rank; /* the other one, or SNAPSHOT_NO_RANK */
    uint64_t wait_ms;
    uint64_t span_ms; /* of so much: SNAPSHOT_MINUTE_MS, or the last seconds */
};

enum {
    SNAPSHOT_MINUTE_MS = 60000,
};

/* Return whether wait takes a larger share of its time than other does, which
 * may be of no time. */
static inline bool
snapshot_wait_is_longer(const struct snapshot_wait *wait,
                        const struct snapshot_wait *other)
{
    return other->span_ms == 0 ||
           wait->wait_ms * other->span_ms > other->wait_ms * wait->span_ms;
}

struct snapshot_rank {
    uint32_t rank; /* SNAPSHOT_NO_RANK: not given yet */
    uint32_t pid;
    const char *host;
    enum snapshot_rank_state state;
    const char *reason;    /* LOST: why */
    uint64_t end_revision; /* LOST or LEFT: the order in which they ended; 0:
                              not known */
    uint64_t lost_ms;      /* LOST: the time since then */
    bool was_asked;
    bool has_answered;
    uint64_t last_sign_ms; /* since it last renewed its lease */
    struct snapshot_call call;
    const char *finished; /* the last collectives that it finished */
    const char *failure;  /* text of its last failed call, or "" */
    enum hoop_status failure_status;
    struct snapshot_process process;
    const char *stack; /* where its program is: a line that says it, and the
                          stack; or "" */
    /* Who waited longest for this rank while it had not called, for whom this
     * rank waited longest, and for how much of the last seconds it waited for
     * any rank, to call or to send. */
    struct snapshot_wait held_up;
    struct snapshot_wait waited;
    struct snapshot_wait waiting; /* its rank is this one */
    /* To whom the bytes that this rank has sent take longest, and how long. */
    uint32_t backlog_rank;
    uint64_t backlog_ms;
};

struct snapshot {
    enum snapshot_job_state state;
    uint32_t size;      /* 0: not known yet */
    bool has_formed;    /* the job has had a world */
    uint32_t n_members; /* ENDED without having formed: how many came */
    uint32_t n_lost;
    uint64_t age_ms;     /* since its first join; ENDED: since its end */
    const char *missing; /* FORMING: "ranks 0, 3", or "" */
    size_t n_ranks;
    const struct snapshot_rank *ranks;
};

#endif
