/*
 * transport/early.h - what came of collectives before it was wanted, by number
 *
 * Private to transport/. A rank that only sends may be thousands of calls
 * ahead of this one, which asks of every call what came early for it: a list
 * of all of them would be gone through each time.
 */

#ifndef TRANSPORT_EARLY_H
#define TRANSPORT_EARLY_H

#include <sys/queue.h>

enum {
    EARLY_LISTS = 256,
};

struct arrival;

TAILQ_HEAD(arrival_list, arrival);

/* Each has the operations of every so many-th number, of all peers. */
struct early {
    struct arrival_list lists[EARLY_LISTS];
};

void
early_init(struct early *early);

/* Of FLOW_COLLECTIVE. */
void
early_add(struct early *early, struct arrival *arrival);
void
early_remove(struct early *early, struct arrival *arrival);

#endif
