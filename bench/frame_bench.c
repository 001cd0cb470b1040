/*
 * bench/frame_bench.c - measures what a frame's header costs a message
 *
 * Prints how many nanoseconds it takes to encode and to decode the header of a
 * small message and the longest header. The fastest of several turns counts.
 */

#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "wire/frame.h"

enum {
    BENCH_TURNS = 50, /* the fastest turn counts */
    BENCH_HEADERS = 20000,
};

static const struct {
    const char *name;
    struct frame frame;
} cases[] = {
    {"small",
     {.kind = FRAME_COLLECTIVE,
      .epoch = 1,
      .comm = 1,
      .op = 100000,
      .signature = 0x0123456789abcdef,
      .total = 8,
      .raw = 8,
      .stored = 8,
      .call = {1, 10, 0, 0, 2}}},
    {"longest",
     {.kind = FRAME_MESSAGE,
      .flags = UINT8_MAX,
      .epoch = UINT64_MAX,
      .comm = UINT64_MAX,
      .op = UINT64_MAX,
      .signature = UINT64_MAX,
      .tag = UINT64_MAX,
      .step = UINT32_MAX,
      .offset = UINT64_MAX - LIMIT_FRAME_PAYLOAD,
      .total = UINT64_MAX,
      .codec = UINT8_MAX,
      .raw = LIMIT_FRAME_PAYLOAD,
      .stored = LIMIT_FRAME_PAYLOAD,
      .checksum = UINT64_MAX,
      .call = {UINT8_MAX, UINT8_MAX, UINT8_MAX, UINT32_MAX, UINT64_MAX}}},
};

/* Keeps the compiler from knowing that all turns do the same. */
static void
forget(void *memory)
{
    __asm__ volatile("" : : "r"(memory) : "memory");
}

static uint64_t
encode_turn_ns(struct frame *frame, uint8_t bytes[LIMIT_FRAME_HEADER])
{
    const uint64_t start_ns = clock_now_ns();

    for (int i = 0; i < BENCH_HEADERS; i++) {
        forget(frame);
        frame_encode(frame, bytes);
        forget(bytes);
    }
    return clock_now_ns() - start_ns;
}

static uint64_t
decode_turn_ns(struct frame *frame, uint8_t bytes[LIMIT_FRAME_HEADER])
{
    const uint64_t start_ns = clock_now_ns();

    for (int i = 0; i < BENCH_HEADERS; i++) {
        forget(bytes);
        if (frame_decode(bytes, frame) != HOOP_OK)
            abort();
        forget(frame);
    }
    return clock_now_ns() - start_ns;
}

static uint64_t
smaller(uint64_t left, uint64_t right)
{
    return left < right ? left : right;
}

int
main(void)
{
    printf("%-8s %9s %9s   ns a header\n", "", "encode", "decode");
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct frame frame = cases[i].frame;
        uint8_t bytes[LIMIT_FRAME_HEADER];
        uint64_t encode_ns = UINT64_MAX;
        uint64_t decode_ns = UINT64_MAX;

        for (int turn = 0; turn < BENCH_TURNS; turn++) {
            encode_ns = smaller(encode_ns, encode_turn_ns(&frame, bytes));
            decode_ns = smaller(decode_ns, decode_turn_ns(&frame, bytes));
        }
        printf("%-8s %9.0f %9.0f\n", cases[i].name,
               (double)encode_ns / BENCH_HEADERS,
               (double)decode_ns / BENCH_HEADERS);
    }
    return EXIT_SUCCESS;
}
