/*
 * tests/segments.h - what HOOP_TRANSPORT says, for tests that make connections
 *
 * Tests join two ends by hand; so that all of them run over shared memory as
 * well as TCP (meson test --setup tcp) they ask here for what a handshake would
 * give.
 */

#ifndef TESTS_SEGMENTS_H
#define TESTS_SEGMENTS_H

#include "transport/shm/negotiation.h"

/* The setting, or its default. */
enum shm_mode
segments_mode(void);

/* What HOOP_STREAMS says; 0: auto, or nothing. */
unsigned
segments_streams(void);

/* What HOOP_TLS says. */
bool
segments_encrypted(void);

/* The two ends of one segment, or NULL for both where TCP is wanted. */
void
segments_open(struct segment *out_ends[2]);

/* Two ends of a connection. */
void
pair_open(int fds[2]);

#endif
