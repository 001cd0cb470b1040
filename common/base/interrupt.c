/* base/interrupt.c - let the program interrupt a waiting thread */

#include "base/interrupt.h"

#include "base/clock.h"
#include "base/error.h"

enum {
    PAUSE_MS = 50,
};

static _Thread_local struct {
    struct hoop_interrupt asked;
    bool was_told; /* the last answer was to stop */
} interrupt;

struct hoop_interrupt
interrupt_set(hoop_interrupt_check_t *check, void *context)
{
    const struct hoop_interrupt before = interrupt.asked;

    interrupt.asked = (struct hoop_interrupt){check, context};
    interrupt.was_told = false;
    return before;
}

uint64_t
interrupt_due_ns(void)
{
    if (!interrupt.asked.check)
        return CLOCK_NEVER;
    return clock_deadline_ns(interrupt.was_told ? 0 : PAUSE_MS);
}

bool
interrupt_check_now(void)
{
    const struct hoop_interrupt asked = interrupt.asked;

    interrupt.was_told = asked.check && asked.check(asked.context);
    return interrupt.was_told;
}

enum hoop_status
interrupt_raise(void)
{
    return error_raise(HOOP_E_CANCELLED,
                       "interrupted by this program while it waited for the "
                       "coordinator");
}
