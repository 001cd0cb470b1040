/*
 * tests/unit/worker/transport/hall.h - connectors of three ranks on one loop
 *
 * The loop has a thread of its own, the sockets are real; the test's thread
 * dials, plays strangers and waits for what the connectors report.
 */

#ifndef TESTS_HALL_H
#define TESTS_HALL_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "net/loop.h"
#include "transport/connector.h"

enum {
    HALL_RANKS = 3,
};

struct hall;

struct booth {
    struct hall *hall;
    struct roster *roster;
    struct connector *connector;
    const char *token;
    enum sharing_mode sharing; /* SHARING_AUTO */
    int listen_fd;
    /* Under the hall's lock: by the other side's rank. */
    unsigned n_connected[HALL_RANKS];
    unsigned n_unreachable[HALL_RANKS];
    int fds[HALL_RANKS];
    struct segment *segments[HALL_RANKS]; /* NULL: TCP alone */
    char why[256];
};

struct hall {
    struct loop *loop;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct booth booths[HALL_RANKS];
};

/* Rosters and listeners; a test may change them before hall_start(). */
void
hall_open(struct hall *hall);
void
hall_start(struct hall *hall);
void
hall_close(struct hall *hall);

/* Until *counter is value; fails the test when that takes too long. */
void
hall_await(struct hall *hall, const unsigned *counter, unsigned value);

/* from dials to, and both have one working connection. */
void
hall_connect(struct hall *hall, uint32_t from, uint32_t to);
/* The two descriptors are the ends of one connection. */
void
hall_check_ends(struct hall *hall, uint32_t one, uint32_t other);

/* A stranger's connection to rank, which says n_bytes. */
int
stranger_open(const struct hall *hall,
              uint32_t rank,
              const void *bytes,
              size_t n_bytes);
/* The other side has closed it, or does so soon. */
void
stranger_await_end(int fd);

#endif
