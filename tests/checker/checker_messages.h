/*
 * tests/checker/checker_messages.h - checks all messages and steps of a collective
 *
 * These checks need no run. Spans lie inside their buffers. The two spans of a
 * step have one size and do not half overlap. No step of a round touches what
 * another step of it writes, hence no receive depends on a send of its own
 * round. Every message is sent exactly once and received exactly once, with one
 * size.
 */

#ifndef CHECKER_CHECKER_MESSAGES_H
#define CHECKER_CHECKER_MESSAGES_H

#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

#include "checker/checker.h"
#include "plan/tracker.h"

struct checker_message {
    uint32_t source;
    uint32_t target;
    uint32_t number;
    uint64_t n_bytes;

    /* The state of the message in transit, kept by the checker run. */
    uint64_t n_sent;
    uint64_t n_taken;
    struct tracked_step *sender; /* NULL: the step is not active */
    struct tracked_step *receiver;
    uint64_t *bytes; /* the values at the time they were sent */
};

struct checker_message_list {
    struct checker_message *messages; /* sorted by source, target and number */
    size_t n_messages;
    size_t capacity;
};

struct checker_messages {
    struct checker_message_list sends;
    struct checker_message_list receives;
    struct plan plan;
};

/*
 * checker_messages must be zeroed. Call deinit after a failure, too.
 * Handle: HOOP_E_INTERNAL (the algorithm is wrong).
 */
enum hoop_status
checker_messages_build(struct checker_messages *checker_messages,
                       const struct checker_case *scenario);
void
checker_messages_deinit(struct checker_messages *checker_messages);

/* The message that a step of rank sends or receives; NULL for local steps. */
struct checker_message *
checker_messages_find(struct checker_messages *checker_messages,
                      uint32_t rank,
                      const struct plan_step *step);

#endif
