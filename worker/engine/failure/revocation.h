/*
 * engine/failure/revocation.h - communicators that no member may use any more
 *
 * Private to engine/. Thread: the progress owner's.
 */

#ifndef ENGINE_FAILURE_REVOCATION_H
#define ENGINE_FAILURE_REVOCATION_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/engine.h"
#include "engine/failure/failure_record.h"
#include "wire/frame.h"

struct op;

/* A member or this rank has revoked context. Only the first call has an
 * effect. */
void
context_revoke_by_notice(struct comm_context *context,
                         const struct failure_notice *failure_notice);
/* The same, as a member's frame says with text. */
void
revocation_receive(struct comm_context *context,
                   const struct frame *frame,
                   const char *text);
/* A member asks about context, perhaps because it had not opened context when
 * the revocation was announced. Returns whether context is revoked; if so, the
 * member is told again. */
bool
revocation_send_if_revoked(const struct comm_context *context,
                           uint32_t world_rank);
/* This rank cannot remember what it has been told of a later call, as what says,
 * because it has "no memory", or another lack: revoke context, so that no rank
 * waits for a call that cannot end. */
void
context_revoke_for_lack(struct comm_context *context,
                        const char *lack,
                        const char *what);
/* Revoke context on behalf of this rank. */
void
revocation_execute(struct comm_context *context, const char *why);
/* context_revoke_if_failed(). */
uint64_t
revocation_execute_if_failed(struct comm_context *context);
/* rank has been lost: revoke watched contexts of which it is a member. */
void
member_watch_on_loss(struct engine *engine, uint32_t rank);
/* context_watch(). */
void
member_watch_set(struct comm_context *context, enum context_watch watch);
/* End op if its context was revoked before it began; returns whether it was. */
bool
op_fail_if_revoked(struct op *op);
/* context_get_failed_members() and context_get_lost_members(). */
void
context_list_failed_members(const struct comm_context *context,
                            bool *out_has_failed);
void
context_list_lost_members(const struct comm_context *context,
                          bool *out_is_lost);

#endif
