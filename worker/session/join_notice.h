/*
 * session/join_notice.h - while a join waits: for what, on standard error
 *
 * As long as the loop runs. The coordinator is asked who has come whenever a
 * line is due; where it cannot be reached the line says why.
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
 * A join begins. refusal, which outlives the notice, is why the coordinator has
 * refused it, though it will be asked again; "": it has not. NULL where nobody
 * wants a notice, or without the memory for one.
 */
struct join_notice *
join_notice_create(const struct rendezvous *rendezvous, const char *refusal);

/* NULL is fine. */
void
join_notice_destroy(struct join_notice *notice);

DEFINE_CLEANUP(struct join_notice *, join_notice_destroy)

/* What a join waits for of a coordinator to which there is no connection.
 * trouble: as rpc_client_trouble(). */
void
join_notice_describe_trouble(const struct config *config,
                             const char *trouble,
                             char out_text[LIMIT_ERROR_TEXT]);

/* What a join waits for in a job that forms, as the coordinator describes it. */
void
join_notice_describe_job(const struct config *config,
                         const struct job_reply *job,
                         char out_text[LIMIT_ERROR_TEXT]);

/* What a join waits for that the coordinator has refused and will be asked for again.
 * refusal: the coordinator's reason. */
void
join_notice_describe_refusal(const struct config *config,
                             const char *refusal,
                             char out_text[LIMIT_ERROR_TEXT]);

/* What a join waits for where nobody says who has come. why: the coordinator's
 * reason; "": it does not answer. */
void
join_notice_describe_silence(const struct config *config,
                             const char *why,
                             char out_text[LIMIT_ERROR_TEXT]);

#endif
