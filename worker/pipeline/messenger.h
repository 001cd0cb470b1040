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
 * time and then cancelled (pipeline/patience.h).
 */

#ifndef PIPELINE_MESSENGER_H
#define PIPELINE_MESSENGER_H

#include <stdbool.h>
#include <sys/queue.h>

#include "hoop/comm.h"
#include "hoop/schedule.h"

#include "pipeline/activation_store.h"
#include "pipeline/patience.h"

enum messenger_side {
    MESSENGER_PREV,
    MESSENGER_NEXT,
    MESSENGER_SIDES,
};

struct messenger {
    hoop_comm_t *stages;                       /* borrowed, as is shape */
    const struct hoop_schedule_options *shape; /* the same on all stages */
    uint32_t stage;
    bool is_cut[MESSENGER_SIDES]; /* no more receives are started */
    struct patience patience[MESSENGER_SIDES];
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

/* Returns the rank of the stage that a send or a receive communicates with. */
uint32_t
messenger_peer_rank(const struct messenger *messenger,
                    const struct hoop_task *task);

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

#endif
