/* tests/fault/matrix/fault_rank.h - a rank of a cell and what it reports */

#ifndef TESTS_FAULT_RANK_H
#define TESTS_FAULT_RANK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hoop/hoop.h"

#include "fault/ranks/mismatch_calls.h"

struct fault_cell;

/* This says how one survivor went on. */
struct fault_rest {
    bool has_tried;
    bool is_wrong; /* the sum over the survivors is wrong */
    enum hoop_status status;
    uint32_t size; /* how many survive */
    char text[512];
};

/* Each survivor calls this after a failure on world. */
void
fault_shrink(hoop_comm_t *world, struct fault_rest *out_rest);

enum {
    FAULT_RANKS = 8,
};

/* This is the first error of a rank. */
struct fault_report {
    atomic_bool is_done;
    bool is_wrong; /* a call succeeded with a wrong result */
    enum hoop_status status;
    uint64_t when_ns;
    char text[1024];
    struct fault_rest rest; /* what happened after that */
};

/* All processes of a cell share this memory. It is zeroed at first. */
struct fault_room {
    struct fault_report ranks[FAULT_RANKS];
    atomic_uint n_ready;
    atomic_bool may_leave;
    _Atomic uint64_t began_ns; /* when the culprit made its call */
};

struct fault_rank_options {
    const struct fault_cell *cell;
    uint32_t number;
    unsigned turn; /* serial number of the cell in this process */
    uint32_t rank;
    const char *coordinator;
    uint32_t failure_timeout_ms; /* 0: the default */
    uint32_t op_ms;              /* the deadline of a call */
    int note_fd;
    struct fault_room *room;
};

/* Runs a rank in a process of its own. Returns its exit code. */
int
fault_rank_main(const struct fault_rank_options *options);

/*
 * The calls are the collectives of mismatch_calls.h and messages that all ranks
 * exchange. Each leaves its result in args->recv, where it can be compared.
 */

/* Which ranks send data. */
enum fault_call_parts {
    FAULT_CALL_FROM_ROOT = 256, /* the other ranks only forward */
    FAULT_CALL_UPWARD = 512,    /* the last rank sends nothing */
    FAULT_CALL_MESSAGES = 1024,
};

struct fault_call {
    const char *name;
    const char *op; /* the name in HOOP_DEBUG_FAULT */
    unsigned parts; /* of these and of enum matrix_parts */
    enum hoop_status (*run)(const struct matrix_args *args);
};

/* This is the error text of a call that made another call after its failure. If
 * it is "", hoop_error_text() has the text. */
extern char fault_call_text[1024];

uint32_t
fault_n_calls(void);
struct fault_call
fault_call_at(uint32_t i);

#endif
