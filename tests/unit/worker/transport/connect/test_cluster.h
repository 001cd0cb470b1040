/*
 * tests/unit/worker/transport/connect/test_cluster.h - connectors of three
 * ranks on one loop
 *
 * The loop has a thread of its own, the sockets are real; the test's thread
 * dials, plays strangers and waits for what the connectors report.
 */

#ifndef TESTS_TEST_CLUSTER_H
#define TESTS_TEST_CLUSTER_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/loop.h"
#include "transport/connect/connector.h"

enum {
    TEST_CLUSTER_RANKS = 3,
};

struct test_cluster;

struct test_node {
    struct test_cluster *test_cluster;
    struct roster *roster;
    struct connector *connector;
    struct config config; /* the defaults, with the token of all */
    int listen_fd;
    bool refuses_streams;
    uint64_t forming_until_ns;
    /* Under the test cluster's lock: by the other side's rank. */
    unsigned n_connected[TEST_CLUSTER_RANKS];
    unsigned n_streams[TEST_CLUSTER_RANKS];
    unsigned n_unreachable[TEST_CLUSTER_RANKS];
    unsigned n_short[TEST_CLUSTER_RANKS];
    uint32_t short_of; /* the last of them: who lacked something */
    enum hoop_status short_status;
    int fds[TEST_CLUSTER_RANKS];
    struct segment *segments[TEST_CLUSTER_RANKS]; /* NULL: TCP alone */
    struct tls *tls_of[TEST_CLUSTER_RANKS];
    char why[256];
};

struct test_cluster {
    struct loop *loop;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct test_node test_nodes[TEST_CLUSTER_RANKS];
};

/* Rosters and listeners; a test may change them before test_cluster_start(). */
void
test_cluster_open(struct test_cluster *test_cluster);
void
test_cluster_start(struct test_cluster *test_cluster);
void
test_cluster_close(struct test_cluster *test_cluster);

/* Until *counter is value; fails the test when that takes too long. */
void
test_cluster_await(struct test_cluster *test_cluster,
                   const unsigned *counter,
                   unsigned value);

/* from dials to, and both have one working connection. */
void
test_cluster_connect(struct test_cluster *test_cluster,
                     uint32_t from,
                     uint32_t to);
/* The two descriptors are the ends of one connection. */
void
test_cluster_check_ends(struct test_cluster *test_cluster,
                        uint32_t one,
                        uint32_t other);

/* A stranger's connection to rank, which says n_bytes. */
int
stranger_open(const struct test_cluster *test_cluster,
              uint32_t rank,
              const void *bytes,
              size_t n_bytes);
/* The other side has closed it, or does so soon. */
void
stranger_await_end(int fd);

#endif
