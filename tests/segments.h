/*
 * tests/segments.h - the transport settings, for tests that make connections
 *
 * Tests connect two ends by hand. These functions give them what a handshake
 * would give, so that all tests run over shared memory as well as over TCP
 * (meson test --setup tcp).
 */

#ifndef TESTS_SEGMENTS_H
#define TESTS_SEGMENTS_H

#include "transport/shm/negotiation.h"

/* Returns the setting HOOP_TRANSPORT, or its default. */
enum shm_mode
segments_mode(void);

/* Returns the setting HOOP_STREAMS; 0 if it is auto or not set. */
unsigned
segments_streams(void);

/* Returns the setting HOOP_TLS. */
bool
segments_encrypted(void);

/* Creates the two ends of a segment; both are NULL if the setting asks for
 * TCP. */
void
segments_open(struct segment *out_ends[2]);

/* Creates the two ends of a connection. */
void
pair_open(int fds[2]);

#endif
