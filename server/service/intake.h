/*
 * service/intake.h - a request as an event of the core
 *
 * One reader for each method, in a table. The readers look at bodies only:
 * what is allowed is the core's to say.
 */

#ifndef SERVICE_INTAKE_H
#define SERVICE_INTAKE_H

#include <stdbool.h>
#include <stdint.h>

#include "hoop/status.h"

#include "core/event.h"
#include "rpc/envelope.h"
#include "rpc/messages/group_messages.h"
#include "rpc/messages/rendezvous_messages.h"
#include "rpc/messages/store_messages.h"
#include "rpc/method.h"

/* A decoded body, which the event borrows. Zeroed memory is empty. */
struct intake {
    union {
        struct join_request join;
        struct member_request member;
        struct renew_request renew;
        struct report_request report;
        struct watch_request watch;
        struct store_set_request set;
        struct store_add_request add;
        struct store_swap_request swap;
        struct store_list_request list;
        struct store_watch_request store_watch;
        struct group_key_request group_key;
        struct group_agree_request agree;
    };
    struct store_keys_request keys;
    struct group_create_request group;
    struct group_join_request group_join;
    struct group_leave_request group_leave;
};

/*
 * Decode the body for method and fill the event's kind, job, role
 * and arguments. The event borrows intake and envelope. now_ns and deadline_ns
 * stand in the event already; a join brings its deadline closer.
 *
 * Handle: HOOP_E_DATA_LOSS (no such body), HOOP_E_UNIMPLEMENTED (the core
 * does not serve this method).
 */
enum hoop_status
intake_read(struct intake *intake,
            enum method_id method,
            const struct envelope_request *envelope,
            struct cluster_event *event);

/* Which job a request is about, also if it names none. */
const char *
intake_job(const struct envelope_request *envelope);

/* Whether the coordinator has to keep more for it, of what can be asked for
 * again later: not what a member needs to go on, or to leave. */
bool
intake_adds(enum method_id method);

/* When a parked reply must leave, to arrive by deadline_ns. */
uint64_t
intake_deadline_ns(uint64_t deadline_ns, uint64_t now_ns);

/* Zeroed memory is fine. */
void
intake_deinit(struct intake *intake);

static inline void
intake_deinit_at(struct intake *at)
{
    intake_deinit(at);
}

#endif
