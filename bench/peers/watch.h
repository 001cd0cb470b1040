/*
 * bench/peers/watch.h - says whether the processors stayed near each other
 *
 * bench/peers/watch.c writes this struct to a file, and the measuring loop
 * reads it there before and after each batch. A change is seen up to 25 ms
 * late. The header is for C and for C++.
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
    WATCH_NONE, /* no watch is running */
    WATCH_NEAR,
    WATCH_FAR,
    WATCH_MIXED,
};

/* driver.py and bench/compare/programs.py read the same layout. */
struct watch {
    uint32_t state;      /* WATCH_NEAR or WATCH_FAR, as last seen */
    uint32_t n_changes;  /* written after the state, and read before it */
    uint32_t nearest_ns; /* the shortest round trip so far */
};

/* Returns NULL if BENCH_WATCH is not set in the environment. */
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
    struct watch now = {WATCH_NONE, 0, 0};

    if (watch) {
        now.n_changes = __atomic_load_n(&watch->n_changes, __ATOMIC_ACQUIRE);
        now.state = __atomic_load_n(&watch->state, __ATOMIC_ACQUIRE);
    }
    return now;
}

/* Returns the state since before, or WATCH_MIXED if it has changed. */
static inline enum watch_state
watch_since(const struct watch *watch, struct watch before)
{
    return watch_look(watch).n_changes == before.n_changes
               ? (enum watch_state)before.state
               : WATCH_MIXED;
}

/* Returns the name that a row of results shows. */
static inline const char *
watch_state_name(enum watch_state state)
{
    return state == WATCH_NEAR ? "near" : state == WATCH_FAR ? "far" : "";
}

#endif
