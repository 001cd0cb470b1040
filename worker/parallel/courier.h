/*
 * parallel/courier.h - a stage's messages while a schedule runs
 *
 * Receives are started when the courier is told to and waited for when what
 * comes is needed. Sends are started and left alone; what has been sent is
 * freed when the next one is, and a stage that is far ahead of its neighbour
 * waits for the oldest.
 *
 * A neighbour of whom one message failed may never send or receive the others,
 * as when its schedule has fewer: they get a moment, and are given up.
 */

#ifndef PARALLEL_COURIER_H
#define PARALLEL_COURIER_H

#include <stdbool.h>
#include <sys/queue.h>

#include "hoop/comm.h"
#include "hoop/schedule.h"

#include "parallel/patience.h"
#include "parallel/shelf.h"

enum courier_side {
    COURIER_PREV,
    COURIER_NEXT,
    COURIER_SIDES,
};

struct courier {
    hoop_comm_t *stages;                       /* borrowed, as shape */
    const struct hoop_schedule_options *shape; /* the same on all stages */
    uint32_t stage;
    bool is_cut[COURIER_SIDES]; /* nothing is asked for any more */
    struct patience patience[COURIER_SIDES];
    STAILQ_HEAD(, shelf_place) sends; /* under way, oldest first */
    size_t n_sends;
    size_t bytes_sent;
    size_t bytes_received;
};

void
courier_init(struct courier *courier,
             hoop_comm_t *stages,
             const struct hoop_schedule_options *shape);

/* The stage that a send or a receive is for. */
uint32_t
courier_peer(const struct courier *courier, const struct hoop_task *task);

/* Start a receive into place, in whatever shape; from one who is cut off
 * nothing is. */
enum hoop_status
courier_receive(struct courier *courier,
                const struct hoop_task *task,
                struct shelf_place *place);
/* Wait for it; nothing started, nothing waited for. When it fails, its sender
 * is cut off, as is the receiver of a send that fails. */
enum hoop_status
courier_await(struct courier *courier,
              const struct hoop_task *task,
              struct shelf_place *place);

/* Start to send tensor, which is place's or lives longer; place is freed when
 * it has been sent. */
enum hoop_status
courier_send(struct courier *courier,
             const struct hoop_task *task,
             struct hoop_tensor *tensor,
             struct shelf_place *place);
/* Free what has been sent; wait while more than n_under_way are not. The first
 * failure is returned at once: call again for the others. */
enum hoop_status
courier_settle(struct courier *courier, size_t n_under_way);

#endif
