/*
 * session/standing.h - a member's standing: its lease, and who else has lost it
 *
 * Renews the lease three times in its length, whatever the user's threads do
 * meanwhile, and watches for verdicts by a long poll. A coordinator that is
 * away changes nothing: both are tried again for as long as the session lives, and
 * standard error tells of it (base/wait_notice.h), and when it is back.
 *
 * Thread: the loop's, or before it runs and after it has stopped, except
 * standing_report(), _complain() and _answer().
 */

#ifndef SESSION_STANDING_H
#define SESSION_STANDING_H

#include <stdbool.h>
#include <stdint.h>

#include "hoop/status.h"

#include "engine/engine.h"
#include "net/loop.h"
#include "rpc/rpc_client.h"
#include "transport/roster.h"

struct standing;

struct standing_options {
    struct loop *loop; /* borrowed for life, as the two below */
    struct rpc_client *client;
    const struct roster *roster;
    uint32_t lease_ms;
    uint64_t revision;       /* of the last change known */
    const char *coordinator; /* its address, for the user; borrowed for life */
    uint32_t wait_notice_ms; /* base/wait_notice.h; 0: none */
    /* The coordinator's verdict: rank, which may be this one, is dead
     * (EVIDENCE_TOLD), or has given up. Once per rank. */
    void (*on_lost)(void *owner,
                    uint32_t rank,
                    enum evidence evidence,
                    const char *why);
    /* It asks whom this rank hears: standing_answer() with the same question. */
    void (*on_asked)(void *owner, uint64_t question);
    /* It asks what this rank is in: standing_tell_activity() with the same query. */
    void (*on_activity_query)(void *owner, uint64_t query);
    /* It is away, and decides nothing on a complaint of rank. */
    void (*on_undecided)(void *owner, uint32_t rank);
    void *owner;
};

/* Begins to renew and to watch when the loop runs. */
enum hoop_status
standing_create(const struct standing_options *options,
                struct standing **out_standing);
/* Gives up what has not been answered. NULL is fine. */
void
standing_destroy(struct standing *standing);

/* Tell the coordinator that rank was found lost here, by evidence that needs no
 * more decision; at best. Where it is this rank, every call that waits for the
 * coordinator ends. Thread: any. */
void
standing_report(struct standing *standing,
                uint32_t rank,
                enum evidence evidence,
                const char *why);

/* ... that this rank gives up, in all worlds of its job, and wait until it has heard,
 * for timeout_ms at most; then as above. Whether it has. Thread: any but the loop's. */
bool
standing_give_up(struct standing *standing,
                 const char *why,
                 uint64_t timeout_ms);

/* ... that rank is not heard here any more: the coordinator decides who is lost.
 * Thread: any. */
void
standing_complain(struct standing *standing,
                  uint32_t rank,
                  const struct engine_suspicion *suspicion);

/* ... whom this rank hears: views of all ranks, enum evidence_view. Thread: any. */
void
standing_answer(struct standing *standing,
                uint64_t question,
                const uint8_t *views);

/* ... what this rank is in. Thread: any. */
void
standing_tell_activity(struct standing *standing,
                       uint64_t query,
                       const struct engine_activity *activity);

#endif
