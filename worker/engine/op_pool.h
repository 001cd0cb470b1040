/*
 * engine/op_pool.h - keeps operations that have ended for later calls
 *
 * Private to engine/.
 */

#ifndef ENGINE_OP_POOL_H
#define ENGINE_OP_POOL_H

#include <stdint.h>

struct algorithm;
struct comm_context;
struct op;

/* Returns an operation that is ready for a call of algorithm on context, or for
 * a message if algorithm is NULL. Returns NULL if there is no memory. */
struct op *
op_alloc(struct comm_context *context, const struct algorithm *algorithm);

/* Let op, which has not begun, have waited since started_ns. */
void
op_begin_wait(struct op *op, uint64_t started_ns);

/* Return op to the pool, or free it if the pool is full. */
void
op_free(struct op *op);

/* Free op with all that it keeps. */
void
op_destroy(struct op *op);

#endif
