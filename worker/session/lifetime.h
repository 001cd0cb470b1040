/* session/lifetime.h - sessions that are made on given terms, also of sessions */

#ifndef SESSION_LIFETIME_H
#define SESSION_LIFETIME_H

#include "hoop/session.h"
#include "hoop/status.h"

#include "session/terms.h"

/*
 * Join on terms; hoop_leave() ends it. out_successor becomes the job that takes
 * newcomers in place of this one, which cannot now, or "": HOOP_E_UNAVAILABLE
 * then.
 * Handle: as hoop_join().
 */
enum hoop_status
session_create(const struct terms *terms,
               char out_successor[LIMIT_NAME],
               struct hoop_session **out_session);

/* On which it was made. */
const struct terms *
session_terms(const struct hoop_session *session);

#endif
