/*
 * session/join_notice.h - messages to standard error while a join waits
 *
 * Works while the loop runs. Whenever a message is due, the coordinator is
 * asked who has joined; if it cannot be reached, the message says why.
 */

#ifndef SESSION_JOIN_NOTICE_H
#define SESSION_JOIN_NOTICE_H

#include "base/cleanup.h"
#include "base/limits.h"
#include "rpc/messages/status_messages.h"
#include "session/config.h"
#include "session/rendezvous.h"

struct join_notice;

/*
 * Start notices for a join that begins. refusal is the coordinator's reason for
 * refusing a join that is repeated, or "" if it has not refused; it must
 * outlive the notice. Returns NULL if no notice is wanted or there is no memory
 * for it.
 */
struct join_notice *
join_notice_create(const struct rendezvous *rendezvous, const char *refusal);

/* NULL is fine. */
void
join_notice_destroy(struct join_notice *notice);

DEFINE_CLEANUP(struct join_notice *, join_notice_destroy)

/* Describe a join that waits for a connection to the coordinator. trouble is as
 * rpc_client_disconnect_reason() returns it. */
void
join_notice_describe_unreachable(const struct config *config,
                                 const char *trouble,
                                 char out_text[LIMIT_ERROR_TEXT]);

/* Describe a join that waits in a job that is forming, by the coordinator's
 * description of that job. */
void
join_notice_describe_job(const struct config *config,
                         const struct job_reply *job,
                         char out_text[LIMIT_ERROR_TEXT]);

/* Describe a join that the coordinator has refused and that will be repeated.
 * refusal is the coordinator's reason. */
void
join_notice_describe_refusal(const struct config *config,
                             const char *refusal,
                             char out_text[LIMIT_ERROR_TEXT]);

/* Describe a join of which the coordinator does not tell who has come. why is
 * its reason, or "" if it does not answer. */
void
join_notice_describe_no_answer(const struct config *config,
                               const char *why,
                               char out_text[LIMIT_ERROR_TEXT]);

#endif
