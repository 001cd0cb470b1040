/* tests/integration/collectives/object_vectors_test.c - objects of unknown
 * length */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "integration/vectors.h"

enum {
    LENGTH_MAX = 300001
};

/* Only the root knows the length, and it needs no memory for the result. */
static int
broadcast(struct rank *rank, uint32_t root, size_t length)
{
    static uint8_t object[LENGTH_MAX];
    const bool is_root = rank->rank == root;
    void *bytes = &bytes;
    size_t n_bytes = 99;
    hoop_op_t *op = NULL;

    for (size_t i = 0; i < LENGTH_MAX; i++)
        object[i] = (uint8_t)(i * 7);
    RANK_CHECK(hoop_broadcast_object(is_root ? object : NULL,
                                     is_root ? length : 17, &bytes, &n_bytes,
                                     root, rank->comm) == HOOP_OK);
    RANK_CHECK(n_bytes == length);
    RANK_CHECK((bytes == NULL) == (is_root || length == 0));
    RANK_CHECK(!bytes || memcmp(bytes, object, length) == 0);
    hoop_object_free(bytes);
    RANK_CHECK(
        vector_finish(hoop_broadcast_object_start(
                          object, length, is_root ? NULL : &bytes,
                          is_root ? NULL : &n_bytes, root, rank->comm, &op),
                      &op) == HOOP_OK);
    RANK_CHECK(is_root || length == 0 || memcmp(bytes, object, length) == 0);
    hoop_object_free(is_root ? NULL : bytes);
    return 0;
}

/* Rank s has sent 1000 s bytes of value s. */
static bool
are_all(const struct hoop_objects *objects, uint32_t size)
{
    bool is_right = objects->n_objects == size;

    for (uint32_t s = 0; is_right && s < size; s++) {
        const uint8_t *bytes = objects->objects[s].bytes;

        is_right = objects->objects[s].n_bytes == 1000 * (size_t)s;
        for (size_t i = 0; is_right && i < 1000 * (size_t)s; i++)
            is_right = bytes[i] == (uint8_t)s;
    }
    return is_right;
}

static int
gather(struct rank *rank)
{
    const size_t n_bytes = 1000 * (size_t)rank->rank;
    uint8_t *mine = malloc(n_bytes + 1);
    struct hoop_objects objects;
    hoop_op_t *ops[2];

    memset(mine, (int)rank->rank, n_bytes);
    RANK_CHECK(hoop_allgather_object(mine, n_bytes, &objects, rank->comm) ==
               HOOP_OK);
    RANK_CHECK(are_all(&objects, rank->size));
    hoop_objects_free(&objects);
    RANK_CHECK(objects.n_objects == 0 && !objects.objects);
    RANK_CHECK(vector_finish(hoop_allgather_object_start(NULL, 0, &objects,
                                                         rank->comm, &ops[0]),
                             &ops[0]) == HOOP_OK);
    RANK_CHECK(objects.n_objects == rank->size && !objects.objects[0].n_bytes);
    hoop_objects_free(&objects);
    hoop_objects_free(NULL);

    /* Two calls with different roots are in progress, and are waited for in the
     * other order. */
    struct hoop_objects others;
    const uint32_t last = rank->size - 1;
    RANK_CHECK(hoop_gather_object_start(mine, n_bytes, &objects, 0, rank->comm,
                                        &ops[0]) == HOOP_OK);
    RANK_CHECK(hoop_gather_object_start(mine, n_bytes,
                                        rank->rank == last ? &others : NULL,
                                        last, rank->comm, &ops[1]) == HOOP_OK);
    RANK_CHECK(hoop_wait(ops[1], HOOP_FOREVER) == HOOP_OK);
    RANK_CHECK(hoop_wait(ops[0], HOOP_FOREVER) == HOOP_OK);
    if (rank->rank == 0) {
        RANK_CHECK(are_all(&objects, rank->size));
        hoop_objects_free(&objects);
    }
    if (rank->rank == last) {
        RANK_CHECK(are_all(&others, rank->size));
        hoop_objects_free(&others);
    }
    others = (struct hoop_objects){.n_objects = 9};
    RANK_CHECK(hoop_gather_object(mine, n_bytes, &others, last, rank->comm) ==
               HOOP_OK);
    RANK_CHECK(rank->rank == last ? are_all(&others, rank->size)
                                  : others.n_objects == 9);
    hoop_objects_free(&others);
    free(mine);
    return 0;
}

/* Rank r gets 1000 r + root bytes of value r. For rank 0 with root 0 that is
 * none. */
static bool
is_for(const struct rank *rank,
       uint32_t root,
       const uint8_t *bytes,
       size_t n_bytes)
{
    bool is_right = n_bytes == 1000 * (size_t)rank->rank + root &&
                    (bytes == NULL) == (n_bytes == 0);

    for (size_t i = 0; is_right && i < n_bytes; i++)
        is_right = bytes[i] == (uint8_t)rank->rank;
    return is_right;
}

