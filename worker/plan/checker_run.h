/*
 * plan/checker_run.h - all ranks of a collective in one process, out of step
 *
 * Each rank has its memory and its tracker; each message a channel, which is
 * what granted flow control makes of a connection: messages do not wait for
 * one another. A sent byte leaves with the value that the memory has at that
 * moment. A channel holds as many bytes as the sockets are said to buffer;
 * when that is none, a byte moves only when both sides can move it.
 *
 * A schedule is random in which rank moves, which of its steps, in which order
 * and how many bytes. In some, one rank moves only when nobody else can.
 */

#ifndef PLAN_CHECKER_RUN_H
#define PLAN_CHECKER_RUN_H

#include <stdint.h>

#include "hoop/status.h"

#include "base/cleanup.h"
#include "plan/checker.h"
#include "plan/checker_messages.h"

struct checker_run;

/* Both borrowed until checker_run_destroy; the messages have been collected. */
enum hoop_status
checker_run_create(const struct checker_case *scenario,
                   struct checker_messages *checker_messages,
                   struct checker_run **out_run);
void
checker_run_destroy(struct checker_run *checker_run);
DEFINE_CLEANUP(struct checker_run *, checker_run_destroy)

/*
 * From the first byte to the check of all buffers. Repeatable.
 * Handle: HOOP_E_INTERNAL (stuck, or a wrong result).
 */
enum hoop_status
checker_run_schedule(struct checker_run *checker_run,
                     uint64_t socket_buffer_bytes,
                     uint64_t seed);

#endif
