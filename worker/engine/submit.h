/*
 * engine/submit.h - any thread creates operations
 *
 * Private to engine/.
 */

#ifndef ENGINE_SUBMIT_H
#define ENGINE_SUBMIT_H

#include <stdint.h>

#include "engine/engine.h"

/* Like engine_start_collective(), with the fault rules known. */
enum hoop_status
op_start_collective(struct comm_context *context,
                    const struct engine_collective *collective,
                    uint32_t faults,
                    struct op **out_op);

#endif
