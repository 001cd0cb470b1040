/* tests/integration/object_vectors_test.c - objects: bytes of unknown length */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "vectors.h"

static int
broadcast(struct rank *rank, uint32_t root, size_t length)
{
    static const char text[] = "hi!";
    const bool is_root = rank->rank == root;
    void *bytes = &bytes;
    size_t n_bytes = 99;

    RANK_CHECK(hoop_broadcast_object(is_root ? text : NULL,
                                     is_root ? length : 17, &bytes, &n_bytes,
                                     root, rank->comm) == HOOP_OK);
    RANK_CHECK(n_bytes == length);
    RANK_CHECK((bytes == NULL) == (is_root || length == 0));
    RANK_CHECK(!bytes || memcmp(bytes, text, length) == 0);
    hoop_object_free(bytes);
    return 0;
}

/* Rank r has 1000 r bytes of value r. */
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

    /* Two at once, for two roots, waited for in the other order. */
    struct hoop_objects others;
    const uint32_t last = rank->size - 1;
    RANK_CHECK(hoop_gather_object_start(mine, n_bytes, &objects, 0, rank->comm,
                                        &ops[0]) == HOOP_OK);
    RANK_CHECK(hoop_gather_object_start(mine, n_bytes, &others, last,
                                        rank->comm, &ops[1]) == HOOP_OK);
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
    free(mine);
    return 0;
}

/* The last rank cannot have the memory: it fails everywhere. A sanitizer needs
 * address space of its own. */
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
    /* Who does not need the one that lacks it may be through before it knows. */
    RANK_CHECK(status == HOOP_E_EXHAUSTED || (!is_poor && status == HOOP_OK));
    RANK_CHECK(status == HOOP_OK ||
               (strstr(hoop_error_text(), "broadcast_object #") &&
                strstr(hoop_error_text(), "no memory for an object")));
    RANK_CHECK((bytes != NULL) == (status == HOOP_OK && rank->rank > 0));
    hoop_object_free(bytes);
    RANK_CHECK(hoop_barrier(rank->comm) == HOOP_OK);
    free(mine);
    return 0;
}
#endif

static int
body(struct rank *rank)
{
    for (uint32_t root = 0; root < rank->size; root++)
        RANK_CHECK(broadcast(rank, root, 3) == 0 &&
                   broadcast(rank, root, 0) == 0);
    RANK_CHECK(gather(rank) == 0);
    RANK_CHECK(too_large(rank) == 0);
    return 0;
}

int
main(void)
{
    return vectors_run(body);
}
