/*
 * plan/rehearsal.h - all ranks of a collective in one process, out of step
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

#ifndef PLAN_REHEARSAL_H
#define PLAN_REHEARSAL_H

#include <stdint.h>

#include "hoop/status.h"

#include "base/cleanup.h"
#include "plan/checker.h"
#include "plan/ledger.h"

struct rehearsal;

/* Both borrowed until rehearsal_destroy; the ledger has been built. */
enum hoop_status
rehearsal_create(const struct checker_case *proof,
                 struct ledger *ledger,
                 struct rehearsal **out_rehearsal);
void
rehearsal_destroy(struct rehearsal *rehearsal);
DEFINE_CLEANUP(struct rehearsal *, rehearsal_destroy)

/*
 * From the first byte to the check of all buffers. Repeatable.
 * Handle: HOOP_E_INTERNAL (stuck, or a wrong result).
 */
enum hoop_status
rehearsal_run(struct rehearsal *rehearsal,
              uint64_t socket_buffer_bytes,
              uint64_t seed);

#endif
