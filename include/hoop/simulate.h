/* hoop/simulate.h - what a collective would cost on a cluster, without one
 *
 * The plans that libhoop would execute are run on a model of the machine: no
 * socket, no other process, the same answer every time. For tools and for
 * those who plan a cluster; nothing here needs a session.
 */

#ifndef HOOP_SIMULATE_H
#define HOOP_SIMULATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hoop/api.h"
#include "hoop/status.h"

HOOP_BEGIN

/* Microseconds, and GB (10^9 bytes) per second; a rate of 0 is endless. */
struct hoop_machine {
    double send_us;           /* processor time of a message at its sender */
    double receive_us;        /* ... and at its receiver */
    double latency_us;        /* between two nodes */
    double latency_inside_us; /* within one */
    double link_gbs;          /* a node's network interface, each way */
    double link_inside_gbs;   /* between two ranks of a node */
    double send_gbs;          /* one processor, handing bytes to the kernel */
    double receive_gbs;       /* ... taking them from it */
    double copy_gbs;          /* ... copying */
    double reduce_gbs;        /* ... combining what came */
    uint32_t n_processors;    /* of a node, shared by its ranks */
    /* Where these are fewer than the ranks: what a rank that waits takes from
     * the others, each time that a message wakes it. */
    double wait_us;
};

struct hoop_simulation {
    const char *collective; /* hoop_simulate_collective() */
    const char *algorithm;  /* hoop_simulate_algorithm() */
    uint32_t n_ranks;
    uint32_t n_per_node; /* ranks 0 to n_per_node - 1 share a node, ... */
    /* Of the larger buffer; it is cut down to whole, equal blocks, of one
     * element at least, where ranks have blocks. */
    size_t n_bytes;
    size_t element_size; /* bytes */
};

struct hoop_simulated {
    double time_us;      /* until the last rank is done */
    size_t n_bytes;      /* of the larger buffer */
    uint64_t n_sent;     /* bytes, all ranks together */
    uint64_t n_messages; /* all ranks together */
    /* Too many steps to follow each: one node stands for all where they are
     * alike, else some rounds for all. */
    bool is_extrapolated;
};

/* "allreduce", ... by number from 0 on; NULL beyond the last. Thread: any. */
HOOP_API const char *
hoop_simulate_collective(size_t number);

/* "ring", ... of a collective, by number from 0 on; NULL beyond the last, or
 * when there is no such collective. Thread: any. */
HOOP_API const char *
hoop_simulate_algorithm(const char *collective, size_t number);

/*
 * Up to two million steps (ranks times messages) are followed one by one,
 * which takes about a second; beyond that see is_extrapolated. Borrows all of
 * simulation and machine for the call.
 *
 * Handle: HOOP_E_INVALID (a name that is none, no ranks or too many, a number
 * that is none), HOOP_E_PRECONDITION (the algorithm has no point there: one
 * for nodes, when no node has several ranks or there is only one; a flat or a
 * direct one, when not all ranks are on one node, or more than 64). Of a direct
 * one, reading another process is taken to cost what a copy does.
 * Thread: any.
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_simulate(const struct hoop_simulation *simulation,
              const struct hoop_machine *machine,
              struct hoop_simulated *out_simulated);

HOOP_END

#endif
