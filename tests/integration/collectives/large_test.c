/*
 * tests/integration/collectives/large_test.c - more elements than 32 bits count
 *
 * Two ranks move more than 2^32 bytes in every form of the calls, and compare
 * every byte. Nothing in between may be an int, from the count of the call to
 * the offset in a frame. The data to send lie in memory that both ranks share.
 */

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "base/cleanup.h"
#include "ranks.h"

enum {
    SKIPPED = 77,
    SIZE = 2,
    GIB_NEEDED = 16,
    TIMEOUT_MS = 400 * 1000,
    DEADLINE_S = 800,
    WORD = sizeof(uint64_t),
};

/* The elements have one byte. There are more than 2^32 in all, and more than
 * 2^31 in each of the two blocks. */
static const size_t n_all = ((size_t)1 << 32) + ((size_t)96 << 20) + 16;
static const size_t n_block = n_all / SIZE;

/* The memory is mapped as private, and only read after the fork. So it is not
 * copied, and has large pages, which memory mapped as shared seldom has. */
static uint64_t *shared;

/* Returns eight elements of the shared input, which depend on every bit of the
 * position. */
static uint64_t
word_of(uint64_t at)
{
    uint64_t word = (at + 1) * 0x9e3779b97f4a7c15;

    word = (word ^ (word >> 29)) * 0xbf58476d1ce4e5b9;
    return word ^ (word >> 32);
}

/* Returns eight sums of bytes, without carries between them. */
static uint64_t
bytes_add(uint64_t a, uint64_t b)
{
    const uint64_t low = 0x7f7f7f7f7f7f7f7f;

    return ((a & low) + (b & low)) ^ ((a ^ b) & ~low);
}

