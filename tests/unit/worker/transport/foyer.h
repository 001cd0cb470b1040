/*
 * tests/unit/worker/transport/foyer.h - connectors of three ranks on one loop
 *
 * The loop has a thread of its own, the sockets are real; the test's thread
 * dials, plays strangers and waits for what the connectors report.
 */

#ifndef TESTS_FOYER_H
#define TESTS_FOYER_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/loop.h"
#include "transport/connector.h"

enum {
    FOYER_RANKS = 3,
};

struct foyer;

struct booth {
    struct foyer *foyer;
    struct roster *roster;
    struct connector *connector;
    const char *token;
    enum sharing_mode sharing; /* SHARING_AUTO */
    const struct tls_files *tls;
    int listen_fd;
    bool refuses_streams;
    uint64_t forming_until_ns;
    uint32_t wait_notice_ms;
    /* Under the foyer's lock: by the other side's rank. */
    unsigned n_connected[FOYER_RANKS];
    unsigned n_streams[FOYER_RANKS];
    unsigned n_unreachable[FOYER_RANKS];
    unsigned n_short[FOYER_RANKS];
    uint32_t short_of; /* the last of them: who lacked something */
    enum hoop_status short_status;
    int fds[FOYER_RANKS];
    struct segment *segments[FOYER_RANKS]; /* NULL: TCP alone */
    struct tls *tls_of[FOYER_RANKS];
    char why[256];
};

struct foyer {
    struct loop *loop;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct booth booths[FOYER_RANKS];
};

/* Rosters and listeners; a test may change them before foyer_start(). */
void
foyer_open(struct foyer *foyer);
void
foyer_start(struct foyer *foyer);
void
foyer_close(struct foyer *foyer);

/* Until *counter is value; fails the test when that takes too long. */
void
foyer_await(struct foyer *foyer, const unsigned *counter, unsigned value);

/* from dials to, and both have one working connection. */
void
foyer_connect(struct foyer *foyer, uint32_t from, uint32_t to);
/* The two descriptors are the ends of one connection. */
void
foyer_check_ends(struct foyer *foyer, uint32_t one, uint32_t other);

/* A stranger's connection to rank, which says n_bytes. */
int
stranger_open(const struct foyer *foyer,
              uint32_t rank,
              const void *bytes,
              size_t n_bytes);
/* The other side has closed it, or does so soon. */
void
stranger_await_end(int fd);

#endif
