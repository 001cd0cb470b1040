/*
 * plan/checker_messages.h - every message of a collective, and that each step is sound
 *
 * What can be told without running: spans lie inside their buffers, the two
 * spans of a step agree, no step of a round touches what another one of it
 * writes (hence no receive depends on a send of its own round), and every
 * message is sent exactly once and taken exactly once, with one size.
 */

#ifndef PLAN_CHECKER_MESSAGES_H
#define PLAN_CHECKER_MESSAGES_H

#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

#include "plan/checker.h"
#include "plan/tracker.h"

struct checker_message {
    uint32_t source;
    uint32_t target;
    uint32_t number;
    uint64_t n_bytes;

    /* While it travels: kept by the checker run. */
    uint64_t n_sent;
    uint64_t n_taken;
    struct track *sender; /* NULL: not active */
    struct track *receiver;
    uint64_t *bytes; /* as they left */
};

struct checker_message_list {
    struct checker_message *messages; /* by source, target, number */
    size_t n_messages;
    size_t capacity;
};

struct checker_messages {
    struct checker_message_list sends;
    struct checker_message_list receives;
    struct plan plan;
};

/*
 * checker_messages is given zeroed memory; deinit is due also after a failure.
 * Handle: HOOP_E_INTERNAL (the algorithm is wrong).
 */
enum hoop_status
checker_messages_build(struct checker_messages *checker_messages,
                       const struct checker_case *scenario);
void
checker_messages_deinit(struct checker_messages *checker_messages);

/* The message of a step of a rank; NULL for local steps. */
struct checker_message *
checker_messages_find(struct checker_messages *checker_messages,
                      uint32_t rank,
                      const struct plan_step *step);

#endif
