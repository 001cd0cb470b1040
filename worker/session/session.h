/* session/session.h - sessions that are made on given config, also of sessions */

#ifndef SESSION_SESSION_H
#define SESSION_SESSION_H

#include <stdbool.h>

#include "hoop/session.h"
#include "hoop/status.h"

#include "session/config.h"

/* How a worker came to a job. */
enum admission {
    ADMISSION_AT_FIRST, /* when it formed, or not at all */
    ADMISSION_BY_GROWTH /* it was taken in by members, who may have gone since */
};

/*
 * Join as config says; hoop_leave() ends it. *out_admission is written in any case.
 * Handle: as hoop_join().
 */
enum hoop_status
session_create(const struct config *config,
               enum admission *out_admission,
               struct hoop_session **out_session);

/* What waits for this rank ends, here and where it is connected; the coordinator is
 * not told. False: it was lost before, not by its own word. Thread: any. */
bool
session_give_up(struct hoop_session *session, const char *why);

/* On which it was made. */
const struct config *
session_config(const struct hoop_session *session);

#endif
