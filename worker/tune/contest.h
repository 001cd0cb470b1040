/*
 * tune/contest.h - all algorithms in turns, when a world forms
 *
 * HOOP_TUNING=auto: a race for each collective with a choice and each of a few
 * sizes, as hoop-perf --tune would run it, each call behind a barrier and
 * counted as on its slowest rank. It ends when it is through, or when rank 0's
 * time for it is over.
 */

#ifndef TUNE_CONTEST_H
#define TUNE_CONTEST_H

#include <stddef.h>

#include "hoop/status.h"

#include "engine/engine.h"
#include "plan/nodes.h"

/*
 * All ranks of the channel call it, and nothing else meanwhile; n_slot as in
 * tuner_table(). *out_text is the caller's: on rank 0 a line for each race
 * (tune/races.h), elsewhere "".
 * Handle: HOOP_E_TIMEOUT (the channel's), HOOP_E_PEER_LOST.
 */
enum hoop_status
contest_run(struct channel *channel,
            const struct plan_nodes *nodes,
            size_t n_slot,
            char **out_text);

#endif
