/*
 * engine/reason.h - why a rank is lost, in as many bytes as travel
 *
 * The end of a reason says who found out, or who is believed, and is never cut.
 * What happened comes before it and loses its last words, such as an address or
 * advice, if there is no room.
 */

#ifndef ENGINE_REASON_H
#define ENGINE_REASON_H

enum {
    /* Room for a reported reason (LIMIT_REASON), what hoopd infers from it, who
     * reported it, and when. */
    REASON_BYTES = 400,
};

/* Write what and then tail to out. what may be out itself; tail must not
 * overlap out and must be shorter. Thread: any. */
void
reason_write(const char *what, const char *tail, char out[REASON_BYTES]);

#endif
