/*
 * session/lease_client.h - keeps a member's lease and receives failure notices
 *
 * Renews the lease three times in its length, whatever the user's threads do
 * meanwhile, and receives failure notices by a long poll. If the coordinator is
 * away, both are tried again for as long as the session lives; messages on
 * standard error say that it is away (base/log.h) and when it is back.
 *
 * Thread: the loop's, or any before the loop runs and after it has stopped,
 * except for the functions below that say otherwise.
 */

#ifndef SESSION_LEASE_CLIENT_H
#define SESSION_LEASE_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

#include "hoop/status.h"

#include "base/config.h"
#include "base/rank_totals.h"
#include "engine/engine.h"
#include "net/loop.h"
#include "recorder/recorder.h"
#include "rpc/rpc_client.h"
#include "transport/roster.h"

struct lease_client;

struct lease_client_options {
    struct loop *loop; /* borrowed for life, as the three below */
    struct rpc_client *client;
    const struct roster *roster;
    const struct config *config;
    uint32_t lease_ms;
    uint64_t revision; /* of the last membership change known */
    /* The coordinator's failure notice: rank, which may be this one, is dead
     * (EVIDENCE_TOLD) or has given up (EVIDENCE_GIVEN_UP). Called once for each
     * rank. */
    void (*on_lost)(void *owner,
                    uint32_t rank,
                    enum evidence evidence,
                    const char *why);
    /* The coordinator asks which ranks this one hears. The owner answers with
     * lease_client_send_peer_views() and the same question. */
    void (*on_peer_views_query)(void *owner, uint64_t question);
    /* The coordinator asks what this rank is doing. The owner answers with
     * lease_client_send_activity() and the same query. */
    void (*on_activity_query)(void *owner, uint64_t query);
    /* Each renewal tells what this rank has done since it joined. Called on the
     * loop's thread. */
    struct rank_totals (*totals)(void *owner);
    /* A renewal has brought the coordinator's clock. The first few follow each
     * other at once for its sake. Called on the loop's thread. NULL: nobody
     * wants it. */
    void (*on_clock)(void *owner, const struct recorder_round_trip *trip);
    /* The coordinator is away and cannot decide on a suspicion of rank. */
    void (*on_suspicion_undecided)(void *owner, uint32_t rank);
    void *owner;
};

/* Create a client that begins to renew and to watch as soon as the loop
 * runs. */
enum hoop_status
lease_client_create(const struct lease_client_options *options,
                    struct lease_client **out_client);
/* Cancels the calls that have not been answered. NULL is fine. */
void
lease_client_destroy(struct lease_client *lease_client);

/* Tell the coordinator that this process found rank lost, by evidence that
 * needs no decision. Delivery is not guaranteed. If rank is this one, the
 * coordinator is not told: the membership ends, and every call that waits for
 * the coordinator fails. Thread: any. */
void
lease_client_report_lost(struct lease_client *lease_client,
                         uint32_t rank,
                         enum evidence evidence,
                         const char *why);

/* This rank has given up, as why says: end the membership, fail every call that
 * waits for the coordinator, and tell it why. Needs no memory to be handed in.
 * Thread: any; at most once. */
void
lease_client_report_gave_up(struct lease_client *lease_client, const char *why);

/* Tell the coordinator that this rank gives up in all worlds of its job, and
 * wait at most timeout_ms for its answer. Then end the membership as
 * lease_client_report_lost() does. Returns whether the coordinator has
 * answered. Thread: any but the loop's. */
bool
lease_client_report_give_up(struct lease_client *lease_client,
                            const char *why,
                            uint64_t timeout_ms);

/* Tell the coordinator that this process no longer hears rank. The coordinator
 * decides who is lost. Thread: any. */
void
lease_client_report_suspicion(struct lease_client *lease_client,
                              uint32_t rank,
                              const struct engine_suspicion *suspicion);

/* Answer a question: views holds, for each rank, an enum evidence_view. Copied.
 * Thread: any. */
void
lease_client_send_peer_views(struct lease_client *lease_client,
                             uint64_t question,
                             const uint8_t *views);

/* Answer a query for what this rank is doing. Copied. Thread: any. */
void
lease_client_send_activity(struct lease_client *lease_client,
                           uint64_t query,
                           const struct engine_activity *activity);

#endif
