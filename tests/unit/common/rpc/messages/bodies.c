/* tests/unit/common/rpc/messages/bodies.c - decode and encode */

#include "bodies.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "rpc/messages/auth_messages.h"
#include "rpc/messages/group_messages.h"
#include "rpc/messages/rendezvous_messages.h"
#include "rpc/messages/status_messages.h"
#include "rpc/messages/store_messages.h"

#define BODY(message)                                                          \
    {                                                                          \
#message, message##_descriptor                                         \
    }

/* The corpus of the fuzz target counts them: new ones are added at the end. */
const struct body bodies[] = {
    BODY(join_request),
    BODY(leave_request),
    BODY(lease_reply),
    BODY(report_request),
    BODY(watch_request),
    BODY(store_set_request),
    BODY(store_add_request),
    BODY(store_swap_request),
    BODY(store_list_request),
    BODY(store_watch_request),
    BODY(group_key_request),
    BODY(health_request),
    BODY(health_reply),
    BODY(join_reply),
    BODY(watch_reply),
    BODY(store_keys_request),
    BODY(store_reply),
    BODY(store_watch_reply),
    BODY(group_create_request),
    BODY(groups_reply),
    BODY(jobs_reply),
    BODY(job_reply),
    BODY(group_join_request),
    BODY(group_join_reply),
    BODY(group_leave_request),
    BODY(group_agree_request),
    BODY(group_agree_reply),
    BODY(auth_challenge_request),
    BODY(auth_challenge_reply),
    BODY(auth_prove_request),
    BODY(renew_request),
    BODY(job_request),
    BODY(group_awaited_request),
    BODY(group_awaited_reply),
    BODY(activity_details),
    BODY(why_reply),
    BODY(recording_answer),
    BODY(recording_request),
    BODY(recording_reply),
};

const size_t n_bodies = COUNT_OF(bodies);

const struct body *
body_find(const char *name)
{
    for (size_t i = 0; i < n_bodies; i++) {
        if (strcmp(bodies[i].name, name) == 0)
            return &bodies[i];
    }
    return NULL;
}

enum hoop_status
body_again(const struct body *body, struct message_span in, struct pack *pack)
{
    const struct message_descriptor *descriptor = body->descriptor();
    CLEANUP(free) void *message = calloc(1, descriptor->n_bytes);

    const enum hoop_status status = message_decode(descriptor, in, message);
    if (status != HOOP_OK)
        return status;
    message_encode(descriptor, message, pack);
    message_deinit(descriptor, message);
    return HOOP_OK;
}
