/* base/interrupt.c - whether this thread is to wait no longer */

#include "base/interrupt.h"

#include "base/clock.h"
#include "base/error.h"

enum {
    PAUSE_MS = 50,
};

static _Thread_local struct {
    hoop_interrupt_check_t *check;
    void *context;
    bool was_told; /* to stop, when it was asked last */
} interrupt;

void
interrupt_set(hoop_interrupt_check_t *check, void *context)
{
    interrupt.check = check;
    interrupt.context = context;
    interrupt.was_told = false;
}

uint64_t
interrupt_due_ns(void)
{
    if (!interrupt.check)
        return CLOCK_NEVER;
    return clock_deadline_ns(interrupt.was_told ? 0 : PAUSE_MS);
}

bool
interrupt_ask(void)
{
    interrupt.was_told = interrupt.check && interrupt.check(interrupt.context);
    return interrupt.was_told;
}

enum hoop_status
interrupt_raise(void)
{
    return error_raise(HOOP_E_CANCELLED,
                       "interrupted by this program while it waited for the "
                       "coordinator");
}
