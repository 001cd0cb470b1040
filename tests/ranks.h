/*
 * tests/ranks.h - a world of forked processes, without a coordinator
 *
 * Every rank is a process with its own engine, connector and control thread, on
 * loopback sockets that the parent has bound. This tests all of worker/ except
 * the session. Collectives run as in a session, mostly in shared regions, or
 * else with the first algorithm of their kind; see path.h.
 */

#ifndef TESTS_RANKS_H
#define TESTS_RANKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "hoop/hoop.h"

struct engine;

/* A rank's test body may use this. */
struct rank {
    uint32_t rank;
    uint32_t size;
    hoop_comm_t *comm;
    struct engine *engine;
    const void *input;       /* the input of the test */
    volatile uint32_t *room; /* shared by all ranks, and zeroed */
    pid_t *pids;             /* [rank], shared, complete when the body runs */
};

/* Returns 0 if all is well. The process exits with the result. */
typedef int
rank_fn(struct rank *rank);

enum {
    RANKS_MAX = 64,
    RANKS_ROOM = 256
};

struct ranks_options {
    uint32_t size;
    rank_fn *body;
    const void *input;
    const char *codec;   /* NULL: that of the path */
    bool is_checked;     /* sets HOOP_CHECK=full, whatever the path says */
    uint32_t timeout_ms; /* per operation; 0: 20 s */
    uint32_t deadline_s; /* for the run; 0: 100 s, 240 with a sanitizer */
};

/*
 * Runs all ranks and waits for them. Returns how many did not return 0. A rank
 * that the test has killed with SIGKILL does not count.
 */
uint32_t
ranks_run(const struct ranks_options *options);

/* Calls ranks_run() with size ranks and default options. */
uint32_t
ranks_run_all(uint32_t size, rank_fn *body);

/* A cmocka test with this state runs body on each number of ranks from first to
 * last. */
struct ranks_test {
    rank_fn *body;
    uint32_t first;
    uint32_t last;
};

void
ranks_test_run(void **state);

#define RANKS_TEST(body, first, last)                                          \
    {                                                                          \
        .name = #body, .test_func = ranks_test_run,                            \
        .initial_state = &(struct ranks_test)                                  \
        {                                                                      \
            body, first, last                                                  \
        }                                                                      \
    }

struct rank_case {
    const char *name;
    rank_fn *body;
};

struct rank_cases {
    const struct rank_case *cases;
    size_t n_cases;
    const uint32_t *sizes;
    size_t n_sizes;
    uint32_t deadline_s; /* see ranks_options */
};

/* Runs each case on each size as a test of cmocka. Returns how many failed. */
int
ranks_run_cases(const struct rank_cases *cases);

/* These functions let ranks wait for each other without hoop, at most until the
 * deadline of the run. room_add() increments a counter, and room_await() sleeps
 * until the counter has reached a value. Whatever a rank wrote before
 * room_add() is visible to a rank that room_await() has woken. */
void
room_add(struct rank *rank, uint32_t place);
void
room_await(const struct rank *rank, uint32_t place, uint32_t at_least);
/* Sleeps until the process of another rank has ended. */
void
rank_await_end(const struct rank *rank, uint32_t other);

/* Returns whether the last error text contains the phrase, or names the process
 * of another rank. Otherwise the text is printed. */
bool
error_says(const char *phrase);
bool
error_names(const struct rank *rank, uint32_t other);

/* Use this in a body: unless the condition holds, it reports that and returns
 * 1. */
#define RANK_CHECK(condition)                                                  \
    do {                                                                       \
        if (!(condition))                                                      \
            return rank_report(rank, #condition, __FILE_NAME__, __LINE__);     \
    } while (0)

int
rank_report(const struct rank *rank,
            const char *condition,
            const char *file,
            int line);

#endif