static int
scatter(struct rank *rank, uint32_t root)
{
    static uint8_t memory[8][8000];
    struct hoop_object objects[8];
    const bool is_root = rank->rank == root;
    void *bytes = &bytes;
    size_t n_bytes = 99;
    hoop_op_t *op = NULL;

    for (uint32_t r = 0; r < rank->size; r++) {
        memset(memory[r], (int)r, sizeof(memory[r]));
        objects[r] = (struct hoop_object){r + root ? memory[r] : NULL,
                                          1000 * (size_t)r + root};
    }
    RANK_CHECK(hoop_scatter_object(is_root ? objects : NULL, &bytes, &n_bytes,
                                   root, rank->comm) == HOOP_OK);
    RANK_CHECK(is_for(rank, root, bytes, n_bytes));
    hoop_object_free(bytes);
    RANK_CHECK(hoop_scatter_object_start(is_root ? objects : NULL, &bytes,
                                         &n_bytes, root, rank->comm,
                                         &op) == HOOP_OK);
    RANK_CHECK(hoop_wait(op, HOOP_FOREVER) == HOOP_OK);
    RANK_CHECK(is_for(rank, root, bytes, n_bytes));
    hoop_object_free(bytes);
    return 0;
}

/* The object has 50,000 bytes for each rank before its source, so that of rank
 * 0 is empty. Each byte is the source. */
static int
message_is_from(struct rank *rank, uint32_t source, void *bytes, size_t n)
{
    RANK_CHECK(n == 50000 * (size_t)source && (bytes == NULL) == (n == 0));
    for (size_t i = 0; i < n; i++)
        RANK_CHECK(((uint8_t *)bytes)[i] == (uint8_t)source);
    hoop_object_free(bytes);
    return 0;
}

/* Passes objects round a ring with both forms of both calls. Then rank 0
 * receives from any source. */
static int
messages(struct rank *rank)
{
    const uint32_t next = (rank->rank + 1) % rank->size;
    const uint32_t prev = (rank->rank + rank->size - 1) % rank->size;
    const size_t n_mine = 50000 * (size_t)rank->rank;
    uint8_t *mine = malloc(n_mine + 1);
    struct hoop_received received = {.source = 77};
    void *bytes = &bytes;
    size_t n_bytes = 99;
    hoop_op_t *ops[2];

    memset(mine, (int)rank->rank, n_mine);
    RANK_CHECK(hoop_send_object_start(mine, n_mine, next, 3, rank->comm,
                                      &ops[0]) == HOOP_OK);
    RANK_CHECK(hoop_recv_object(&bytes, &n_bytes, prev, 3, rank->comm,
                                &received) == HOOP_OK);
    RANK_CHECK(hoop_wait(ops[0], HOOP_FOREVER) == HOOP_OK);
    RANK_CHECK(received.source == prev && received.count == n_bytes);
    RANK_CHECK(message_is_from(rank, prev, bytes, n_bytes) == 0);
    RANK_CHECK(hoop_recv_object_start(&bytes, &n_bytes, prev, 3, rank->comm,
                                      NULL, &ops[1]) == HOOP_OK);
    RANK_CHECK(hoop_send_object(mine, n_mine, next, 3, rank->comm) == HOOP_OK);
    RANK_CHECK(hoop_wait(ops[1], HOOP_FOREVER) == HOOP_OK);
    RANK_CHECK(message_is_from(rank, prev, bytes, n_bytes) == 0);
    for (uint32_t i = 1; rank->rank == 0 && i < rank->size; i++) {
        RANK_CHECK(hoop_recv_object(&bytes, &n_bytes, HOOP_ANY_SOURCE, 0,
                                    rank->comm, &received) == HOOP_OK);
        RANK_CHECK(message_is_from(rank, received.source, bytes, n_bytes) == 0);
    }
    RANK_CHECK(rank->rank == 0 ||
               hoop_send_object(mine, n_mine, 0, 0, rank->comm) == HOOP_OK);
    free(mine);
    return 0;
}

/* Objects with the same tag arrive in order, and those with different tags can
 * be received in any order. Messages that are not objects have separate tags,
 * and need receives of their own. */
