/* recorder/recorder_signal.h - a copy of the record on a signal */

#ifndef RECORDER_RECORDER_SIGNAL_H
#define RECORDER_RECORDER_SIGNAL_H

#include "recorder/recorder.h"

/* From now on the signal that options name makes a copy of the memory, in the
 * file JOB.RANK.copy.hoopr of their folder, in place of an earlier one.
 * Handle: HOOP_E_INVALID (no such signal, or the program handles it),
 * HOOP_E_EXHAUSTED, HOOP_E_UNAVAILABLE. */
enum hoop_status
recorder_signal_add(const struct recorder_memory *memory,
                    const struct recorder_options *options);
/* The memory is not copied any more; waits for a copy that is being made. Call
 * this also if nothing was added. */
void
recorder_signal_remove(const struct recorder_memory *memory);
/* In a forked child, before it has another thread: what was added is the
 * parent's, and a handler that was under way there does not end here. */
void
recorder_signal_forget(void);

#endif
