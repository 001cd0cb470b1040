/*
 * base/interrupt.h - whether this thread is to wait no longer
 *
 * A program says by hoop_set_interrupt() whom to ask. Whoever waits asks when
 * interrupt_due_ns() has come; who is told to stop ends what it waits for with
 * HOOP_E_CANCELLED. Thread: any, each has its own.
 */

#ifndef BASE_INTERRUPT_H
#define BASE_INTERRUPT_H

#include <stdbool.h>
#include <stdint.h>

#include "hoop/interrupt.h"
#include "hoop/status.h"

/* NULL: nobody is asked. context is borrowed. Returns what was set before. */
struct hoop_interrupt
interrupt_set(hoop_interrupt_check_t *check, void *context);

/* When to ask next, for one who waits from now on: at once where the last answer
 * was yes, since a call may wait for several things. CLOCK_NEVER: nobody is asked. */
uint64_t
interrupt_due_ns(void);

/* Ask. */
bool
interrupt_ask(void);

/* error_raise() for one who waited for the coordinator. */
enum hoop_status
interrupt_raise(void);

#endif
