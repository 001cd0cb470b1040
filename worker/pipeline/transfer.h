/*
 * pipeline/transfer.h - one call of a pipeline
 *
 * A transfer has lists of tensors in up to four directions. All are started
 * together and then waited for.
 */

#ifndef PIPELINE_TRANSFER_H
#define PIPELINE_TRANSFER_H

#include <stdbool.h>
#include <stdint.h>

#include "hoop/pipeline.h"
#include "hoop/tensor.h"

#include "base/limits.h"

/* In the order in which they are started. */
enum transfer_direction {
    TRANSFER_SEND_PREV,
    TRANSFER_RECV_PREV,
    TRANSFER_RECV_NEXT,
    TRANSFER_SEND_NEXT,
};

enum {
    TRANSFER_WAYS = TRANSFER_SEND_NEXT + 1
};

struct transfer {
    /* NULL: nothing in this direction */
    const struct hoop_tensors *lists[TRANSFER_WAYS];
    hoop_comm_t *stages;
    uint32_t prev; /* ranks of stages, as next */
    uint32_t next;
    uint32_t lane;
    hoop_comm_t *tensor_parallel; /* NULL: none, or of one rank */
    /* tensors are cut into shares for it; NULL: sent whole */
    hoop_comm_t *sharing;
};

/* How a list of a transfer has ended. */
struct transfer_result {
    enum hoop_status status;
    /* moved between the stages: both sides know */
    bool has_moved;
    char text[LIMIT_ERROR_TEXT]; /* unless status is HOOP_OK */
};

/* Records the last error as a list's failure, unless the list has failed
 * before. */
void
transfer_result_fail(struct transfer_result *end, enum hoop_status status);

/* Returns the name of a direction's list, for example "input_grad". */
const char *
transfer_direction_name(enum transfer_direction way);

/* Runs a transfer and waits for it. After a failure nothing is handed out.
 * Handle: as hoop_pipe_exchange_all(). */
enum hoop_status
transfer_run(const struct transfer *transfer);

#endif
