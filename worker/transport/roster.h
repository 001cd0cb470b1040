/*
 * transport/roster.h - who is in the job: ranks, addresses, incarnations
 *
 * The session makes the roster from the coordinator's answer. It never changes
 * afterwards.
 */

#ifndef TRANSPORT_ROSTER_H
#define TRANSPORT_ROSTER_H

#include <stdbool.h>
#include <stdint.h>

#include "hoop/status.h"

#include "base/limits.h"
#include "net/address.h"

struct member {
    /* Identifies the process: one that takes the rank again has another. */
    uint64_t incarnation;
    uint32_t rank;
    uint32_t pid;
    char host[LIMIT_NAME];    /* host name, for messages */
    char host_id[LIMIT_NAME]; /* equal for the ranks of one node */
    struct address address;   /* where its peers connect to */
    /* Its process can be seen by its pid in this PID namespace, so its end can
     * be seen, too. */
    bool is_visible;
};

struct roster {
    char job[LIMIT_NAME];
    uint64_t epoch;
    uint64_t seed; /* random, the same on every rank of this world */
    /* This process's secret incarnation: base/random.h. */
    uint64_t credential;
    uint32_t rank; /* this process */
    uint32_t size;
    struct member *members; /* [rank] */
};

/* Create a roster with zeroed members. Handle: HOOP_E_EXHAUSTED (also beyond
 * LIMIT_RANKS). */
enum hoop_status
roster_create(uint32_t size, struct roster **out_roster);
void
roster_destroy(struct roster *roster);

/* Returns whether rank is on this process's machine, even if HOOP_NODE lets
 * the machine play several nodes, or the ranks are in containers with separate
 * networks. */
bool
roster_is_local(const struct roster *roster, uint32_t rank);

/* Returns how many ranks are local, this one included. */
uint32_t
roster_local_size(const struct roster *roster);

/* Returns how many local ranks come before this one. */
uint32_t
roster_local_rank(const struct roster *roster);

/* Returns whether rank is on the same node as this process. */
bool
roster_is_same_node(const struct roster *roster, uint32_t rank);

enum {
    ROSTER_NAME_MAX = LIMIT_NAME + 48
};

/* Write the name by which every message names a peer, such as "rank 2
 * (host:1234)", and return text. */
const char *
roster_format_name(const struct roster *roster,
                   uint32_t rank,
                   char text[ROSTER_NAME_MAX]);

#endif