static uint64_t *
words_map(size_t n_bytes)
{
    uint64_t *words = mmap(NULL, n_bytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (words == MAP_FAILED)
        return NULL;
    (void)madvise(words, n_bytes, MADV_HUGEPAGE);
    return words;
}

/* Returns cleared memory for a rank's results. It is mapped only once, since
 * the kernel takes longer to provide so many pages than the test to use
 * them. */
static uint64_t *
result_of(size_t n_bytes)
{
    static uint64_t *result;

    if (!result)
        result = words_map(n_all);
    return result ? memset(result, 0, n_bytes) : NULL;
}

static uint8_t *
shared_block(uint32_t block)
{
    return (uint8_t *)shared + block * n_block;
}

/* Compares what arrived with a part of the shared input. */
static int
same(const void *arrived, const void *expected, size_t n_bytes)
{
    return memcmp(arrived, expected, n_bytes) == 0 ? 0 : 1;
}

static int
allreduce_is_right(struct rank *rank)
{
    const size_t n_words = n_all / WORD;
    uint64_t *words = result_of(n_all);
    uint64_t n_wrong = 0;

    RANK_CHECK(words);
    for (uint64_t at = 0; at < n_words; at++)
        words[at] = word_of(at) ^ rank->rank;
    RANK_CHECK(hoop_allreduce(HOOP_IN_PLACE, words, n_all, HOOP_UINT8, HOOP_SUM,
                              rank->comm) == HOOP_OK);
    for (uint64_t at = 0; at < n_words; at++)
        n_wrong += words[at] != bytes_add(word_of(at), word_of(at) ^ 1);
    RANK_CHECK(n_wrong == 0);
    return 0;
}

static int
reduce_scatter_is_right(struct rank *rank)
{
    uint64_t *words = result_of(n_block);
    const uint64_t *input = (const uint64_t *)shared_block(rank->rank);
    uint64_t n_wrong = 0;

    RANK_CHECK(words);
    RANK_CHECK(hoop_reduce_scatter(shared, words, n_block, HOOP_UINT8, HOOP_SUM,
                                   rank->comm) == HOOP_OK);
    for (uint64_t at = 0; at < n_block / WORD; at++)
        n_wrong += words[at] != bytes_add(input[at], input[at]);
    RANK_CHECK(n_wrong == 0);
    return 0;
}

static int
allgather_is_right(struct rank *rank)
{
    uint64_t *words = result_of(n_all);

    RANK_CHECK(words);
    RANK_CHECK(hoop_allgather(shared_block(rank->rank), words, n_block,
                              HOOP_UINT8, rank->comm) == HOOP_OK);
    RANK_CHECK(same(words, shared, n_all) == 0);
    return 0;
}

static int
broadcast_is_right(struct rank *rank)
{
    const uint32_t root = 1;
    uint64_t *words = rank->rank == root ? shared : result_of(n_all);

    RANK_CHECK(words);
    RANK_CHECK(hoop_broadcast(HOOP_IN_PLACE, words, n_all, HOOP_UINT8, root,
                              rank->comm) == HOOP_OK);
    RANK_CHECK(rank->rank == root || same(words, shared, n_all) == 0);
    return 0;
}

static int
gather_is_right(struct rank *rank)
{
    const uint32_t root = 1;
    uint64_t *words = rank->rank == root ? result_of(n_all) : NULL;

    RANK_CHECK(words || rank->rank != root);
    RANK_CHECK(hoop_gather(shared_block(rank->rank), words, n_block, HOOP_UINT8,
                           root, rank->comm) == HOOP_OK);
    RANK_CHECK(!words || same(words, shared, n_all) == 0);
    return 0;
}

static int
scatter_is_right(struct rank *rank)
{
    const uint32_t root = 0;
    uint64_t *words = result_of(n_block);

    RANK_CHECK(words);
    RANK_CHECK(hoop_scatter(rank->rank == root ? shared : NULL, words, n_block,
                            HOOP_UINT8, root, rank->comm) == HOOP_OK);
    RANK_CHECK(same(words, shared_block(rank->rank), n_block) == 0);
    return 0;
}

/* Both ranks have the same input, so each gets its block twice. */
static int
alltoall_is_right(struct rank *rank)
{
    uint64_t *words = result_of(n_all);

    RANK_CHECK(words);
    RANK_CHECK(hoop_alltoall(shared, words, n_block, HOOP_UINT8, rank->comm) ==
               HOOP_OK);
    for (uint32_t from = 0; from < SIZE; from++)
        RANK_CHECK(same((uint8_t *)words + from * n_block,
                        shared_block(rank->rank), n_block) == 0);
    return 0;
}

static int
message_is_right(struct rank *rank)
{
    struct hoop_received received = {0};

    if (rank->rank == 0) {
        RANK_CHECK(hoop_send(shared, n_all, HOOP_UINT8, 1, 7, rank->comm) ==
                   HOOP_OK);
        return 0;
    }
    uint64_t *words = result_of(n_all);
    RANK_CHECK(words);
    RANK_CHECK(hoop_recv(words, n_all, HOOP_UINT8, 0, 7, rank->comm,
                         &received) == HOOP_OK);
    RANK_CHECK(received.count == n_all);
    RANK_CHECK(same(words, shared, n_all) == 0);
    return 0;
}

static const struct {
    const char *name;
    rank_fn *body;
} cases[] = {
    {"allreduce", allreduce_is_right},
    {"reduce_scatter", reduce_scatter_is_right},
    {"allgather", allgather_is_right},
    {"broadcast", broadcast_is_right},
    {"gather", gather_is_right},
    {"scatter", scatter_is_right},
    {"alltoall", alltoall_is_right},
    {"message", message_is_right},
};

static int
all_are_right(struct rank *rank)
{
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const int n_wrong = cases[i].body(rank);

        printf("%s: %s\n", cases[i].name, n_wrong == 0 ? "right" : "WRONG");
        RANK_CHECK(n_wrong == 0);
    }
    return 0;
}

/* Returns 0 if the system does not say. */
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
    shared = words_map(n_all);
    if (!shared) {
        perror("no memory for the input");
        return 1;
    }
    for (uint64_t at = 0; at < n_all / WORD; at++)
        shared[at] = word_of(at);
    const uint32_t n_bad = ranks_run(&(struct ranks_options){
        .size = SIZE,
        .body = all_are_right,
        .timeout_ms = TIMEOUT_MS,
        .deadline_s = DEADLINE_S,
    });
    return n_bad == 0 ? 0 : 1;
}
