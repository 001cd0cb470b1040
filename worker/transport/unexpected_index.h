/*
 * transport/unexpected_index.h - unexpected messages by operation number
 *
 * Private to transport/. A rank that only sends may be thousands of calls
 * ahead of this one, which asks for every call what came early for it. One
 * list of all messages would be searched each time.
 */

#ifndef TRANSPORT_UNEXPECTED_INDEX_H
#define TRANSPORT_UNEXPECTED_INDEX_H

#include <sys/queue.h>

enum {
    UNEXPECTED_INDEX_LISTS = 256,
};

struct unexpected;

TAILQ_HEAD(unexpected_list, unexpected);

/* List i has the messages of all peers whose operation number is i modulo
 * UNEXPECTED_INDEX_LISTS. */
struct unexpected_index {
    struct unexpected_list lists[UNEXPECTED_INDEX_LISTS];
};

void
unexpected_index_init(struct unexpected_index *unexpected_index);

/* unexpected must be a FLOW_COLLECTIVE. */
void
unexpected_index_add(struct unexpected_index *unexpected_index,
                     struct unexpected *unexpected);
void
unexpected_index_remove(struct unexpected_index *unexpected_index,
                        struct unexpected *unexpected);

#endif
