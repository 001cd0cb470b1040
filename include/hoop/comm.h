/* hoop/comm.h - a fixed, ordered set of ranks that call collectives together
 *
 * A job begins with one, hoop_world(). Others are made of any of its ranks, in
 * any order; they may overlap and be used at the same time, by several
 * threads: each has its own order of operations, its own deadline and its own
 * choice of algorithms.
 *
 * Who is no member of a communicator may still hold one, as Bagua's processes
 * do: then every call on it returns HOOP_OK at once and touches nothing, and
 * what is started on it is done already.
 */

#ifndef HOOP_COMM_H
#define HOOP_COMM_H

#include <stdbool.h>
#include <stdint.h>

#include "hoop/api.h"
#include "hoop/status.h"

HOOP_BEGIN

typedef struct hoop_session hoop_session_t; /* hoop/session.h */
typedef struct hoop_comm hoop_comm_t;

/* In place of a rank: there is none. */
#define HOOP_NO_RANK UINT32_MAX

/*
 * The caller's rank in comm, and how many ranks it has. Stable for the life of
 * the communicator. HOOP_NO_RANK and 0 where comm is NULL or the caller is no
 * member. Bagua: comm.rank(), comm.nranks(). Thread: any.
 */
HOOP_API uint32_t
hoop_comm_rank(const hoop_comm_t *comm);
HOOP_API uint32_t
hoop_comm_size(const hoop_comm_t *comm);

/* Whether the caller is a member; NULL has none. Thread: any. */
HOOP_API bool
hoop_comm_is_member(const hoop_comm_t *comm);

/*
 * The rank in hoop_world() of a rank of comm; HOOP_NO_RANK where there is no
 * such rank. MPI: MPI_Group_translate_ranks(). Thread: any.
 */
HOOP_API uint32_t
hoop_comm_world_rank(const hoop_comm_t *comm, uint32_t rank);

/*
 * The name of the host that a rank of comm runs on, as the host calls itself; NULL
 * where there is no such rank. Borrowed: it lives as long as the session.
 * MPI: MPI_Get_processor_name() of that rank. Thread: any.
 */
HOOP_API const char *
hoop_comm_host(const hoop_comm_t *comm, uint32_t rank);

/*
 * The lowest rank of comm on the same node as that rank, which is one host, or as
 * HOOP_NODE says: equal for ranks that share one. HOOP_NO_RANK where there is no
 * such rank. Thread: any.
 */
HOOP_API uint32_t
hoop_comm_node(const hoop_comm_t *comm, uint32_t rank);

/*
 * Deadline of the operations started on comm from now on, from their start; at
 * most the session's (HOOP_TIMEOUT), with which every communicator begins. 0: that
 * again. Of hoop_world() it is that of forming others, too. Thread: any.
 */
HOOP_API void
hoop_comm_set_timeout(hoop_comm_t *comm, uint32_t timeout_ms);

/*
 * Give comm a name that errors and warnings of this rank use where they tell that
 * a rank is in a call of comm. name is copied, and is of 1 to 63 bytes without
 * control characters. The world's communicator is 'world' at first, others have
 * no name. Names are each rank's own; nobody else is told.
 * MPI: MPI_Comm_set_name(). Handle: HOOP_E_INVALID. Thread: any.
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_comm_set_name(hoop_comm_t *comm, const char *name);

/*
 * Form a communicator of n_ranks ranks of the world: ranks[i] becomes rank i,
 * in the order given. The members call it, and nobody else need know of it; it
 * returns when all of them have called it with the same list. Communicators of
 * different lists may be formed in any order and by several threads at once;
 * of one list, the first call of a rank meets the first of the others. A call
 * that failed does not count: call again. Alone, a rank asks nobody.
 *
 * ranks is borrowed for the call. *out_comm is the caller's, who gives it to
 * hoop_comm_free(); hoop_leave() frees what is left. It borrows the session.
 * NCCL: ncclCommInitRank(), without the exchange of an id; MPI:
 * MPI_Comm_create_group(); torch: new_group() in a given order.
 *
 * Handle: HOOP_E_INVALID (no ranks, one out of range or twice, the caller not
 * among them), HOOP_E_TIMEOUT (the world's; the text names who has not
 * called), HOOP_E_PEER_LOST and HOOP_E_PRECONDITION (a member is lost, or has
 * left), HOOP_E_UNAVAILABLE (no coordinator). Thread: any.
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_comm_create(hoop_session_t *session,
                 const uint32_t *ranks,
                 uint32_t n_ranks,
                 hoop_comm_t **out_comm);

/* As a color: a part in none. MPI_UNDEFINED. */
#define HOOP_NO_COLOR (-1)

/*
 * Divide comm: ranks of one color, 0 or more, form one communicator, in the
 * order of their keys, then of their ranks in comm. All ranks of comm call it;
 * who says HOOP_NO_COLOR gets a communicator that it is no member of, as does
 * who is no member of comm. A collective on comm, in its order and with its
 * deadline, then as hoop_comm_create() for each part.
 *
 * *out_comm as for hoop_comm_create(). MPI: MPI_Comm_split(); NCCL:
 * ncclCommSplit().
 *
 * Handle: as hoop_comm_create(), and HOOP_E_INVALID on every rank when one
 * gave a color below HOOP_NO_COLOR. Thread: as a collective on comm.
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_comm_split(hoop_comm_t *comm,
                int64_t color,
                int64_t key,
                hoop_comm_t **out_comm);

/*
 * Free a communicator and all it had. No call to the other members and no
 * waiting for them: each frees its own when it has ended its operations, and
 * what it sent before still arrives. What runs on comm ends with HOOP_E_CLOSED
 * and has still to be waited for, a collective with HOOP_E_PEER_LOST on those
 * who wait for this rank; what came for it and was not received is dropped.
 * NULL is fine; the world's belongs to its session and stays. MPI:
 * MPI_Comm_free(), ncclCommAbort().
 * Thread: any, when no other uses comm.
 */
HOOP_API void
hoop_comm_free(hoop_comm_t *comm);

HOOP_END

#endif
