/* session/session.h - sessions created from a resolved config */

#ifndef SESSION_SESSION_H
#define SESSION_SESSION_H

#include <stdbool.h>

#include "hoop/session.h"
#include "hoop/status.h"

#include "session/config.h"

/* How a worker entered a job. */
enum admission {
    ADMISSION_AT_FORMING, /* when the job formed, or not at all */
    ADMISSION_BY_GROWTH   /* members admitted it; they may have gone since */
};

/*
 * Join as config says. hoop_leave() ends the session. Always writes
 * *out_admission.
 * Handle: as hoop_join().
 */
enum hoop_status
session_create(const struct config *config,
               enum admission *out_admission,
               struct hoop_session **out_session);

/* End all calls that wait for this rank, here and on the peers that it is
 * connected to. Does not tell the coordinator. Returns false if this rank had
 * been declared lost before, by others. Thread: any. */
bool
session_abort_calls(struct hoop_session *session, const char *why);

/* The config of the session. Borrowed. */
const struct config *
session_config(const struct hoop_session *session);

#endif
