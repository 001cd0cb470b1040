/*
 * tests/fault/fault_calls.h - what the ranks of the fault matrix call
 *
 * The collectives of mismatch_calls.h, and messages that all ranks exchange. A
 * call leaves all it brings in args->recv, so that it can be compared.
 */

#ifndef TESTS_FAULT_CALLS_H
#define TESTS_FAULT_CALLS_H

#include <stddef.h>
#include <stdint.h>

#include "mismatch_calls.h"

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
