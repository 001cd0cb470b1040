/*
 * session/rendezvous.h - joining and leaving, as the coordinator sees it
 *
 * Both run the loop on the calling thread until the answer is here: there is
 * no background thread yet, or no more.
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
    struct loop *loop;         /* nobody runs it */
    struct rpc_client *client; /* on that loop */
    const struct config *config;
    uint64_t *credential; /* this member's; a join writes it */
};

/*
 * Wait until the world has formed. Peers are told the advertised address; where
 * it is a guess, that by which the coordinator is reached, with its port.
 * The caller deinits *out_reply.
 *
 * Handle: HOOP_E_TIMEOUT and whatever the coordinator answers; the text says
 * which job, where, and the coordinator's reason, who is missing for one.
 * HOOP_E_DATA_LOSS: an answer that makes no sense.
 */
enum hoop_status
rendezvous_join(const struct rendezvous *rendezvous,
                const struct advertised *advertised,
                struct join_reply *out_reply);

/* How long a join that was refused pauses before it tries again, of left_ms until its
 * deadline: the last try comes when that is there, neither before it nor behind it. */
uint64_t
rendezvous_pause_ms(uint64_t left_ms);

/* The members as the transport knows them. Handle: HOOP_E_DATA_LOSS. */
enum hoop_status
rendezvous_roster(const struct config *config,
                  const struct join_reply *reply,
                  struct roster **out_roster);

/* Tell the coordinator, for at most timeout_ms; failing is no harm. why: "", or
 * why this rank cannot be a member, which the others are told, by evidence. */
void
rendezvous_leave(const struct rendezvous *rendezvous,
                 const struct roster *roster,
                 enum evidence evidence,
                 const char *why,
                 uint64_t timeout_ms);

#endif
