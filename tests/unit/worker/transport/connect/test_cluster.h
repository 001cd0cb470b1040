/*
 * tests/unit/worker/transport/connect/test_cluster.h - three connectors
 *
 * They are three ranks on one loop, which has a thread of its own. The sockets
 * are real. The test's thread dials, plays strangers and waits for what the
 * connectors report.
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
    /* The lock of the test cluster protects these, by rank of the other
     * side. */
    unsigned n_connected[TEST_CLUSTER_RANKS];
    unsigned n_streams[TEST_CLUSTER_RANKS];
    unsigned n_unreachable[TEST_CLUSTER_RANKS];
    unsigned n_short[TEST_CLUSTER_RANKS];
    uint32_t short_of; /* the last rank that lacked something */
    enum hoop_status short_status;
    int fds[TEST_CLUSTER_RANKS];
    struct segment *segments[TEST_CLUSTER_RANKS]; /* NULL: TCP only */
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

/* Creates rosters and listeners. A test may change them before
 * test_cluster_start(). */
void
test_cluster_open(struct test_cluster *test_cluster);
void
test_cluster_start(struct test_cluster *test_cluster);
void
test_cluster_close(struct test_cluster *test_cluster);

/* Waits until *counter is value. Fails the test if that takes too long. */
void
test_cluster_await(struct test_cluster *test_cluster,
                   const unsigned *counter,
                   unsigned value);

/* Rank from dials rank to. Both then have one working connection. */
void
test_cluster_connect(struct test_cluster *test_cluster,
                     uint32_t from,
                     uint32_t to);
/* Checks that the two descriptors are the ends of one connection. */
void
test_cluster_check_ends(struct test_cluster *test_cluster,
                        uint32_t one,
                        uint32_t other);

/* Opens a stranger's connection to the rank and sends n_bytes. */
int
stranger_open(const struct test_cluster *test_cluster,
              uint32_t rank,
              const void *bytes,
              size_t n_bytes);
/* Waits until the other side has closed the connection. */
void
stranger_await_end(int fd);

#endif
