/* core/rank_assignment.c - ranks for the members of a world that forms */

#include "core/rank_assignment.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>

#include "core/event.h"
#include "core/memory.h"

/* Fill the gaps between requested ranks, host by host. */

/* How many hosts are tried to find one that fills the rest of a gap exactly. */
enum {
    GAP_HOST_TRIES = 64,
};

static const uint32_t RANK_WITHOUT_HOST = UINT32_MAX;

/* The members of a host that have no rank yet: queue[next .. end - 1]. */
struct host_queue {
    uint32_t next;
    uint32_t end;
};

struct assignment {
    struct member_placement *members;
    uint32_t n_members;
    uint32_t *queue; /* indexes of members without a request, host by host */
    struct host_queue *hosts;
    uint32_t n_hosts;
    uint32_t first_unplaced_host; /* no earlier host has members left */
    uint32_t *host_of_rank;       /* or RANK_WITHOUT_HOST */
};

struct free_rank_range {
    uint32_t begin; /* the free ranks are begin .. end - 1 */
    uint32_t end;
};

static void
host_queues_fill(struct assignment *assignment)
{
    struct host_queue *hosts = assignment->hosts;
    uint32_t n_placed = 0;

    for (uint32_t i = 0; i < assignment->n_members; i++)
        if (assignment->members[i].rank == CLUSTER_RANK_ANY)
            hosts[assignment->members[i].host].end++;
    for (uint32_t host = 0; host < assignment->n_hosts; host++) {
        const uint32_t n_waiting = hosts[host].end;

        hosts[host].next = hosts[host].end = n_placed;
        n_placed += n_waiting;
    }
    for (uint32_t i = 0; i < assignment->n_members; i++)
        if (assignment->members[i].rank == CLUSTER_RANK_ANY)
            assignment->queue[hosts[assignment->members[i].host].end++] = i;
}

static void
requested_ranks_place(struct assignment *assignment)
{
    for (uint32_t rank = 0; rank < assignment->n_members; rank++)
        assignment->host_of_rank[rank] = RANK_WITHOUT_HOST;
    for (uint32_t i = 0; i < assignment->n_members; i++) {
        const struct member_placement *member = &assignment->members[i];

        if (member->rank == CLUSTER_RANK_ANY)
            continue;
        assert(member->rank < assignment->n_members);
        assert(assignment->host_of_rank[member->rank] == RANK_WITHOUT_HOST);
        assignment->host_of_rank[member->rank] = member->host;
    }
}

static uint32_t
host_unplaced_count(const struct assignment *assignment, uint32_t host)
{
    return assignment->hosts[host].end - assignment->hosts[host].next;
}

static uint32_t
smaller(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* Give the ranks of the gap to the next members of a host. */
static void
host_members_place(struct assignment *assignment,
                   uint32_t host,
                   struct free_rank_range gap)
{
    for (uint32_t rank = gap.begin; rank < gap.end; rank++) {
        const uint32_t member =
            assignment->queue[assignment->hosts[host].next++];

        assignment->members[member].rank = rank;
        assignment->host_of_rank[rank] = host;
    }
}

/* Choose the host whose members continue in a gap with n_free ranks left. */
static uint32_t
gap_choose_host(struct assignment *assignment, uint32_t n_free)
{
    while (!host_unplaced_count(assignment, assignment->first_unplaced_host))
        assignment->first_unplaced_host++;

    const uint32_t last = smaller(
        assignment->n_hosts, assignment->first_unplaced_host + GAP_HOST_TRIES);

    for (uint32_t host = assignment->first_unplaced_host; host < last; host++)
        if (host_unplaced_count(assignment, host) == n_free)
            return host;
    return assignment->first_unplaced_host;
}

static void
free_rank_range_fill(struct assignment *assignment, struct free_rank_range gap)
{
    const uint32_t n = assignment->n_members;
    const uint32_t before = assignment->host_of_rank[(gap.begin + n - 1) % n];
    const uint32_t behind = assignment->host_of_rank[gap.end % n];

    if (before != RANK_WITHOUT_HOST) {
        const uint32_t n_taken = smaller(
            host_unplaced_count(assignment, before), gap.end - gap.begin);

        host_members_place(
            assignment, before,
            (struct free_rank_range){gap.begin, gap.begin + n_taken});
        gap.begin += n_taken;
    }
    if (behind != RANK_WITHOUT_HOST) {
        const uint32_t n_taken = smaller(
            host_unplaced_count(assignment, behind), gap.end - gap.begin);

        host_members_place(
            assignment, behind,
            (struct free_rank_range){gap.end - n_taken, gap.end});
        gap.end -= n_taken;
    }
    while (gap.begin < gap.end) {
        const uint32_t host = gap_choose_host(assignment, gap.end - gap.begin);
        const uint32_t n_taken =
            smaller(host_unplaced_count(assignment, host), gap.end - gap.begin);

        host_members_place(
            assignment, host,
            (struct free_rank_range){gap.begin, gap.begin + n_taken});
        gap.begin += n_taken;
    }
}

static void
free_rank_ranges_fill(struct assignment *assignment)
{
    uint32_t rank = 0;

    while (rank < assignment->n_members) {
        struct free_rank_range gap = {rank, rank};

        while (gap.end < assignment->n_members &&
               assignment->host_of_rank[gap.end] == RANK_WITHOUT_HOST)
            gap.end++;
        if (gap.begin < gap.end)
            free_rank_range_fill(assignment, gap);
        rank = gap.end + 1;
    }
}

void
assign_ranks(struct member_placement *members, uint32_t n_members)
{
    struct assignment assignment = {.members = members, .n_members = n_members};

    for (uint32_t i = 0; i < n_members; i++)
        if (members[i].host >= assignment.n_hosts)
            assignment.n_hosts = members[i].host + 1;
    assert(assignment.n_hosts <= n_members);

    assignment.queue = memory_calloc(n_members, sizeof(uint32_t));
    assignment.host_of_rank = memory_calloc(n_members, sizeof(uint32_t));
    assignment.hosts =
        memory_calloc(assignment.n_hosts, sizeof(struct host_queue));

    requested_ranks_place(&assignment);
    host_queues_fill(&assignment);
    free_rank_ranges_fill(&assignment);

    free(assignment.queue);
    free(assignment.host_of_rank);
    free(assignment.hosts);
}
