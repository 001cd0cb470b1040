/*
 * parallel/messenger.h - a stage's messages while a schedule runs
 *
 * Receives are started when the messenger is told to and waited for when what
 * comes is needed. Sends are started and left alone; what has been sent is
 * freed when the next one is, and a stage that is far ahead of its neighbour
 * waits for the oldest.
 *
 * A neighbour of whom one message failed may never send or receive the others,
 * as when its schedule has fewer: they get a moment, and are given up.
 */

#ifndef PARALLEL_MESSENGER_H
#define PARALLEL_MESSENGER_H

#include <stdbool.h>
#include <sys/queue.h>

#include "hoop/comm.h"
#include "hoop/schedule.h"

#include "parallel/activation_store.h"
#include "parallel/patience.h"

enum messenger_side {
    MESSENGER_PREV,
    MESSENGER_NEXT,
    MESSENGER_SIDES,
};

struct messenger {
    hoop_comm_t *stages;                       /* borrowed, as shape */
    const struct hoop_schedule_options *shape; /* the same on all stages */
    uint32_t stage;
    bool is_cut[MESSENGER_SIDES]; /* nothing is asked for any more */
    struct patience patience[MESSENGER_SIDES];
    STAILQ_HEAD(, activation_slot) sends; /* under way, oldest first */
    size_t n_sends;
    size_t bytes_sent;
    size_t bytes_received;
};

void
messenger_init(struct messenger *messenger,
               hoop_comm_t *stages,
               const struct hoop_schedule_options *shape);

/* The stage that a send or a receive is for. */
uint32_t
messenger_peer(const struct messenger *messenger, const struct hoop_task *task);

/* Start a receive into place, in whatever shape; from one who is cut off
 * nothing is. */
enum hoop_status
messenger_receive(struct messenger *messenger,
                  const struct hoop_task *task,
                  struct activation_slot *place);
/* Wait for it; nothing started, nothing waited for. When it fails, its sender
 * is cut off, as is the receiver of a send that fails. */
enum hoop_status
messenger_await(struct messenger *messenger,
                const struct hoop_task *task,
                struct activation_slot *place);

/* Start to send tensor, which is place's or lives longer; place is freed when
 * it has been sent. */
enum hoop_status
messenger_send(struct messenger *messenger,
               const struct hoop_task *task,
               struct hoop_tensor *tensor,
               struct activation_slot *place);
/* Free what has been sent; wait while more than n_under_way are not. The first
 * failure is returned at once: call again for the others. */
enum hoop_status
messenger_settle(struct messenger *messenger, size_t n_under_way);

#endif
