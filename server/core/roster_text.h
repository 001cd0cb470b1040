/* core/roster_text.h - who is here and who is missing, in words */

#ifndef CORE_ROSTER_TEXT_H
#define CORE_ROSTER_TEXT_H

#include "core/text_buffer.h"

struct cluster;
struct job;

/*
 * Why a world has not formed: "job "a" has not formed before a join deadline:
 * 3 of 4 have joined: rank 0 (host:pid), ...; missing: rank 3".
 */
struct text_buffer
roster_text_summary(const struct cluster *cluster, const struct job *job);

/*
 * Who is missing of a job that forms: "ranks 0, 3", "2 more workers", or, where
 * there are enough, until when others may come. "": the world size is not known.
 */
struct text_buffer
roster_text_missing(const struct cluster *cluster, const struct job *job);

/* Of those who have joined, each once, in the order of arrival: "a, b". */
struct text_buffer
roster_text_hosts(const struct job *job);

#endif
