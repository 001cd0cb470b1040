/* tests/fault/matrix/fault_verdict.h - whether survivors agree in time */

#ifndef TESTS_FAULT_VERDICT_H
#define TESTS_FAULT_VERDICT_H

#include <stdbool.h>
#include <stdint.h>

#include "fault/matrix/fault_rank.h"
#include "fault/matrix/fault_run.h"

struct fault_evidence {
    const struct fault_cell *cell;
    const struct fault_lab *lab;
    const struct fault_room *room;
    bool is_present[FAULT_RANKS]; /* neither dead nor stopped */
    bool is_over;                 /* no rank hangs in a call */
    bool have_left;               /* no rank hangs in hoop_leave() */
    uint64_t struck_ns;           /* when the fault struck; 0: it did not */
    uint32_t peer;                /* the receiver of the affected data */
};

/* Returns the one rank that every survivor must name, or FAULT_NOBODY if none
 * may be named. */
uint32_t
fault_to_be_blamed(const struct fault_cell *cell, uint32_t peer);

void
fault_judge(const struct fault_evidence *evidence,
            struct fault_outcome *out_outcome);

/* Returns the rank that the error text of rank self blames, or FAULT_NOBODY.
 * Stores in *out_why what happened to it, up to the first number or punctuation
 * mark. */
static const uint32_t FAULT_NOBODY = UINT32_MAX;

struct fault_why {
    char text[128];
};

uint32_t
fault_blamed(uint32_t self, const char *text, struct fault_why *out_why);

#endif
