/*
 * plan/ledger.h - every message of a collective, and that each step is sound
 *
 * What can be told without running: spans lie inside their buffers, the two
 * spans of a step agree, no step of a round touches what another one of it
 * writes (hence no receive depends on a send of its own round), and every
 * message is sent exactly once and taken exactly once, with one size.
 */

#ifndef PLAN_LEDGER_H
#define PLAN_LEDGER_H

#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

#include "plan/checker.h"
#include "plan/tracker.h"

struct ledger_message {
    uint32_t source;
    uint32_t target;
    uint32_t number;
    uint64_t n_bytes;

    /* While it travels: kept by the rehearsal. */
    uint64_t n_sent;
    uint64_t n_taken;
    struct track *sender; /* NULL: not active */
    struct track *receiver;
    uint64_t *bytes; /* as they left */
};

struct ledger_list {
    struct ledger_message *messages; /* by source, target, number */
    size_t n_messages;
    size_t capacity;
};

struct ledger {
    struct ledger_list sends;
    struct ledger_list receives;
    struct plan plan;
};

/*
 * ledger is zeroed memory; deinit is due also after a failure.
 * Handle: HOOP_E_INTERNAL (the algorithm is wrong).
 */
enum hoop_status
ledger_build(struct ledger *ledger, const struct checker_case *proof);
void
ledger_deinit(struct ledger *ledger);

/* The message of a step of a rank; NULL for local steps. */
struct ledger_message *
ledger_find(struct ledger *ledger, uint32_t rank, const struct plan_step *step);

#endif
