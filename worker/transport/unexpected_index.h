/*
 * transport/unexpected_index.h - what came of collectives before it was wanted, by number
 *
 * Private to transport/. A rank that only sends may be thousands of calls
 * ahead of this one, which asks of every call what came early for it: a list
 * of all of them would be gone through each time.
 */

#ifndef TRANSPORT_UNEXPECTED_INDEX_H
#define TRANSPORT_UNEXPECTED_INDEX_H

#include <sys/queue.h>

enum {
    UNEXPECTED_INDEX_LISTS = 256,
};

struct unexpected;

TAILQ_HEAD(unexpected_list, unexpected);

/* Each has the operations of every so many-th number, of all peers. */
struct unexpected_index {
    struct unexpected_list lists[UNEXPECTED_INDEX_LISTS];
};

void
unexpected_index_init(struct unexpected_index *unexpected_index);

/* Of FLOW_COLLECTIVE. */
void
unexpected_index_add(struct unexpected_index *unexpected_index,
                     struct unexpected *unexpected);
void
unexpected_index_remove(struct unexpected_index *unexpected_index,
                        struct unexpected *unexpected);

#endif
