/*
 * fault/fault_rule.h - one fault: what happens where, and when
 *
 * A rule is a text, "rank=1,op=allreduce,seq=3,round=2,segment=1,do=kill". It
 * counts the matching operations when they begin, and their pieces when they
 * are sent or received. It applies once; do=jitter:SEED applies to all of them.
 * A part that is left out matches everything, and counting starts at 1. Rules
 * with rank=coordinator, and only those, are about the calls that hoopd
 * answers, as in "op=store_add".
 */

#ifndef FAULT_FAULT_RULE_H
#define FAULT_FAULT_RULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

enum fault_action {
    FAULT_NOTHING,
    /* Done to the process. */
    FAULT_KILL,
    FAULT_STOP,
    FAULT_EXIT,
    FAULT_DELAY,
    FAULT_JITTER, /* delays of random length, repeatedly */
    /* Done to a frame, or to its connection. */
    FAULT_RESET,
    FAULT_HALF_CLOSE,
    FAULT_DROP,
    FAULT_CORRUPT,
    FAULT_TRUNCATE,
    FAULT_DUPLICATE,
    FAULT_UNPLUG, /* from now on nothing is sent or received, without any
                     notice */
    FAULT_ACTIONS,
};

enum fault_point {
    FAULT_AT_BEGIN,   /* before an operation begins, in its caller */
    FAULT_AT_SEND,    /* before a piece is sent or posted; coordinator: all
                         is stored, nothing is answered */
    FAULT_AT_RECEIVE, /* before a received piece is used */
    FAULT_AT_END,     /* it has succeeded, but no rank knows yet;
                         coordinator: the caller has the answer */
    FAULT_POINTS,
};

enum {
    FAULT_OP_MAX = 32,
};

static const uint32_t FAULT_ANY_RANK = UINT32_MAX;
static const uint32_t FAULT_COORDINATOR = UINT32_MAX - 1;

struct fault_rule {
    uint32_t rank; /* or FAULT_ANY_RANK, as for peer; or FAULT_COORDINATOR */
    uint32_t peer;
    char op[FAULT_OP_MAX]; /* "": any */
    uint64_t seq;          /* 0: any, also for the two below */
    uint64_t round;
    uint64_t segment;
    enum fault_point at;
    enum fault_action action;
    int note_fd;     /* a struct fault_note is written to it; -1: none */
    uint64_t amount; /* DELAY: ns; EXIT: the code; CORRUPT: the bit; JITTER:
                        the seed, different for each rank */
    /* What it has counted. */
    uint64_t n_begun;
    uint64_t n_pieces;
    bool is_spent;
};

/* Something to which a rule may apply. */
struct fault_event {
    enum fault_point point;
    uint32_t peer;  /* FAULT_ANY_RANK: all ranks of a shared region */
    uint64_t round; /* from 1 */
    bool is_frame;  /* there is a frame to change or drop */
};

/*
 * text has n_bytes and is not terminated. Handle: HOOP_E_INVALID (the text says
 * which part, and what is allowed).
 */
enum hoop_status
fault_rule_parse(const char *text, size_t n_bytes, struct fault_rule *out_rule);

/* Assign the rule to a rank, so that each rank has different jitter. */
void
fault_rule_settle_on(struct fault_rule *rule, uint32_t rank);

/* An operation begins: return whether the rule applies to it. */
bool
fault_rule_begin(struct fault_rule *rule, const char *op);

/* Return whether it would apply to event. Here and below, the event belongs to
 * an operation for which fault_rule_begin() returned true. */
bool
fault_rule_is_due(const struct fault_rule *rule,
                  const struct fault_event *event);

/* Return whether it applies now, which it does once. */
bool
fault_rule_strikes(struct fault_rule *rule, const struct fault_event *event);

/*
 * Return for how many ns a jitter rule delays an operation at event, mostly 0.
 *
 * Depends only on the seed, the rank, the number of the operation among those
 * the rule has counted, and the piece; not on time.
 */
uint64_t
fault_rule_jitter_ns(const struct fault_rule *rule,
                     const struct fault_event *event);

/* "half-close", ... The text is static. */
const char *
fault_action_name(enum fault_action action);

/* Return whether the action is done to a frame. */
bool
fault_action_tampers(enum fault_action action);

#endif
