/* session/lifetime.h - sessions that are made on given terms, also of sessions */

#ifndef SESSION_LIFETIME_H
#define SESSION_LIFETIME_H

#include "hoop/session.h"
#include "hoop/status.h"

#include "session/terms.h"

/* Where a worker may join instead, and as what. */
struct successor {
    char job[LIMIT_NAME]; /* "": nowhere */
    uint32_t rank;
    uint32_t world_size;
    uint32_t size_min;
    uint32_t settle_ms;
    uint32_t timeout_ms; /* of its members, as long as they wait */
};

/*
 * Join on terms; hoop_leave() ends it. *out_successor says where there is a place
 * for newcomers when the job has none now: HOOP_E_UNAVAILABLE then.
 * Handle: as hoop_join().
 */
enum hoop_status
session_create(const struct terms *terms,
               struct successor *out_successor,
               struct hoop_session **out_session);

/* On which it was made. */
const struct terms *
session_terms(const struct hoop_session *session);

#endif
