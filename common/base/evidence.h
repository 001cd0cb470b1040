/*
 * base/evidence.h - kinds of evidence that a rank is lost, and who decides on
 * them
 *
 * A single table, which docs/failure.md shows: for each kind of evidence,
 * whether a rank may decide on it alone, what is only inferred, and how soon
 * all survivors know. A rank that may not decide alone complains to the
 * coordinator, which asks all ranks which ranks they hear, and decides.
 */

#ifndef BASE_EVIDENCE_H
#define BASE_EVIDENCE_H

#include <stdbool.h>
#include <stdint.h>

/* The values are those on the control plane, in the order of the table. */
enum evidence {
    /* Whoever may decide has decided. */
    EVIDENCE_TOLD = 0,
    /* Its process was seen to end, on this host and in this PID namespace. */
    EVIDENCE_ENDED = 1,
    /* Its connection was closed because of invalid data on it. */
    EVIDENCE_CLOSED = 2,
    /* Its connection broke or cannot be made. */
    EVIDENCE_BROKEN = 3,
    /* Nothing was received from it for the failure timeout. */
    EVIDENCE_SILENT = 4,
    /* Only the coordinator has not heard it; no rank reports this. */
    EVIDENCE_LEASE = 5,
    /* It reported its own failure, with the reason: hoop_abort(), or a
     * shortage. */
    EVIDENCE_GIVEN_UP = 6,
    EVIDENCE_KINDS = 7,
};

enum evidence_decider {
    EVIDENCE_FINAL,        /* already decided */
    EVIDENCE_ALONE,        /* the rank that sees it */
    EVIDENCE_COORDINATOR,  /* the coordinator, after asking all connected
                              ranks */
    EVIDENCE_UNLESS_HEARD, /* as EVIDENCE_COORDINATOR, but not while any rank
                              hears it */
};

struct evidence_row {
    const char *name;
    enum evidence_decider decider;
    /* All survivors know within this time after the event; if is_waited, after
     * the failure timeout (EVIDENCE_LEASE: the lease) has passed as well. */
    uint32_t within_ms;
    bool is_waited;
    /* What is assumed but not known; "": nothing. */
    const char *inferred;
};

/* How the reason of a rank begins that gives up for want of something; its name
 * comes before. */
#define EVIDENCE_GAVE_UP "gave up: "

/* How the reason begins for which a rank is lost whose process is stopped. */
#define EVIDENCE_STOPPED "stopped ("

/* How the part of a reason begins that says who found out, the last one. The
 * control plane carries it in the text: docs/rpc.md. */
#define EVIDENCE_REPORTED_BY ", reported by "

/* Returns where that part of why begins, or NULL. */
const char *
evidence_find_reporters(const char *why);

/* Indexed by enum evidence. */
extern const struct evidence_row evidence_rows[EVIDENCE_KINDS];

/* Times of the decision, see docs/failure.md. */
enum {
    /* From the first complaint to the coordinator's decision, at most. */
    EVIDENCE_DECIDE_MS = 100,
    /* How long a rank that is asked waits for signs of life of its peers. */
    EVIDENCE_ANSWER_MS = 30,
    /* How long the coordinator asks which ranks hear a member whose lease has
     * expired. */
    EVIDENCE_LEASE_MS = 1000,
    /* How long a rank that has complained waits for a decision before it
     * applies the rule for ranks without a coordinator. */
    EVIDENCE_UNDECIDED_MS = 500,
};

/* What a rank answers about another when asked which ranks it hears. */
enum evidence_view {
    VIEW_NONE = 0,       /* not connected, or the other has ended */
    VIEW_HEARD = 1,      /* a sign of life came after the question */
    VIEW_UNANSWERED = 2, /* no sign of life came within EVIDENCE_ANSWER_MS */
    VIEW_SILENT = 3,     /* none came for the failure timeout: a complaint */
    VIEW_BROKEN = 4,     /* the connection is broken: a complaint */
    VIEW_KINDS = 5,
};

static inline bool
view_is_complaint(uint8_t view)
{
    return view == VIEW_SILENT || view == VIEW_BROKEN;
}

#endif
