/*
 * pipeline/messenger.h - a stage's messages while a schedule runs
 *
 * The caller starts receives early and waits for each when it needs the tensor.
 * Sends proceed in the background. A tensor is freed at a later call that finds
 * it sent; a stage that is far ahead of its neighbour waits for its oldest
 * send.
 *
 * Once one message with a neighbour has failed, the neighbour may never match
 * the others, for example if its schedule has fewer. They are given a short
 * time and then cancelled.
 */

#ifndef PIPELINE_MESSENGER_H
#define PIPELINE_MESSENGER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "hoop/comm.h"
#include "hoop/op.h"
#include "hoop/schedule.h"
#include "hoop/status.h"
#include "hoop/tensor.h"

#include "base/limits.h"
#include "pipeline/neighbour.h"
#include "pipeline/schedule_run.h"

/*
 * A neighbour of the stage. After a message with it has failed, it may not have
 * the others. From then on each wait is limited to LIMIT_MISMATCH_WAIT_MS, and
 * after one has reached the limit, later ones cancel at once. If both processes
 * do expect the same messages, both started them long before.
 */
struct messenger_side {
    bool is_cut_off; /* no more receives are started */
    int64_t wait_ms; /* at first HOOP_FOREVER: until the operation's deadline */
};

struct messenger {
    struct neighbours neighbours;              /* ranks of the stages */
    const struct hoop_schedule_options *shape; /* the same on all stages */
    uint32_t stage;
    struct messenger_side prev;
    struct messenger_side next;
    STAILQ_HEAD(, activation_slot) sends; /* in progress, oldest first */
    size_t n_sends;
    size_t bytes_sent;
    size_t bytes_received;
};

/* Initialises a messenger of the calling stage, a member of stages. */
void
messenger_init(struct messenger *messenger,
               hoop_comm_t *stages,
               const struct hoop_schedule_options *shape);

/* Starts a receive into place of a tensor of any shape. Does nothing if the
 * neighbour has been cut off. A receive that cannot start cuts the neighbour
 * off. */
enum hoop_status
messenger_start_receive(struct messenger *messenger,
                        const struct hoop_task *task,
                        struct activation_slot *place);
/* Waits for the receive into place; does nothing if none was started. If it
 * fails, its sender is cut off. */
enum hoop_status
messenger_wait_receive(struct messenger *messenger,
                       const struct hoop_task *task,
                       struct activation_slot *place);

/* Starts to send tensor, which is place's own or outlives the send. place is
 * cleared when the tensor has been sent. */
enum hoop_status
messenger_start_send(struct messenger *messenger,
                     const struct hoop_task *task,
                     struct hoop_tensor *tensor,
                     struct activation_slot *place);
/* Clears the slots of completed sends, and waits while more than n_under_way
 * are in progress. A failed send cuts its receiver off and is returned at once:
 * call again for the others. */
enum hoop_status
messenger_reap_sends(struct messenger *messenger, size_t n_under_way);

/*
 * The abort message: a stage whose run has failed sends it in place of every
 * tensor that it still has to send. So every stage learns, in the receive that
 * it waits in, that the run has failed, why, and on which stage. A program's
 * tensor is not mistaken for it: it has 8 dimensions, is of bytes, and begins
 * with 16 random bytes.
 */

struct abort_message {
    enum hoop_status status; /* HOOP_OK: no failure */
    char text[LIMIT_ABORT_MESSAGE_TEXT];
};

enum {
    ABORT_MESSAGE_MAGIC_BYTES = 16,
    ABORT_MESSAGE_BYTES =
        ABORT_MESSAGE_MAGIC_BYTES + 4 + LIMIT_ABORT_MESSAGE_TEXT
};

/* Packs a failure into bytes and returns the tensor to send. The tensor points
 * into bytes, which must outlive it. */
struct hoop_tensor
abort_message_pack(const struct abort_message *abort_message,
                   uint8_t bytes[ABORT_MESSAGE_BYTES]);

/* Returns false if the tensor is not an abort message; then *out_abort_message
 * is not written. */
bool
abort_message_unpack(const struct hoop_tensor *tensor,
                     struct abort_message *out_abort_message);

#endif
