/* service/reply_encode.h - encode a reply of the core as an RPC body */

#ifndef SERVICE_REPLY_ENCODE_H
#define SERVICE_REPLY_ENCODE_H

#include <stdint.h>

#include "hoop/status.h"

#include "core/action.h"
#include "rpc/messages/status_messages.h"

struct pack;

/*
 * The roster of the last world that was replied, encoded once for all of its
 * members: encoding n rosters of n members would cost too much. It is valid as
 * long as the epoch is the same. Zeroed memory holds none.
 */
struct encoded_roster {
    uint64_t epoch; /* epoch of the world */
    uint8_t *bytes;
    size_t n_bytes;
};

void
encoded_roster_deinit(struct encoded_roster *roster);

static inline void
encoded_roster_deinit_at(struct encoded_roster *roster)
{
    encoded_roster_deinit(roster);
}

/* The body that describes a job. Its activities have no details. */
struct encoded_job {
    struct job_reply reply;
    struct job_member *members; /* owned, as the next two */
    struct rank_activity *activities;
    struct rank_totals *totals;
};

/* Handle: HOOP_E_EXHAUSTED (no memory). */
enum hoop_status
encoded_job_init(const struct cluster_job_detail *from,
                 struct encoded_job *out_job);
void
encoded_job_deinit(struct encoded_job *job);

static inline void
encoded_job_deinit_at(struct encoded_job *job)
{
    encoded_job_deinit(job);
}

/* What the core does not know. */
struct reply_encode_context {
    struct encoded_roster *roster; /* borrowed */
    uint64_t now_ns;
    uint64_t uptime_ms;
    uint64_t clock_ns; /* since 1970 */
    uint32_t serving;  /* enum health_serving */
    const char *version;
};

/*
 * Return the status to send. A lost compare-and-set is sent as HOOP_OK with a
 * body.
 */
enum hoop_status
reply_encode_status(const struct cluster_reply *reply);

/*
 * Encode the body, if the reply has one. Handle: HOOP_E_EXHAUSTED (no memory).
 * If the body is too large, the pack reports it.
 */
enum hoop_status
reply_encode_body(const struct cluster_reply *reply,
                  const struct reply_encode_context *context,
                  struct pack *pack);

#endif
