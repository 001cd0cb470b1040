/*
 * tests/unit/worker/transport/test_transport.h - a recording transport
 *
 * It runs in the test's own thread. Its peers are other test_transports, or raw
 * descriptors that the test reads and writes by hand.
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
    struct config config; /* the defaults, which the transport reads */
    struct transport *transport;
    struct roster *roster;
    int raw[TEST_TRANSPORT_RANKS]; /* the other end, or -1 */
    enum transport_unexpected_action action;
    /* on_arrived() calls this if it is set. */
    void (*arrived_hook)(struct test_transport *test_transport,
                         struct recv_request *flow);
    /* A tensor of any shape gets this memory. If it is NULL, the tensor is
     * refused. */
    uint8_t *room;
    unsigned n_matched;
    unsigned n_retracted;
    unsigned n_unexpected;
    unsigned n_mismatches; /* including messages that do not fit */
    unsigned n_size_mismatches;
    unsigned n_leaving;
    unsigned n_failure_notices;
    unsigned n_extra_tensors; /* surplus tensors of a list */
    unsigned n_lists_ended;   /* surplus receives of a list */
    uint32_t extra_part;
    unsigned n_lost;
    unsigned n_damaged; /* lost peers that are told the reason */
    unsigned n_left;
    unsigned n_needed;
    uint32_t peer;      /* of the last event */
    struct frame frame; /* of the last message, mismatch or verdict */
    struct recv_request *mismatched;
    struct frame_tensor tensor; /* of the last match or mismatch that had one */
    bool has_tensor;            /* the last one had one */
    uint64_t mismatch_total;
    char text[2048]; /* of the last loss or verdict */
};

/* The pieces of a flow are put together here. It is the owner of such a receive
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
/* Adds a connection whose other end is test_transport->raw[rank]. */
void
test_transport_attach(struct test_transport *test_transport, uint32_t rank);
/* Connects two test_transports with each other. */
void
test_transport_connect(struct test_transport *one,
                       struct test_transport *other);

/* Make progress until nothing moves any more. */
void
test_transport_settle(struct test_transport *test_transport);
void
test_transports_settle(struct test_transport *one,
                       struct test_transport *other);

/* Writes a frame as it travels: header, payload and padding. Returns its
 * size. */
size_t
frame_bytes(const struct frame *frame, const uint8_t *payload, uint8_t *out);
/* Writes a frame to raw[rank] with its payload and padding, while the transport
 * makes progress. */
void
test_transport_feed(struct test_transport *test_transport,
                    uint32_t rank,
                    const struct frame *frame,
                    const void *payload);
/* This does the same for a frame with FRAME_TENSOR. */
void
test_transport_feed_tensor(struct test_transport *test_transport,
                           uint32_t rank,
                           const struct frame *frame,
                           const struct frame_tensor *tensor,
                           const void *payload);
/* Writes any bytes, n_each at a time. */
void
test_transport_feed_bytes(struct test_transport *test_transport,
                          uint32_t rank,
                          struct codec_span bytes,
                          size_t n_each);
/* Reads one frame and its payload from raw[rank]. Returns false if the
 * transport writes none. */
bool
test_transport_next_frame(struct test_transport *test_transport,
                          uint32_t rank,
                          struct frame *out_frame,
                          uint8_t *out_payload);
/* This is what the last frame that was read says of a tensor, which it must
 * have. */
extern struct frame_tensor test_transport_next_tensor;
/* Closes raw[rank]. */
void
test_transport_hang_up(struct test_transport *test_transport, uint32_t rank);

/* The pattern depends on the index of each byte and on seed. */
void
pattern_fill(uint8_t *bytes, size_t n_bytes, unsigned seed);
void
pattern_check(const uint8_t *bytes, size_t n_bytes, unsigned seed);

/* Returns a frame of operation 1, step 2 with TEST_TRANSPORT_SIGNATURE. */
struct frame
frame_collective(uint64_t offset, uint32_t n_bytes, uint64_t total);
/* Returns a frame of the message op with tag. */
struct frame
frame_message(uint64_t op, uint64_t tag, uint32_t n_bytes, uint64_t total);

extern const struct flow_label test_transport_label;

/* Return the requests to which frame_collective() belongs. */
struct send_request
send_request_collective(uint32_t peer, const uint8_t *bytes, uint64_t total);
struct recv_request
recv_request_collective(uint32_t peer, uint8_t *place, uint64_t total);

#endif
