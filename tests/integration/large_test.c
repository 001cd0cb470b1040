/*
 * tests/integration/large_test.c - more elements than 32 bits can count
 *
 * Two ranks reduce 5 GiB in place and compare every byte: nothing on the way
 * may be an int, from the count of the call to the offset in a frame.
 */

#include <inttypes.h>
#include <stdio.h>
#include <sys/mman.h>

#include "ranks.h"

enum {
    SKIPPED = 77,
    SIZE = 2,
    GIB_NEEDED = 16,
    TIMEOUT_MS = 400 * 1000,
    DEADLINE_S = 500,
};

static const size_t n_elements = (size_t)5 << 30; /* of one byte */

/* Eight elements of a rank's input. Depends on every bit of both. */
static uint64_t
word_of(uint32_t rank, uint64_t at)
{
    uint64_t word = (at + 1) * 0x9e3779b97f4a7c15 + rank;

    word = (word ^ (word >> 29)) * 0xbf58476d1ce4e5b9;
    return word ^ (word >> 32);
}

/* Eight sums of bytes that do not carry into each other. */
static uint64_t
bytes_add(uint64_t a, uint64_t b)
{
    const uint64_t low = 0x7f7f7f7f7f7f7f7f;

    return ((a & low) + (b & low)) ^ ((a ^ b) & ~low);
}

static int
large_allreduce_is_right(struct rank *rank)
{
    const size_t n_words = n_elements / sizeof(uint64_t);
    uint64_t *words = mmap(NULL, n_elements, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    RANK_CHECK(words != MAP_FAILED);
    (void)madvise(words, n_elements, MADV_HUGEPAGE);
    for (uint64_t at = 0; at < n_words; at++)
        words[at] = word_of(rank->rank, at);

    RANK_CHECK(hoop_allreduce(HOOP_IN_PLACE, words, n_elements, HOOP_UINT8,
                              HOOP_SUM, rank->comm) == HOOP_OK);

    uint64_t n_wrong = 0;
    for (uint64_t at = 0; at < n_words; at++)
        n_wrong += words[at] != bytes_add(word_of(0, at), word_of(1, at));
    RANK_CHECK(n_wrong == 0);
    munmap(words, n_elements);
    return 0;
}

/* 0 if the system does not say. */
static uint64_t
gib_available(void)
{
    FILE *file = fopen("/proc/meminfo", "r");
    char line[128];
    uint64_t kib = 0;

    if (!file)
        return 0;
    while (fgets(line, sizeof(line), file) &&
           sscanf(line, "MemAvailable: %" SCNu64, &kib) != 1)
        ;
    fclose(file);
    return kib >> 20;
}

int
main(void)
{
    const uint64_t gib = gib_available();

    if (gib < GIB_NEEDED) {
        printf("skipped: %" PRIu64 " GiB of memory are available, %d needed\n",
               gib, GIB_NEEDED);
        return SKIPPED;
    }
    return ranks_run(&(struct ranks_options){
               .size = SIZE,
               .body = large_allreduce_is_right,
               .timeout_ms = TIMEOUT_MS,
               .deadline_s = DEADLINE_S,
           }) == 0
               ? 0
               : 1;
}
