/* api/wait.c - wait for operations that have been started */

#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

#include "hoop/op.h"

#include "api/tensor_message.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/limits.h"
#include "engine/engine.h"

static uint64_t
deadline_from_timeout_ms(int64_t timeout_ms)
{
    return timeout_ms < 0 ? CLOCK_NEVER
                          : clock_deadline_ns((uint64_t)timeout_ms);
}

/* timeout_ms is what deadline_ns was computed from; it is for the error
 * text. */
static enum hoop_status
op_wait_until(hoop_op_t *op, uint64_t deadline_ns, int64_t timeout_ms)
{
    const enum hoop_status status = engine_wait((struct op *)op, deadline_ns);

    if (status != HOOP_E_PENDING)
        return status;
    if (timeout_ms == 0)
        return error_raise(HOOP_E_PENDING,
                           "the operation is still under way; its buffers "
                           "stay lent, wait again");
    return error_raise(HOOP_E_PENDING,
                       "the operation is still under way after the %" PRId64
                       " ms that this wait allows; its buffers stay lent, "
                       "wait again",
                       timeout_ms);
}

enum hoop_status
hoop_wait(hoop_op_t *op, int64_t timeout_ms)
{
    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!op)
        return error_raise(HOOP_E_INVALID, "op is NULL");
    return op_wait_until(op, deadline_from_timeout_ms(timeout_ms), timeout_ms);
}

enum hoop_status
hoop_test(hoop_op_t *op)
{
    return hoop_wait(op, 0);
}

enum hoop_status
hoop_wait_all(hoop_op_t **ops, size_t n_ops, int64_t timeout_ms)
{
    return wait_for_each(ops, n_ops, timeout_ms, NULL);
}

enum hoop_status
wait_for_each(hoop_op_t **ops,
              size_t n_ops,
              int64_t timeout_ms,
              enum hoop_status *out_statuses)
{
    const uint64_t deadline_ns = deadline_from_timeout_ms(timeout_ms);
    enum hoop_status first = HOOP_OK;
    struct hoop_failure failure = {0};
    char text[LIMIT_ERROR_TEXT] = "";

    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!ops && n_ops > 0)
        return error_raise(HOOP_E_INVALID, "ops is NULL");
    for (size_t i = 0; i < n_ops; i++) {
        if (!ops[i])
            continue;
        const enum hoop_status status =
            op_wait_until(ops[i], deadline_ns, timeout_ms);
        if (status != HOOP_E_PENDING)
            ops[i] = NULL;
        if (out_statuses)
            out_statuses[i] = status;
        /* A failure is more important than a wait that was too short. */
        if (status != HOOP_OK &&
            (first == HOOP_OK || first == HOOP_E_PENDING)) {
            first = status;
            failure = *error_failure_details();
            memcpy(text, error_text(), sizeof(text));
        }
    }
    if (first != HOOP_OK)
        return error_raise_failure(&failure, "%s", text);
    return HOOP_OK;
}

/* The progress owner writes to fd and must not block. */
static enum hoop_status
notify_fd_check(int fd)
{
    const int flags = fcntl(fd, F_GETFL);

    if (flags < 0)
        return error_raise(HOOP_E_INVALID, "fd %d is not open", fd);
    if ((flags & O_ACCMODE) == O_RDONLY)
        return error_raise(HOOP_E_INVALID,
                           "fd %d is open for reading only: give the end of "
                           "the pipe that is written to",
                           fd);
    if (!(flags & O_NONBLOCK))
        return error_raise(HOOP_E_INVALID,
                           "a write to fd %d may block: set O_NONBLOCK, as "
                           "pipe2() and eventfd() do",
                           fd);
    return HOOP_OK;
}

enum hoop_status
hoop_op_notify(hoop_op_t *op, int fd)
{
    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!op)
        return error_raise(HOOP_E_INVALID, "op is NULL");
    const enum hoop_status status = fd < 0 ? HOOP_OK : notify_fd_check(fd);

    if (status != HOOP_OK)
        return error_pass(status);
    return engine_notify_fd_at_end((struct op *)op, fd);
}

bool
hoop_op_has_ended(hoop_op_t *op)
{
    return op && engine_is_op_done((struct op *)op);
}
