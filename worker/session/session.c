/* session/session.c - join a job by address, leave it */

#include "hoop/session.h"

#include <stddef.h>

#include "base/error.h"

enum hoop_status
hoop_join(const struct hoop_join_options *options, hoop_session_t **out_session)
{
    (void)options;
    (void)out_session;
    return error_raise(HOOP_E_UNIMPLEMENTED, "joining is not built yet");
}

void
hoop_leave(hoop_session_t *session)
{
    (void)session;
}

hoop_comm_t *
hoop_world(hoop_session_t *session)
{
    (void)session;
    return NULL;
}

void
hoop_session_stats(hoop_session_t *session, struct hoop_stats *out_stats)
{
    (void)session;
    *out_stats = (struct hoop_stats){0};
}
