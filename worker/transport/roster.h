/*
 * transport/roster.h - who is in the job: ranks, addresses, incarnations
 *
 * Made by the session from the coordinator's answer, then never changed.
 */

#ifndef TRANSPORT_ROSTER_H
#define TRANSPORT_ROSTER_H

#include <stdbool.h>
#include <stdint.h>

#include "hoop/status.h"

#include "base/limits.h"
#include "net/address.h"

struct member {
    uint64_t
        incarnation; /* its identity: a rank that comes again has another */
    uint32_t rank;
    uint32_t pid;
    char host[LIMIT_NAME];    /* name, for people */
    char host_id[LIMIT_NAME]; /* equal on one host */
    struct address address;   /* where its peers connect */
    /* Its process was seen by its number, in this PID namespace: that it ends
     * will be seen, too. */
    bool is_visible;
};

struct roster {
    char job[LIMIT_NAME];
    uint64_t epoch;
    uint64_t credential; /* this process's own incarnation: base/identity.h */
    uint32_t rank;       /* this process */
    uint32_t size;
    struct member *members; /* [rank] */
};

/* Members are zeroed. Handle: HOOP_E_EXHAUSTED (beyond LIMIT_RANKS). */
enum hoop_status
roster_create(uint32_t size, struct roster **out_roster);
void
roster_destroy(struct roster *roster);

/* On this process's machine; also where HOOP_NODE lets it play several nodes,
 * and in containers whose networks are apart. */
bool
roster_is_local(const struct roster *roster, uint32_t rank);

/* How many ranks are, itself included. */
uint32_t
roster_local_size(const struct roster *roster);

/* How many of them come before this rank. */
uint32_t
roster_local_rank(const struct roster *roster);

/* On the same node as this process: it counts as one host. */
bool
roster_is_same_node(const struct roster *roster, uint32_t rank);

enum {
    ROSTER_NAME_MAX = LIMIT_NAME + 48
};

/* "rank 2 (host:1234)": how every message names a peer. */
const char *
roster_name(const struct roster *roster,
            uint32_t rank,
            char text[ROSTER_NAME_MAX]);

#endif
