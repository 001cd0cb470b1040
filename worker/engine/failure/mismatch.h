/*
 * engine/failure/mismatch.h - two ranks called different things: the failure
 * names both
 *
 * Private to engine/. Thread: the progress owner's.
 */

#ifndef ENGINE_FAILURE_MISMATCH_H
#define ENGINE_FAILURE_MISMATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/frame.h"

struct comm_context;
struct engine;
struct frame_tensor;
struct op;
struct shm_region_header;

/* How the two sides of a collective's message disagree about its length. */
struct size_mismatch {
    uint64_t number;
    const struct frame_call *call;
    uint64_t n_expected;
    uint64_t n_sent;
    bool is_sent; /* by this rank */
};

/* A frame of peer belongs to another call than this rank's of the same number:
 * both fail. */
void
mismatch_report_calls(struct comm_context *context,
                      uint32_t peer,
                      const struct frame *frame);
/* The calls are the same, but the two sides disagree about the length of a
 * message. */
void
mismatch_report_size(struct comm_context *context,
                     uint32_t peer,
                     const struct size_mismatch *size_mismatch);
/* Check that the frames that came before op began are of the same call; else op
 * ends. */
void
mismatch_check_early_frames(struct op *op);
/* op has all it needs. Returns true if more data came, for which op has been
 * ended. */
bool
mismatch_check_surplus(struct op *op);
/* Returns what the header of a post says, as a frame. */
struct frame
shm_header_to_frame(const struct comm_context *context,
                    const struct shm_region_header *header);

/* The receive op has been matched with the message that frame begins (and
 * tensor describes, if it is one) but cannot take it. The receive and the send
 * end. */

/* The message is not what op expects. */
void
receive_mismatch_report_type(struct op *op,
                             const struct frame *frame,
                             const struct frame_tensor *tensor);
/* There is no memory for the message, as why says. */
void
receive_mismatch_report_memory(struct op *op,
                               const struct frame *frame,
                               const struct frame_tensor *tensor,
                               const char *why);
/* op waits for more parts of a list, but frame begins the sender's next list.
 * Only op ends. */
void
receive_mismatch_report_list(struct op *op,
                             const struct frame *frame,
                             const struct frame_tensor *tensor);
/* No receive is left for a message: tell its sender. */
void
receive_mismatch_report_extra(struct engine *engine,
                              uint32_t peer,
                              const struct frame *frame,
                              const struct frame_tensor *tensor);

#endif
