/*
 * tests/checker/checker_run.h - runs all ranks of a collective in random order
 *
 * Each rank has its own memory and its own tracker. Each message has a channel
 * of its own, as flow control by grants provides: messages do not wait for one
 * another. A byte is sent with the value that the memory holds at that moment.
 * A channel holds as many bytes as the sockets are assumed to buffer; if that
 * is none, a byte moves only when both sides can move it.
 *
 * A schedule chooses at random which rank moves, which of its steps move, in
 * which order and by how many bytes. In some schedules one rank moves only when
 * no other rank can.
 */

#ifndef CHECKER_CHECKER_RUN_H
#define CHECKER_CHECKER_RUN_H

#include <stdint.h>

#include "hoop/status.h"

#include "base/cleanup.h"
#include "checker/checker.h"
#include "checker/checker_messages.h"

struct checker_run;

/* Borrows both until checker_run_destroy(). checker_messages must have been
 * built. */
enum hoop_status
checker_run_create(const struct checker_case *scenario,
                   struct checker_messages *checker_messages,
                   struct checker_run **out_run);
void
checker_run_destroy(struct checker_run *checker_run);
DEFINE_CLEANUP(struct checker_run *, checker_run_destroy)

/*
 * Run the collective once, from its start, and check all buffers. May be called
 * repeatedly.
 * Handle: HOOP_E_INTERNAL (deadlock, or a wrong result).
 */
enum hoop_status
checker_run_one_schedule(struct checker_run *checker_run,
                         uint64_t socket_buffer_bytes,
                         uint64_t seed);

#endif
