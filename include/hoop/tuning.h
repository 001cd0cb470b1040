/* hoop/tuning.h - which algorithm does a collective, and why
 *
 * When a communicator forms, its rank 0 simulates the algorithms that there are
 * for each collective on what it knows of the machine, and tells all ranks up
 * to which size each is taken. On one host of two processors and for 2 to 8
 * ranks, in the memory that all of them share and, with HOOP_TRANSPORT=tcp, over
 * TCP, what was fastest on such a host is known, and taken instead.
 * HOOP_ALGORITHM on rank 0 of the job forces some, and HOOP_TUNING is a file of
 * what algorithms took here, measured by hoop-perf --tune. With
 * HOOP_TUNING=auto the first four jobs of as many ranks, 64 at most, on as many
 * nodes race for up to 1.5 s each when they begin, and keep that in
 * hoop/tuning-<signature>.txt of the user's cache folder; with HOOP_TUNING=model
 * what was fastest elsewhere does not count. Runs that must have the same bits
 * set HOOP_ALGORITHM, since what is measured, and so the order in which floats
 * are summed, may differ.
 *
 * A collective is named as its function is, "allreduce" or "allgatherv"; the
 * forms along a dimension are those without it, and messages have none. Sizes
 * are bytes of the larger buffer: of collectives that move blocks, the blocks
 * of all ranks. Names of algorithms are static.
 */

#ifndef HOOP_TUNING_H
#define HOOP_TUNING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hoop/api.h"
#include "hoop/comm.h"
#include "hoop/status.h"

HOOP_BEGIN

/*
 * The algorithm that does a collective of n_bytes on comm; NULL where there is
 * no such collective, or comm is NULL or has not this process as a member.
 * Thread: as a collective on comm.
 */
HOOP_API const char *
hoop_comm_algorithm(const hoop_comm_t *comm,
                    const char *collective,
                    size_t n_bytes);

/* The algorithms of a collective in turn, for index 0, 1, ...; NULL beyond
 * them, or where there is no such collective. Thread: any. */
HOOP_API const char *
hoop_algorithm_name(const char *collective, uint32_t index);

/* How many nodes its ranks are on; 0 where comm is NULL or has not this process
 * as a member. Thread: any. */
HOOP_API uint32_t
hoop_comm_nodes(const hoop_comm_t *comm);

struct hoop_choice {
    const char *algorithm;
    double estimate_us;
    const char *runner_up; /* the best of the others; NULL: there is none */
    double runner_up_us;
    bool is_forced; /* somebody insists on the algorithm */
};

/*
 * The algorithm, and what it and the best of the others are estimated to take
 * now. Simulates them, which may take milliseconds; does not communicate.
 *
 * Handle: HOOP_E_INVALID (no such collective, no member).
 * Thread: as a collective on comm.
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_comm_explain(const hoop_comm_t *comm,
                  const char *collective,
                  size_t n_bytes,
                  struct hoop_choice *out_choice);

/*
 * Force algorithms on comm from now on, "allreduce:ring,broadcast:chain" as
 * HOOP_ALGORITHM; "": none. The v-forms follow their even form where the
 * algorithm can do uneven blocks. All ranks of comm call it, rank 0's list
 * counts. Operations under way keep theirs, but those on objects
 * (hoop/object.h), whose second exchange is still to be chosen, have to be
 * waited for first.
 *
 * Handle: HOOP_E_INVALID (the text lists what there is).
 * Thread: as a collective on comm.
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_comm_set_algorithms(hoop_comm_t *comm, const char *algorithms);

HOOP_END

#endif
