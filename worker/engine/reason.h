/*
 * engine/reason.h - why a rank is lost, in as many bytes as travel
 *
 * Of a reason the end says who found it out, or who is believed: that is never
 * cut. What happened stands before it, and loses its last words where there is
 * no room for them: an address, advice.
 */

#ifndef ENGINE_REASON_H
#define ENGINE_REASON_H

enum {
    /* What may be complained of (LIMIT_REASON), what hoopd infers from it, who said so,
     * and when. */
    REASON_BYTES = 400,
};

/* what, then tail. what may be out, tail is shorter than out and lies elsewhere.
 * Thread: any. */
void
reason_write(const char *what, const char *tail, char out[REASON_BYTES]);

#endif
