/*
 * tests/unit/worker/transport/test_transport.h - a transport in the test's own
 * thread
 *
 * A test transport is one whose events are counted and kept. Its peers are
 * other test_transports or raw descriptors that the test reads and writes by
 * hand.
 */

#ifndef TESTS_UNIT_WORKER_TRANSPORT_TEST_TRANSPORT_H
#define TESTS_UNIT_WORKER_TRANSPORT_TEST_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "codec/codec.h"
#include "transport/transport.h"
#include "wire/frame.h"

enum {
    TEST_TRANSPORT_RANKS = 3,
    TEST_TRANSPORT_EPOCH = 7,
    TEST_TRANSPORT_COMM = 5,
    TEST_TRANSPORT_SIGNATURE = 0x5151,
};

struct test_transport {
    struct config config; /* the defaults; the transport reads them */
    struct transport *transport;
    struct roster *roster;
    int raw
        [TEST_TRANSPORT_RANKS]; /* the other end, -1: none or another test_transport */
    enum transport_unexpected_action action;
    /* Called within on_arrived(), if set. */
    void (*arrived_hook)(struct test_transport *test_transport,
                         struct recv_request *flow);
    /* What a tensor of any shape is given: as many bytes; NULL: it is
     * refused. */
    uint8_t *room;
    unsigned n_matched;
    unsigned n_retracted;
    unsigned n_unexpected;
    unsigned n_mismatches; /* also of messages that do not fit */
    unsigned n_size_mismatches;
    unsigned n_leaving;
    unsigned n_failure_notices;
    unsigned n_extra_tensors; /* tensors left of a list */
    unsigned n_lists_ended;   /* receives left of one */
    uint32_t extra_part;
    unsigned n_lost;
    unsigned n_damaged; /* ... of which the peer is to be told why */
    unsigned n_left;
    unsigned n_needed;
    uint32_t peer;      /* of the last event */
    struct frame frame; /* of the last unexpected, mismatch or verdict */
    struct recv_request *mismatched;
    struct frame_tensor tensor; /* of the last match or misfit with one ... */
    bool has_tensor;            /* ... if the last had one */
    uint64_t mismatch_total;
    char text[2048]; /* of the last loss or verdict */
};

/* Where a flow's pieces are put together. The owner of such a receive
 * request. */
struct sink {
    uint8_t *bytes;
    size_t n_bytes;
    unsigned n_pieces;
};

void
test_transport_open(struct test_transport *test_transport,
                    uint32_t rank,
                    enum codec_id codec);
void
test_transport_close(struct test_transport *test_transport);
/* A connection whose other end is test_transport->raw[rank]. */
void
test_transport_attach(struct test_transport *test_transport, uint32_t rank);
/* Two test_transports become each other's peer. */
void
test_transport_connect(struct test_transport *one,
                       struct test_transport *other);

/* Turns until nothing moves any more. */
void
test_transport_settle(struct test_transport *test_transport);
void
test_transports_settle(struct test_transport *one,
                       struct test_transport *other);

/* A frame as it travels: header, payload, padding. Returns its size. */
size_t
frame_bytes(const struct frame *frame, const uint8_t *payload, uint8_t *out);
/* Into raw[rank]: header, payload, padding; the transport takes turns. */
void
test_transport_feed(struct test_transport *test_transport,
                    uint32_t rank,
                    const struct frame *frame,
                    const void *payload);
/* The same, of a frame with FRAME_TENSOR. */
void
test_transport_feed_tensor(struct test_transport *test_transport,
                           uint32_t rank,
                           const struct frame *frame,
                           const struct frame_tensor *tensor,
                           const void *payload);
/* Any bytes, n_each at a time. */
void
test_transport_feed_bytes(struct test_transport *test_transport,
                          uint32_t rank,
                          struct codec_span bytes,
                          size_t n_each);
/* What the transport wrote to raw[rank]: one frame with its payload. false: it
 * writes nothing. */
bool
test_transport_next_frame(struct test_transport *test_transport,
                          uint32_t rank,
                          struct frame *out_frame,
                          uint8_t *out_payload);
/* What the last such frame said of a tensor, which it must have. */
extern struct frame_tensor test_transport_next_tensor;
/* Close raw[rank]. */
void
test_transport_hang_up(struct test_transport *test_transport, uint32_t rank);

/* Bytes that tell where they stand. */
void
pattern_fill(uint8_t *bytes, size_t n_bytes, unsigned seed);
void
pattern_check(const uint8_t *bytes, size_t n_bytes, unsigned seed);

/* A frame of operation 1, step 2 with TEST_TRANSPORT_SIGNATURE. */
struct frame
frame_collective(uint64_t offset, uint32_t n_bytes, uint64_t total);
/* A frame of message op with tag. */
struct frame
frame_message(uint64_t op, uint64_t tag, uint32_t n_bytes, uint64_t total);

extern const struct flow_label test_transport_label;

/* The flows that frame_collective() belongs to. */
struct send_request
send_request_collective(uint32_t peer, const uint8_t *bytes, uint64_t total);
struct recv_request
recv_request_collective(uint32_t peer, uint8_t *place, uint64_t total);

#endif
