/*
 * base/rank_totals.h - what a rank has done on the data path since it joined
 *
 * Each total only grows. A rank tells them with its lease renewals, and the
 * coordinator adds the totals of many ranks up. Times are in microseconds.
 */

#ifndef BASE_RANK_TOTALS_H
#define BASE_RANK_TOTALS_H

#include <stdint.h>

#define RANK_TOTAL_LIST(X)                                                     \
    X(calls) /* calls that ended well */                                       \
    X(bytes_sent)                                                              \
    X(bytes_received)                                                          \
    /* time in which calls waited for other ranks */                           \
    X(wait_collective_us)                                                      \
    X(wait_message_us)                                                         \
    X(wait_forming_us) /* in the join, and until communicators formed */       \
    X(join_us)         /* how long the join took; 0: it is not over */         \
    /* calls that failed, by the cause */                                      \
    X(failures_timeout)                                                        \
    X(failures_lost)                                                           \
    X(failures_mismatch)                                                       \
    X(failures_cancelled)                                                      \
    X(failures_other)

struct rank_totals {
#define RANK_TOTAL_MEMBER(name) uint64_t name;
    RANK_TOTAL_LIST(RANK_TOTAL_MEMBER)
#undef RANK_TOTAL_MEMBER
};

/* Raise each total of seen to that of now, if that is larger. Returns by how
 * much each has grown. */
static inline struct rank_totals
rank_totals_advance(struct rank_totals *seen, const struct rank_totals *now)
{
    struct rank_totals gain = {0};

#define RANK_TOTAL_ADVANCE(name)                                               \
    if (now->name > seen->name) {                                              \
        gain.name = now->name - seen->name;                                    \
        seen->name = now->name;                                                \
    }
    RANK_TOTAL_LIST(RANK_TOTAL_ADVANCE)
#undef RANK_TOTAL_ADVANCE
    return gain;
}

static inline void
rank_totals_add(struct rank_totals *sum, const struct rank_totals *gain)
{
#define RANK_TOTAL_ADD(name) sum->name += gain->name;
    RANK_TOTAL_LIST(RANK_TOTAL_ADD)
#undef RANK_TOTAL_ADD
}

#endif
