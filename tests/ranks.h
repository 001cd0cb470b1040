/*
 * tests/ranks.h - a world of forked processes, without a coordinator
 *
 * Every rank is a process with its own engine, connector and control thread,
 * on loopback sockets that the parent has bound. What is tested is all of
 * worker/ but the session. Collectives are done as a session would, in shared regions
 * mostly; or else by the first algorithm of their kind. More of that in path.h.
 */

#ifndef TESTS_RANKS_H
#define TESTS_RANKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "hoop/hoop.h"

struct engine;

/* What a rank's test body may use. */
struct rank {
    uint32_t rank;
    uint32_t size;
    hoop_comm_t *comm;
    struct engine *engine;
    const void *input;       /* of the test */
    volatile uint32_t *room; /* shared by all ranks, zero at first */
    pid_t *pids;             /* [rank], shared, complete when the body runs */
};

/* Returns 0 when all is well. Its exit is the process's. */
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
    const char *codec;   /* NULL: the path's */
    bool is_checked;     /* HOOP_CHECK=full, whatever the path's is */
    uint32_t timeout_ms; /* of an operation; 0: 20 s */
    uint32_t deadline_s; /* of all; 0: 100 s, 240 under a sanitizer */
};

/*
 * Run all ranks and wait for them. Returns how many did not return 0; those
 * killed by SIGKILL from the test itself do not count.
 */
uint32_t
ranks_run(const struct ranks_options *options);

/* ranks_run() of size ranks with nothing special. */
uint32_t
ranks_run_all(uint32_t size, rank_fn *body);

/* A test of cmocka's: body on each number of ranks from first to last. */
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
    uint32_t deadline_s; /* as in ranks_options */
};

/* Each case on each size is a test of cmocka's. Returns how many failed. */
int
ranks_run_cases(const struct rank_cases *cases);

/* Ranks wait for each other without hoop, at most until the deadline of all:
 * count one up, and sleep until so many have. Also says what came before. */
void
room_add(struct rank *rank, uint32_t place);
void
room_await(const struct rank *rank, uint32_t place, uint32_t at_least);
/* Sleep until the process of another rank has ended. */
void
rank_await_end(const struct rank *rank, uint32_t other);

/* Whether the text of the last error has the phrase, or names the process of
 * another rank; if not, it is printed. */
bool
error_says(const char *phrase);
bool
error_names(const struct rank *rank, uint32_t other);

/* In a body: report and return 1 unless the condition holds. */
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
