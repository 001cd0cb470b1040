/*
 * bench/peers/watch.h - whether the processors were near each other meanwhile
 *
 * What bench/peers/watch.c writes into a file, and the measuring loop reads
 * there before and after each batch. A change is seen up to 25 ms late. Read by C
 * and by C++.
 */

#ifndef BENCH_PEERS_WATCH_H
#define BENCH_PEERS_WATCH_H

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum watch_state {
    WATCH_NONE, /* nobody watches */
    WATCH_NEAR,
    WATCH_FAR,
    WATCH_MIXED,
};

/* bench_torch.py has this layout, too. */
struct watch {
    uint32_t state;     /* WATCH_NEAR or WATCH_FAR, as last seen */
    uint32_t n_changes; /* of it, so far: written after it, read before it */
};

/* NULL if BENCH_WATCH is not in the environment. */
static inline const struct watch *
watch_open(void)
{
    const char *path = getenv("BENCH_WATCH");

    if (!path)
        return NULL;
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    void *watch = file < 0 ? MAP_FAILED
                           : mmap(NULL, sizeof(struct watch), PROT_READ,
                                  MAP_SHARED, file, 0);
    if (watch == MAP_FAILED) {
        perror(path);
        exit(1);
    }
    close(file);
    return (const struct watch *)watch;
}

static inline struct watch
watch_look(const struct watch *watch)
{
    struct watch now = {WATCH_NONE, 0};

    if (watch) {
        now.n_changes = __atomic_load_n(&watch->n_changes, __ATOMIC_ACQUIRE);
        now.state = __atomic_load_n(&watch->state, __ATOMIC_ACQUIRE);
    }
    return now;
}

/* From before until now. */
static inline enum watch_state
watch_since(const struct watch *watch, struct watch before)
{
    return watch_look(watch).n_changes == before.n_changes
               ? (enum watch_state)before.state
               : WATCH_MIXED;
}

/* What a row of results calls it. */
static inline const char *
watch_state_name(enum watch_state state)
{
    return state == WATCH_NEAR ? "near" : state == WATCH_FAR ? "far" : "";
}

#endif