static int
tags(struct rank *rank)
{
    static const char *const texts[] = {"one", "two", "three"};
    const int64_t last = (int64_t)1 << 61;
    uint8_t untyped[4] = "raw";
    uint8_t got[4] = "";
    uint8_t cells[4] = "ten";
    struct hoop_tensor tensor = {cells, HOOP_UINT8, {1, {4}}, NULL};
    struct hoop_tensor other = {got, HOOP_UINT8, {1, {4}}, NULL};
    void *bytes = NULL;
    size_t n_bytes = 0;
    hoop_op_t *ops[5];

    RANK_CHECK(hoop_send_start(untyped, 4, HOOP_UINT8, rank->rank, 1,
                               rank->comm, &ops[3]) == HOOP_OK);
    RANK_CHECK(hoop_send_tensor_start(&tensor, rank->rank, 2, rank->comm,
                                      &ops[4]) == HOOP_OK);
    for (size_t i = 0; i < 3; i++)
        RANK_CHECK(hoop_send_object_start(texts[i], strlen(texts[i]),
                                          rank->rank, i == 2 ? last : 1,
                                          rank->comm, &ops[i]) == HOOP_OK);
    for (size_t i = 0; i < 3; i++) {
        const size_t which = (i + 2) % 3;

        RANK_CHECK(hoop_recv_object(&bytes, &n_bytes, rank->rank,
                                    which == 2 ? last : 1, rank->comm,
                                    NULL) == HOOP_OK);
        RANK_CHECK(n_bytes == strlen(texts[which]) &&
                   memcmp(bytes, texts[which], n_bytes) == 0);
        hoop_object_free(bytes);
    }
    RANK_CHECK(hoop_recv(got, 4, HOOP_UINT8, rank->rank, 1, rank->comm, NULL) ==
               HOOP_OK);
    RANK_CHECK(memcmp(got, "raw", 4) == 0);
    RANK_CHECK(hoop_recv_tensor(&other, rank->rank, 2, rank->comm, NULL) ==
               HOOP_OK);
    RANK_CHECK(memcmp(got, "ten", 4) == 0);
    RANK_CHECK(hoop_wait_all(ops, 5, HOOP_FOREVER) == HOOP_OK);
    return 0;
}

/* The last rank lacks the memory, and the call fails on all ranks. The test
 * cannot run with a sanitizer, which needs address space of its own. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
static int
too_large(struct rank *rank)
{
    (void)rank;
    return 0;
}
#else
static int
limit_memory(size_t n_more)
{
    size_t n_pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    const bool is_read = file && fscanf(file, "%zu", &n_pages) == 1;

    if (file)
        fclose(file);
    const size_t n_bytes = n_pages * (size_t)sysconf(_SC_PAGESIZE) + n_more;
    const struct rlimit limit = {n_bytes, n_bytes};
    return is_read ? setrlimit(RLIMIT_AS, &limit) : -1;
}

static int
too_large(struct rank *rank)
{
    const size_t n_bytes = (size_t)32 << 20;
    void *mine = rank->rank == 0 ? calloc(1, n_bytes) : NULL;
    void *bytes = NULL;
    size_t n_came = 0;

    if (rank->size == 1)
        return 0;
    const bool is_poor = rank->rank == rank->size - 1;
    if (is_poor)
        RANK_CHECK(limit_memory(n_bytes / 2) == 0);
    const enum hoop_status status =
        hoop_broadcast_object(mine, n_bytes, &bytes, &n_came, 0, rank->comm);
    /* A rank that does not depend on the failed one may have finished before it
     * learns of the failure. */
    RANK_CHECK(status == HOOP_E_EXHAUSTED || (!is_poor && status == HOOP_OK));
    RANK_CHECK(status == HOOP_OK ||
               (strstr(hoop_error_text(), "broadcast_object #") &&
                strstr(hoop_error_text(), "no memory for an object")));
    RANK_CHECK((bytes != NULL) == (status == HOOP_OK && rank->rank > 0));
    hoop_object_free(bytes);
    /* Then its next call reports the failure, but is carried out all the
     * same. */
    const enum hoop_status next = hoop_barrier(rank->comm);
    RANK_CHECK(next == HOOP_OK ||
               (status == HOOP_OK && next == HOOP_E_EXHAUSTED &&
                strstr(hoop_error_text(), "is done, but an earlier call")));
    free(mine);
    return 0;
}
#endif

static int
body(struct rank *rank)
{
    static const size_t lengths[] = {0, 1, 3, 63, 65536, LENGTH_MAX};

    for (uint32_t root = 0; root < rank->size; root++) {
        for (size_t i = 0; i < COUNT_OF(lengths); i++)
            RANK_CHECK(broadcast(rank, root, lengths[i]) == 0);
        RANK_CHECK(scatter(rank, root) == 0);
    }
    RANK_CHECK(gather(rank) == 0);
    RANK_CHECK(messages(rank) == 0 && tags(rank) == 0);
    RANK_CHECK(too_large(rank) == 0);
    return 0;
}

int
main(void)
{
    static const struct rank_case cases[] = {{"object", body}};

    return vectors_run(cases, COUNT_OF(cases));
}
