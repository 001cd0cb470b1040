/* session/lifetime.h - sessions that are made on given terms, also of sessions */

#ifndef SESSION_LIFETIME_H
#define SESSION_LIFETIME_H

#include "hoop/session.h"
#include "hoop/status.h"

#include "session/terms.h"

/* How a worker came to a job. */
enum admission {
    ADMISSION_AT_FIRST, /* when it formed, or not at all */
    ADMISSION_BY_GROWTH /* it was taken in by members, who may have gone since */
};

/*
 * Join on terms; hoop_leave() ends it. *out_admission is written in any case.
 * Handle: as hoop_join().
 */
enum hoop_status
session_create(const struct terms *terms,
               enum admission *out_admission,
               struct hoop_session **out_session);

/* On which it was made. */
const struct terms *
session_terms(const struct hoop_session *session);

#endif
