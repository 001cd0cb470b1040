/*
 * base/evidence.h - what is known of a rank that may be lost, and who concludes
 *
 * One table, which docs/failure.md shows: for each kind of evidence whether a
 * rank may conclude from it alone, what is only inferred, and how soon all
 * survivors know. A rank that may not conclude alone complains to the
 * coordinator, which asks all ranks whom they hear, and decides.
 */

#ifndef BASE_EVIDENCE_H
#define BASE_EVIDENCE_H

#include <stdbool.h>
#include <stdint.h>

/* In the order of the table, and as on the control plane. */
enum evidence {
    /* Somebody who may conclude so has done so. */
    EVIDENCE_TOLD = 0,
    /* Its process was seen to end, on this host and in this PID namespace. */
    EVIDENCE_ENDED = 1,
    /* Its connection was closed since what came on it is not what may come. */
    EVIDENCE_CLOSED = 2,
    /* Its connection broke, or cannot be made. */
    EVIDENCE_BROKEN = 3,
    /* Nothing has come of it for the failure timeout. */
    EVIDENCE_SILENT = 4,
    /* The coordinator alone has not heard it; no rank reports that. */
    EVIDENCE_LEASE = 5,
    /* It has said so itself, and why: hoop_abort(). */
    EVIDENCE_GIVEN_UP = 6,
    EVIDENCE_KINDS = 7,
};

enum evidence_decider {
    EVIDENCE_FINAL,        /* who concluded is past doubt */
    EVIDENCE_ALONE,        /* whoever sees it */
    EVIDENCE_COORDINATOR,  /* after what all ranks say that are connected */
    EVIDENCE_UNLESS_HEARD, /* ... and nobody, while one of them hears it */
};

struct evidence_row {
    const char *name;
    enum evidence_decider decider;
    /* All survivors know so soon after the event, where is_waited is set after
     * the failure timeout (EVIDENCE_LEASE: the lease) has passed. */
    uint32_t within_ms;
    bool is_waited;
    /* What is not known, but taken for true; "": nothing. */
    const char *inferred;
};

/* [enum evidence] */
extern const struct evidence_row evidence_rows[EVIDENCE_KINDS];

/* Times of the decision: see docs/failure.md. */
enum {
    /* From the first complaint to the coordinator's decision, at most. */
    EVIDENCE_DECIDE_MS = 100,
    /* So long a rank that is asked waits for signs of life of its own peers. */
    EVIDENCE_ANSWER_MS = 30,
    /* A coordinator that has lost a lease asks for so long who hears the rank. */
    EVIDENCE_LEASE_MS = 1000,
    /* After so long without a decision a rank that has complained goes by the
     * rule for ranks without a coordinator. */
    EVIDENCE_UNDECIDED_MS = 500,
};

/* What a rank says of another one when it is asked whom it hears. */
enum evidence_view {
    VIEW_NONE = 0,       /* not connected, or it has ended */
    VIEW_HEARD = 1,      /* a sign of life came after the question */
    VIEW_UNANSWERED = 2, /* none did, in EVIDENCE_ANSWER_MS */
    VIEW_SILENT = 3,     /* ... for the failure timeout: a complaint */
    VIEW_BROKEN = 4,     /* a complaint */
    VIEW_KINDS = 5,
};

static inline bool
view_complains(uint8_t view)
{
    return view == VIEW_SILENT || view == VIEW_BROKEN;
}

#endif
