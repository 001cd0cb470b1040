/*
 * session/group_client.h - communicators of a session, as the coordinator knows
 * them
 *
 * Joins are asked from any thread, which waits for the answer; what is left is
 * told by the control loop, many at a time and again until it was heard. A
 * membership that has ended has left everything.
 */

#ifndef SESSION_GROUP_CLIENT_H
#define SESSION_GROUP_CLIENT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "hoop/status.h"

#include "net/loop.h"
#include "rpc/messages/group_messages.h"
#include "rpc/rpc_client.h"
#include "transport/roster.h"

struct group_client;

struct group_client_options {
    struct loop *loop; /* borrowed for life, as the two below */
    struct rpc_client *client;
    const struct roster *roster;
    uint32_t wait_notice_ms; /* base/wait_notice.h; 0: none */
    uint32_t timeout_ms;     /* HOOP_TIMEOUT's; a call may have less */
};

/* One communicator that was joined. */
struct group_membership {
    STAILQ_ENTRY(group_membership) link;
    uint64_t number;   /* this member's own */
    bool is_withdrawn; /* by whom it was interrupted, unless it has formed */
    uint64_t id;       /* of the communicator, the same on all its members */
};

/* Thread: before the loop runs. */
enum hoop_status
group_client_create(const struct group_client_options *options,
                    struct group_client **out_client);
/* After the loop has stopped and the client has been destroyed. NULL is fine. */
void
group_client_destroy(struct group_client *group_client);

struct rank_list {
    const uint32_t *ranks; /* world ranks, this one among them */
    uint32_t n_ranks;
};

/*
 * Wait until all of list have joined with the same. One rank alone asks
 * nobody. *out_registration is the caller's, who gives it to
 * group_client_leave().
 *
 * Handle: HOOP_E_TIMEOUT (the text names who is missing), HOOP_E_PEER_LOST (a
 * member is), HOOP_E_PRECONDITION (one has left the job). Thread: any but the
 * loop's.
 */
enum hoop_status
group_client_join(struct group_client *group_client,
                  const struct rank_list *list,
                  uint64_t timeout_ms,
                  struct group_membership **out_registration);

/* What a member of a communicator has to say when its survivors agree. */
struct group_client_proposal {
    uint64_t comm; /* its id */
    enum group_agree_kind kind;
    uint64_t turn;
    uint64_t flags;
    uint64_t least;
};

/*
 * Wait until all that survive have said theirs. The caller deinits *out_reply,
 * whose communicator is an id as a membership's. *out_registration of a shrink
 * is the caller's, who gives it to group_client_leave(); NULL for the others.
 *
 * Handle: HOOP_E_TIMEOUT (the text names who is missing), HOOP_E_ABORTED (this
 * rank has been declared lost). Thread: any but the loop's.
 */
enum hoop_status
group_client_agree(struct group_client *group_client,
                   const struct group_client_proposal *say,
                   uint64_t timeout_ms,
                   struct group_agree_reply *out_reply,
                   struct group_membership **out_registration);

/* Tell the coordinator once more that rank was found dead here, and wait for it;
 * at best. Thread: any but the loop's. */
void
group_client_report(struct group_client *group_client,
                    uint32_t rank,
                    uint64_t timeout_ms);

/* Takes group_membership; does not wait. NULL is fine. Thread: any. */
void
group_client_leave(struct group_client *group_client,
                   struct group_membership *group_membership);

#endif
