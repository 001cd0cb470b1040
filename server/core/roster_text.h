/* core/roster_text.h - which workers have joined and which are missing, in
 * words */

#ifndef CORE_ROSTER_TEXT_H
#define CORE_ROSTER_TEXT_H

#include <stddef.h>

#include "base/limits.h"

/* A text that is too long is cut and ends in "...". */

/* A zeroed buffer is empty. */
struct text_buffer {
    size_t n_bytes;
    char text[LIMIT_ERROR_TEXT];
};

void
text_buffer_append(struct text_buffer *text_buffer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

struct cluster;
struct job;

/*
 * Say why a world has not formed: "job "a" has not formed before a join
 * deadline: 3 of 4 have joined: rank 0 (host:pid), ...; missing: rank 3".
 */
struct text_buffer
roster_text_summary(const struct cluster *cluster, const struct job *job);

/*
 * Say who is missing in a forming job: "ranks 0, 3" or "2 more workers"; if
 * enough have joined, how long others may still come; "" if the world size is
 * not known.
 */
struct text_buffer
roster_text_missing(const struct cluster *cluster, const struct job *job);

/* List the hosts of the workers that have joined, in the order of arrival: "a,
 * b". */
struct text_buffer
roster_text_hosts(const struct job *job);

#endif
