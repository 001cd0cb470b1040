/*
 * session/rendezvous.h - joining a job and leaving it
 *
 * Both run the loop on the calling thread until the answer has arrived: the
 * background thread does not exist yet, or no longer.
 */

#ifndef SESSION_RENDEZVOUS_H
#define SESSION_RENDEZVOUS_H

#include "hoop/status.h"

#include "base/evidence.h"
#include "net/loop.h"
#include "rpc/messages/rendezvous_messages.h"
#include "rpc/rpc_client.h"
#include "session/advertise.h"
#include "session/config.h"
#include "session/session.h"
#include "transport/roster.h"

struct rendezvous {
    struct loop *loop;         /* no thread runs it */
    struct rpc_client *client; /* uses that loop */
    const struct config *config;
    uint64_t *credential;      /* this member's; rendezvous_join() writes it */
    struct rank_totals totals; /* told when this member leaves, as the next */
    struct message_span failure; /* see leave_request */
};

/*
 * Join and wait until the world has formed. Peers are told the advertised
 * address. If that is a guess, they are told the local address by which the
 * coordinator was reached, with the port of the guess. The caller deinits
 * *out_reply.
 *
 * Handle: HOOP_E_TIMEOUT and whatever the coordinator answers; the text says
 * which job, where, and the coordinator's reason, such as who is missing.
 * HOOP_E_DATA_LOSS: the answer is inconsistent.
 */
enum hoop_status
rendezvous_join(const struct rendezvous *rendezvous,
                const struct advertised_address *advertised,
                struct join_reply *out_reply);

/* How long to pause before repeating a refused join, with left_ms left until
 * its deadline. The last attempt falls exactly on the deadline. */
uint64_t
rendezvous_retry_delay_ms(uint64_t left_ms);

/* Build the roster of members that the transport uses. The caller owns
 * *out_roster.
 * Handle: HOOP_E_DATA_LOSS. */
enum hoop_status
rendezvous_roster_create(const struct config *config,
                         const struct join_reply *reply,
                         struct roster **out_roster);

/* Tell the coordinator that this rank leaves, and wait at most timeout_ms.
 * Failure is harmless and only logged. why is "", or the reason why this rank
 * cannot be a member, which the other members are told with evidence. */
void
rendezvous_leave(const struct rendezvous *rendezvous,
                 const struct roster *roster,
                 enum evidence evidence,
                 const char *why,
                 uint64_t timeout_ms);

#endif
