/*
 * engine/failure/failure_notice.h - what ranks tell each other of failures
 *
 * Private to engine/. Thread: the progress owner's, if nothing else is said.
 */

#ifndef ENGINE_FAILURE_FAILURE_NOTICE_H
#define ENGINE_FAILURE_FAILURE_NOTICE_H

#include <stdbool.h>
#include <stdint.h>

#include "hoop/comm.h"

#include "engine/failure/failure_record.h"
#include "wire/frame.h"

struct comm_context;
struct engine;
struct roster;

/* The communicator id of failure notices on a rank; others are on an operation
 * of a communicator. */
static const uint64_t FAILURE_COMM_ID_OF_LOST_RANK = 0;

/* The operation number of a failure notice that is on the whole
 * communicator. */
static const uint64_t FAILURE_OP_NUMBER_WHOLE_COMM = 0;

/* Thread: any. */
struct failure_notice
failure_notice_make(enum hoop_status status,
                    uint32_t rank,
                    const char *format,
                    ...) __attribute__((format(printf, 3, 4)));
/* Returns the details of a failure that belongs to no operation. */
struct hoop_failure
failure_to_hoop_failure(const struct roster *roster,
                        const struct failure_notice *failure_notice);
/* Returns the failure of operations that need rank, which is lost. */
struct failure_notice
lost_rank_failure(const struct engine *engine, uint32_t rank);
/* Returns whether a member is lost, and which. */
bool
context_has_lost_member(const struct comm_context *context,
                        struct failure_notice *out_notice);
/* Decode a peer's failure notice, whose payload is text. */
struct failure_notice
failure_notice_decode(const struct engine *engine,
                      const struct frame *frame,
                      const char *text);
/* Pack the rank of a failure notice as FRAME_FAILURE_NOTICE carries it in
 * call.root. */
uint32_t
failure_notice_pack_rank(uint32_t rank);
/* Tell every peer that an operation has failed. */
void
failure_notice_send_all(struct engine *engine,
                        const struct comm_context *context,
                        uint64_t number,
                        const struct failure_notice *failure_notice);
/* Tell a peer to which goodbye is being said of all lost ranks. */
void
failure_notice_send_lost_ranks(struct engine *engine, uint32_t peer);
/* Operation number, which has ended here, failed elsewhere: pass the notice on
 * if it is new. The next call of context that ends reports a mismatch. */
void
failure_notice_on_ended(struct comm_context *context,
                        uint64_t number,
                        const struct failure_notice *failure_notice);
/* A peer's failure notice on a message that this rank sent to it, or on a
 * collective. */
void
failure_notice_on_message(struct comm_context *context,
                          uint32_t peer,
                          const struct frame *frame,
                          const char *text);
void
failure_notice_on_op(struct comm_context *context,
                     const struct frame *frame,
                     const char *text);

#endif
