/* hoop/op.h - an operation that has been started */

#ifndef HOOP_OP_H
#define HOOP_OP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hoop/api.h"
#include "hoop/status.h"

HOOP_BEGIN

/*
 * Made by a _start function, ended by hoop_wait(), hoop_test() or
 * hoop_wait_all(). Until then its buffers are lent to hoop: receive buffers
 * must not be touched, send buffers not be changed.
 */
typedef struct hoop_op hoop_op_t;

/* As timeout_ms: until the operation's own deadline (its communicator's). */
enum {
    HOOP_FOREVER = -1
};

/*
 * Wait until the operation has ended and free it. HOOP_E_PENDING alone means
 * that timeout_ms passed first: the operation lives on, its buffers stay lent
 * and op stays valid. Every other status is the operation's own.
 *
 * Handle: HOOP_E_PENDING, HOOP_E_PEER_LOST, HOOP_E_MISMATCH.
 * Thread: any, one waiter per operation. The waiting thread moves the data.
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_wait(hoop_op_t *op, int64_t timeout_ms);

/* hoop_wait() that does not wait: moves what can move now. */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_test(hoop_op_t *op);

/*
 * Wait for n operations. On return every ended one has been freed and its
 * entry is NULL. The status is HOOP_OK when all ended well, else the first
 * failure in the order of the array; HOOP_E_PENDING when entries are left.
 * NULL entries are skipped.
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_wait_all(hoop_op_t **ops, size_t n_ops, int64_t timeout_ms);

/*
 * Have a number of 8 bytes written to fd, an eventfd or the end of a pipe with
 * O_NONBLOCK, when the operation has ended; now, if it has. For event loops, which
 * wait until the other end can be read. It may be written early or more than once,
 * and not at all where it would block, since then there is something to be read: who
 * reads it looks after all the operations that share fd, by hoop_op_has_ended(). The
 * session's thread moves the data meanwhile. fd is borrowed until the operation has
 * been waited for, -1: it is not any more. Nobody is told by hoop_leave().
 * A pipe whose reader has gone is written to in vain, without a SIGPIPE.
 *
 * Handle: HOOP_E_INVALID (NULL; fd may block, or cannot be written to), HOOP_E_CLOSED (a forked child). Thread: as
 * hoop_wait(), not while another waits.
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_op_notify(hoop_op_t *op, int fd);

/* Whether hoop_wait() would return at once; moves nothing. NULL has not ended.
 * Thread: as hoop_op_notify(). */
HOOP_API bool
hoop_op_has_ended(hoop_op_t *op);

HOOP_END

#endif
