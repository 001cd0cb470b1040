/*
 * session/group_client.h - the coordinator's view of a session's communicators
 *
 * Any thread may ask to join a communicator, and waits for the answer. The
 * control loop reports which communicators were left, many in one call, and
 * repeats the call until the coordinator has answered. The end of a membership
 * in the job ends all its memberships in communicators.
 */

#ifndef SESSION_GROUP_CLIENT_H
#define SESSION_GROUP_CLIENT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "hoop/status.h"

#include "base/config.h"
#include "net/loop.h"
#include "rpc/messages/group_messages.h"
#include "rpc/rpc_client.h"
#include "transport/roster.h"

struct group_client;

struct group_client_options {
    struct loop *loop; /* borrowed for life, as the three below */
    struct rpc_client *client;
    const struct roster *roster;
    const struct config *config; /* a single call may have less time */
};

/* This member's registration in one communicator. */
struct group_membership {
    STAILQ_ENTRY(group_membership) link;
    uint64_t number; /* chosen by this member, unique within it */
    /* the call was interrupted; leave unless the communicator has formed */
    bool is_join_withdrawn;
    uint64_t id; /* the communicator's id, the same on all members */
};

/* Thread: any, before the loop runs. */
enum hoop_status
group_client_create(const struct group_client_options *options,
                    struct group_client **out_client);
/* Call after the loop has stopped and the RPC client has been destroyed. NULL
 * is fine. */
void
group_client_destroy(struct group_client *group_client);

struct rank_list {
    const uint32_t *ranks; /* world ranks, among them this one */
    uint32_t n_ranks;
};

/*
 * Register for the communicator of list and wait until every rank of list has
 * done the same. A communicator of one rank is formed without the coordinator.
 * The caller owns *out_registration and passes it to group_client_leave().
 *
 * Handle: HOOP_E_TIMEOUT (the text names who is missing), HOOP_E_PEER_LOST (a
 * member is lost), HOOP_E_PRECONDITION (a member has left the job).
 * Thread: any but the loop's.
 */
enum hoop_status
group_client_join(struct group_client *group_client,
                  const struct rank_list *list,
                  uint64_t timeout_ms,
                  struct group_membership **out_registration);

/* What a member contributes when the survivors of a communicator agree. */
struct group_client_proposal {
    uint64_t comm; /* the communicator's id */
    enum group_agree_kind kind;
    uint64_t turn;
    uint64_t flags;
    uint64_t least;
};

/*
 * Contribute say and wait until every surviving member has done so. The caller
 * deinits *out_reply; its communicator becomes an id like that of a
 * group_membership. For GROUP_SHRINK the caller owns *out_registration and
 * passes it to group_client_leave(); for the other kinds out_registration is
 * not used and may be NULL.
 *
 * Handle: HOOP_E_TIMEOUT (the text names who is missing), HOOP_E_ABORTED (this
 * rank has been declared lost).
 * Thread: any but the loop's.
 */
enum hoop_status
group_client_agree(struct group_client *group_client,
                   const struct group_client_proposal *say,
                   uint64_t timeout_ms,
                   struct group_agree_reply *out_reply,
                   struct group_membership **out_registration);

/* Report again to the coordinator that this rank found rank dead, and wait for
 * the answer. Failure is only logged. Thread: any but the loop's. */
void
group_client_report_lost(struct group_client *group_client,
                         uint32_t rank,
                         uint64_t timeout_ms);

/* Leave a communicator without waiting. Takes ownership of group_membership.
 * NULL is fine. Thread: any. */
void
group_client_leave(struct group_client *group_client,
                   struct group_membership *group_membership);

#endif
