/*
 * fault/fault_rule.h - one fault: what happens where, and when it is due
 *
 * A rule is text, "rank=1,op=allreduce,seq=3,round=2,segment=1,do=kill". It
 * looks at operations as they begin and at their pieces as they are sent and
 * come, counts those that it means, and strikes once; do=jitter:SEED strikes at
 * all of them. What is not said is any,
 * and all is counted from 1. With rank=coordinator it is about the calls that
 * hoopd answers, "op=store_add", and no other rule is. Pure.
 */

#ifndef FAULT_FAULT_RULE_H
#define FAULT_FAULT_RULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

enum fault_action {
    FAULT_NOTHING,
    /* To the process. */
    FAULT_KILL,
    FAULT_STOP,
    FAULT_EXIT,
    FAULT_DELAY,
    FAULT_JITTER, /* delays of random length, again and again */
    /* To a frame, or the connection that it would have gone over. */
    FAULT_RESET,
    FAULT_HALF_CLOSE,
    FAULT_DROP,
    FAULT_CORRUPT,
    FAULT_TRUNCATE,
    FAULT_DUPLICATE,
    FAULT_UNPLUG, /* from now on nothing goes or comes, and nobody is told */
    FAULT_ACTIONS,
};

enum fault_point {
    FAULT_AT_BEGIN,   /* before an operation is begun, in its caller */
    FAULT_AT_SEND,    /* before a piece is sent, or posted; the coordinator's:
                         all is kept, and nobody has been answered */
    FAULT_AT_RECEIVE, /* before a piece that came is used */
    FAULT_AT_END,     /* it has gone well, and nobody knows yet; the
                         coordinator's: who asked has the answer */
    FAULT_POINTS,
};

enum {
    FAULT_OP_MAX = 32,
};

static const uint32_t FAULT_ANY_RANK = UINT32_MAX;
static const uint32_t FAULT_COORDINATOR = UINT32_MAX - 1;

struct fault_rule {
    uint32_t rank; /* or FAULT_ANY_RANK, as peer; or FAULT_COORDINATOR */
    uint32_t peer;
    char op[FAULT_OP_MAX]; /* "": any */
    uint64_t seq;          /* 0: any, as the two below */
    uint64_t round;
    uint64_t segment;
    enum fault_point at;
    enum fault_action action;
    int note_fd;     /* a struct fault_note is written to it; -1: none */
    uint64_t amount; /* of DELAY, ns; of EXIT, the code; of CORRUPT, the bit; of
                        JITTER, the seed, each rank's own */
    /* What it has seen. */
    uint64_t n_begun;
    uint64_t n_pieces;
    bool is_spent;
};

/* Something at which a rule may strike. */
struct fault_event {
    enum fault_point point;
    uint32_t peer;  /* FAULT_ANY_RANK: all, of a shared region */
    uint64_t round; /* from 1 */
    bool is_frame;  /* there is one to be tampered with */
};

/*
 * text is n_bytes long and not terminated.
 * Handle: HOOP_E_INVALID (the text says which part, and what is allowed).
 */
enum hoop_status
fault_rule_parse(const char *text, size_t n_bytes, struct fault_rule *out_rule);

/* The rule is a rank's from now on, so that each has a jitter of its own. */
void
fault_rule_settle_on(struct fault_rule *rule, uint32_t rank);

/* An operation begins: whether the rule is about it. */
bool
fault_rule_begin(struct fault_rule *rule, const char *op);

/* Whether it would strike. Of an operation that it is about, as below. */
bool
fault_rule_is_due(const struct fault_rule *rule,
                  const struct fault_event *event);

/* Whether it strikes now: once. */
bool
fault_rule_strikes(struct fault_rule *rule, const struct fault_event *event);

/*
 * How long a rule of jitter delays an operation at event, in ns, mostly 0. The same
 * for the same seed, rank, number of the operation among those that the rule has
 * seen, and piece of it: whatever the times at which they come.
 */
uint64_t
fault_rule_jitter_ns(const struct fault_rule *rule,
                     const struct fault_event *event);

/* "half-close". Static. */
const char *
fault_action_name(enum fault_action action);

/* It happens to a frame. */
bool
fault_action_tampers(enum fault_action action);

#endif
