/* api/names.c - public calls that only forward: names, sizes, the last error,
 * interrupts */

#include "hoop/control.h"
#include "hoop/dtype.h"
#include "hoop/interrupt.h"
#include "hoop/status.h"

#include "base/error.h"
#include "base/escape.h"
#include "base/interrupt.h"
#include "base/status.h"
#include "dtype/dtype.h"

size_t
hoop_dtype_size(enum hoop_dtype dtype)
{
    return dtype_size(dtype);
}

const char *
hoop_dtype_name(enum hoop_dtype dtype)
{
    return dtype_name(dtype);
}

const char *
hoop_reduce_op_name(enum hoop_reduce_op op)
{
    return reduce_op_name(op);
}

const char *
hoop_status_name(enum hoop_status status)
{
    return status_name(status);
}

void
hoop_escape(const char *text, char *out, size_t n_bytes)
{
    if (out && n_bytes > 0)
        escape_text(text ? text : "", out, n_bytes);
}

const char *
hoop_error_text(void)
{
    return error_text();
}

const char *
hoop_error_path(void)
{
    return error_call_path();
}

struct hoop_interrupt
hoop_set_interrupt(hoop_interrupt_check_t *check, void *context)
{
    return interrupt_set(check, context);
}

const struct hoop_failure *
hoop_error_failure(void)
{
    return error_failure_details();
}
