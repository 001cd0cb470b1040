/*
 * parallel/transfer.h - one call of a pipeline: lists of tensors in up to four
 * directions, started together and waited for
 */

#ifndef PARALLEL_TRANSFER_H
#define PARALLEL_TRANSFER_H

#include <stdbool.h>
#include <stdint.h>

#include "hoop/pipeline.h"
#include "hoop/tensor.h"

#include "base/limits.h"

/* In the order in which they are started. */
enum transfer_way {
    TRANSFER_SEND_PREV,
    TRANSFER_RECV_PREV,
    TRANSFER_RECV_NEXT,
    TRANSFER_SEND_NEXT,
};

enum {
    TRANSFER_WAYS = TRANSFER_SEND_NEXT + 1
};

struct transfer {
    const struct hoop_tensors *lists[TRANSFER_WAYS]; /* NULL: not this one */
    hoop_comm_t *stages;
    uint32_t prev; /* ranks of stages */
    uint32_t next;
    uint32_t lane;
    hoop_comm_t *tensor_parallel; /* NULL: none, or alone in it */
    hoop_comm_t *sharing; /* tensors are cut in shares for it; NULL: whole */
};

/* How a list of a transfer has ended. */
struct transfer_end {
    enum hoop_status status;
    bool has_moved;              /* between the stages: both know */
    char text[LIMIT_ERROR_TEXT]; /* unless status is HOOP_OK */
};

/* A list has failed with the last error: its first failure counts. */
void
transfer_end_fail(struct transfer_end *end, enum hoop_status status);

/* What the lists are called: "input_grad". */
const char *
transfer_name(enum transfer_way way);

/* Handle: as hoop_pipe_exchange_all(). */
enum hoop_status
transfer_run(const struct transfer *transfer);

#endif
