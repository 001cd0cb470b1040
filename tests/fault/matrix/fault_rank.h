/* tests/fault/matrix/fault_rank.h - a rank of a cell, and what it leaves
 * behind */

#ifndef TESTS_FAULT_RANK_H
#define TESTS_FAULT_RANK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hoop/hoop.h"

#include "fault/ranks/mismatch_calls.h"

struct fault_cell;

/* What came of it for one rank. */
struct fault_rest {
    bool has_tried;
    bool is_wrong; /* the sum of those that are left */
    enum hoop_status status;
    uint32_t size; /* how many are left */
    char text[512];
};

/* By each that is left, after a failure on world. */
void
fault_shrink(hoop_comm_t *world, struct fault_rest *out_rest);

enum {
    FAULT_RANKS = 8,
};

/* What a rank was told first. */
struct fault_report {
    atomic_bool is_done;
    bool is_wrong; /* a call went well, with another result */
    enum hoop_status status;
    uint64_t when_ns;
    char text[1024];
    struct fault_rest rest; /* after that */
};

/* Shared by all processes of a cell, zero at first. */
struct fault_room {
    struct fault_report ranks[FAULT_RANKS];
    atomic_uint n_ready;
    atomic_bool may_leave;
    _Atomic uint64_t began_ns; /* the culprit's call */
};

struct fault_rank_options {
    const struct fault_cell *cell;
    uint32_t number;
    unsigned turn; /* of cells, in this process: no two share a job */
    uint32_t rank;
    const char *coordinator;
    uint32_t failure_timeout_ms; /* 0: the default */
    uint32_t op_ms;              /* a call's deadline */
    int note_fd;
    struct fault_room *room;
};

/* In a process of its own; returns its exit code. */
int
fault_rank_main(const struct fault_rank_options *options);

/*
 * The collectives of mismatch_calls.h, and messages that all ranks exchange.
 * A call leaves all it brings in args->recv, so that it can be compared.
 */

/* Who sends what. */
enum fault_call_parts {
    FAULT_CALL_FROM_ROOT = 256, /* others only pass on */
    FAULT_CALL_UPWARD = 512,    /* the last rank sends nothing */
    FAULT_CALL_MESSAGES = 1024,
};

struct fault_call {
    const char *name;
    const char *op; /* as HOOP_DEBUG_FAULT names it */
    unsigned parts; /* of these and enum matrix_parts */
    enum hoop_status (*run)(const struct matrix_args *args);
};

/* Why a call failed whose error another has followed; "": hoop_error_text(). */
extern char fault_call_text[1024];

uint32_t
fault_n_calls(void);
struct fault_call
fault_call_at(uint32_t i);

#endif
