/*
 * engine/shortage.h - a connection that cannot be made because one end lacks a
 * descriptor
 *
 * Private to engine/. Thread: the progress owner's.
 */

#ifndef ENGINE_SHORTAGE_H
#define ENGINE_SHORTAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/state.h"

/* Act on the control thread's notice of a
 * shortage. */
void
shortage_apply(struct engine *engine, const struct notice *notice);

/* Set this thread's last error to say that there is no connection to rank. */
enum hoop_status
shortage_raise(const struct engine *engine, uint32_t rank);

/* frame says that a send of one rank to another has failed. */
void
failed_send_report_receive(struct engine *engine,
                           uint32_t peer,
                           const struct frame *frame,
                           const char *text);

#endif
