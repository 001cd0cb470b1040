/*
 * engine/failure/lost_rank.h - says why a rank is lost, here and to other ranks
 *
 * Private to engine/.
 */

#ifndef ENGINE_FAILURE_LOST_RANK_H
#define ENGINE_FAILURE_LOST_RANK_H

#include <stdint.h>

#include "hoop/status.h"

#include "base/limits.h"
#include "engine/state.h"

/* Write what and then tail to out. The tail says who found out, or who is
 * believed, and is never cut. What happened comes before it and loses its last
 * words, such as an address or advice, if there is no room. what may be out
 * itself; tail must not overlap out and must be shorter. Thread: any. */
void
reason_write_truncated(const char *what,
                       const char *tail,
                       char out[LOST_REASON_TEXT_MAX]);
/* Insert the time into why, before the names of those who reported it. */
void
expulsion_add_time(const char *why, char out_why[LOST_REASON_TEXT_MAX]);

/* The functions below are the progress owner's. */

/* Returns the status of operations that need rank, which is lost. */
enum hoop_status
lost_rank_status(const struct engine *engine, uint32_t rank);
/* Returns the failure notice that says so. */
struct frame
lost_rank_frame(const struct engine *engine, uint32_t rank);
/* Describe the loss of rank: "rank 2 (a:70) is lost: ...", or what it said when
 * it gave up. Of this rank it says that it was declared lost. Returns text. */
const char *
lost_rank_describe(const struct engine *engine,
                   uint32_t rank,
                   char text[LIMIT_ERROR_TEXT]);
/* Returns text, the reason of a failure here, as other ranks should read it: if
 * this rank was declared lost, out_text names it. Returns text or out_text. */
const char *
lost_rank_describe_to_others(const struct engine *engine,
                             const char *text,
                             char out_text[LIMIT_ERROR_TEXT]);

#endif
