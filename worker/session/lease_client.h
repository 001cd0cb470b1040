/*
 * session/lease_client.h - a member's lease_client: its lease, and who else has lost it
 *
 * Renews the lease three times in its length, whatever the user's threads do
 * meanwhile, and watches for failure notices by a long poll. A coordinator that is
 * away changes nothing: both are tried again for as long as the session lives, and
 * standard error tells of it (base/wait_notice.h), and when it is back.
 *
 * Thread: the loop's, or before it runs and after it has stopped, except
 * lease_client_report_lost(), _complain() and _answer().
 */

#ifndef SESSION_LEASE_CLIENT_H
#define SESSION_LEASE_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

#include "hoop/status.h"

#include "engine/engine.h"
#include "net/loop.h"
#include "rpc/rpc_client.h"
#include "transport/roster.h"

struct lease_client;

struct lease_client_options {
    struct loop *loop; /* borrowed for life, as the two below */
    struct rpc_client *client;
    const struct roster *roster;
    uint32_t lease_ms;
    uint64_t revision;       /* of the last change known */
    const char *coordinator; /* its address, for the user; borrowed for life */
    uint32_t wait_notice_ms; /* base/wait_notice.h; 0: none */
    /* The coordinator's failure notice: rank, which may be this one, is dead
     * (EVIDENCE_TOLD), or has given up. Once per rank. */
    void (*on_lost)(void *owner,
                    uint32_t rank,
                    enum evidence evidence,
                    const char *why);
    /* It asks whom this rank hears: lease_client_send_views() with the same question. */
    void (*on_asked)(void *owner, uint64_t question);
    /* It asks what this rank is in: lease_client_send_activity() with the same query. */
    void (*on_activity_query)(void *owner, uint64_t query);
    /* It is away, and decides nothing on a complaint of rank. */
    void (*on_undecided)(void *owner, uint32_t rank);
    void *owner;
};

/* Begins to renew and to watch when the loop runs. */
enum hoop_status
lease_client_create(const struct lease_client_options *options,
                    struct lease_client **out_client);
/* Gives up what has not been answered. NULL is fine. */
void
lease_client_destroy(struct lease_client *lease_client);

/* Tell the coordinator that rank was found lost here, by evidence that needs no
 * more decision; at best. Where it is this rank, every call that waits for the
 * coordinator ends. Thread: any. */
void
lease_client_report_lost(struct lease_client *lease_client,
                         uint32_t rank,
                         enum evidence evidence,
                         const char *why);

/* ... that this rank gives up, in all worlds of its job, and wait until it has heard,
 * for timeout_ms at most; then as above. Whether it has. Thread: any but the loop's. */
bool
lease_client_give_up(struct lease_client *lease_client,
                     const char *why,
                     uint64_t timeout_ms);

/* ... that rank is not heard here any more: the coordinator decides who is lost.
 * Thread: any. */
void
lease_client_report_suspicion(struct lease_client *lease_client,
                              uint32_t rank,
                              const struct engine_suspicion *suspicion);

/* ... whom this rank hears: views of all ranks, enum evidence_view. Thread: any. */
void
lease_client_send_views(struct lease_client *lease_client,
                        uint64_t question,
                        const uint8_t *views);

/* ... what this rank is in. Thread: any. */
void
lease_client_send_activity(struct lease_client *lease_client,
                           uint64_t query,
                           const struct engine_activity *activity);

#endif
