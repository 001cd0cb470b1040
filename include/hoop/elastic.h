/* hoop/elastic.h - what is left to do when ranks die: agree, shrink, go on
 *
 * A call that needs a rank that is lost fails on all who wait for it, with a
 * text that names it. A program that wants to go on gathers its survivors: they
 * shrink the communicator and get a new one, of those that are left, in the same
 * order. Who is left is decided by the coordinator, once for all: two halves of a
 * job that cannot reach each other never both go on. While the coordinator is
 * away these calls wait for it, until their deadline.
 *
 *     while (hoop_allreduce(..., comm) != HOOP_OK) {
 *         if (hoop_comm_shrink(comm, &smaller) != HOOP_OK)
 *             return failure();
 *         hoop_comm_free(comm);
 *         comm = smaller;
 *     }
 *
 * One rank may have finished a collective that another could not:
 * hoop_comm_unfinished() says from where all have to begin again, and
 * hoop_comm_agree() makes sure where it matters.
 *
 * On a communicator that the caller is no member of, all of these return
 * HOOP_OK and do nothing.
 */

#ifndef HOOP_ELASTIC_H
#define HOOP_ELASTIC_H

#include <stdint.h>

#include "hoop/api.h"
#include "hoop/comm.h"
#include "hoop/status.h"

HOOP_BEGIN

/*
 * Interrupt comm on all its members: what runs on it ends, and what is called on
 * it from now on fails, with HOOP_E_PEER_LOST where a member is lost, else with
 * HOOP_E_ABORTED. For a rank that will not go on with what the others still wait
 * for. One rank calls it, the others are told over their connections; it does
 * not wait for them. Then comm can be agreed on, shrunk and freed. ULFM:
 * MPIX_Comm_revoke(); NCCL: ncclCommAbort(), which frees it, too.
 * Handle: HOOP_E_INVALID (NULL). Thread: any.
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_comm_revoke(hoop_comm_t *comm);

/*
 * A communicator of those members of comm that are left, in the order of comm.
 * All that are left call it. If a member is lost or a call on comm has failed,
 * whoever still waits for something on comm is interrupted as by
 * hoop_comm_revoke(), so that it can; then comm is good for hoop_comm_agree(),
 * hoop_comm_failed(), another shrink and hoop_comm_free(), and else for all as
 * before. It returns when all have called that are neither lost nor have left.
 * Who dies meanwhile is left out, too. The world's communicator can be shrunk,
 * and stays until hoop_leave().
 *
 * *out_comm is the caller's, as hoop_comm_create()'s; its operations are counted
 * from new, and nothing that was sent on comm can reach it. ULFM:
 * MPIX_Comm_shrink(); NCCL: ncclCommShrink().
 *
 * Handle: HOOP_E_INVALID (NULL), HOOP_E_TIMEOUT (comm's deadline; the text names
 * who has not called), HOOP_E_ABORTED (the caller has itself been declared lost,
 * why; or a member could not open the new one), HOOP_E_UNAVAILABLE (no
 * coordinator). After a failure it may be called again, if the others do.
 * Thread: as a collective on comm.
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_comm_shrink(hoop_comm_t *comm, hoop_comm_t **out_comm);

/*
 * Of a communicator that hoop_comm_shrink() made: the number, as errors name it,
 * of the first collective of the old one that not all of the survivors have
 * finished; if all have finished all, that of the next. The same on all. 0: it
 * was not made so. Thread: any.
 */
HOOP_API uint64_t
hoop_comm_unfinished(const hoop_comm_t *comm);

/*
 * What all agree on, whoever dies meanwhile: *flags becomes the bitwise and of
 * the flags of all members that are left when the last of them has called, the
 * same on all to whom it returns HOOP_OK, and so is hoop_comm_failed_agreed().
 * Those that are left call it, also on a communicator that has failed or was
 * revoked; it interrupts nobody. Not in the order of comm's collectives. ULFM:
 * MPIX_Comm_agree().
 *
 * Handle: HOOP_E_INVALID (NULL), HOOP_E_TIMEOUT (comm's deadline; the text names
 * who has not called; then call again: where the others have agreed meanwhile, it
 * returns what they have, else flags count as they are then), HOOP_E_ABORTED (the
 * caller has been declared lost), HOOP_E_UNAVAILABLE (no coordinator). *flags is
 * written on success only. Thread: as a collective on comm.
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_comm_agree(hoop_comm_t *comm, uint64_t *flags);

/*
 * Ranks of comm that are lost or have left, as far as is known here, in ascending
 * order: as many as there is room for. *out_n_ranks: how many there are. ranks
 * may be NULL if capacity is 0. ULFM: MPIX_Comm_get_failed(),
 * MPIX_Comm_failure_ack().
 * Handle: HOOP_E_INVALID (NULL), HOOP_E_EXHAUSTED. Thread: any.
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_comm_failed(hoop_comm_t *comm,
                 uint32_t *ranks,
                 uint32_t capacity,
                 uint32_t *out_n_ranks);

/*
 * The same as the last hoop_comm_agree() or hoop_comm_shrink() of comm found it
 * that returned HOOP_OK: alike on all members. None before. ULFM:
 * MPIX_Comm_failure_get_acked(). Thread: as a collective on comm.
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_comm_failed_agreed(hoop_comm_t *comm,
                        uint32_t *ranks,
                        uint32_t capacity,
                        uint32_t *out_n_ranks);

/*
 * Take in newcomers: workers that call hoop_join() on the job while its members
 * are in this call, or before, where the job has lost some, or has fewer ranks
 * than its world size allows: they wait, until their join's deadline, for the
 * members to grow. All members of comm call it, and all of them must be left
 * (shrink before). Members and newcomers form a communicator, and a world, of a
 * new epoch: members first, with the ranks that they have in comm, then up to
 * n_newcomers others (the least that a member asks for), as soon as they are there,
 * or after timeout_ms (the shortest of the members') with those that are, if there
 * is one. A job may grow beyond the world size that it began with. A newcomer that
 * asks for a rank (HOOP_RANK) gets it if it is behind the members' and free; else
 * its join is refused: HOOP_E_EXISTS, or HOOP_E_INVALID where there will be no such
 * rank. A rank that only a launcher gave it is a preference. A newcomer that dies
 * before leaves its place to another. To newcomers it is their hoop_world(). comm
 * can still be used, and freed. Who joins a job of full size before its members grow, or
 * before the coordinator has heard of a loss, finds it full (HOOP_E_PRECONDITION), and
 * may join again.
 *
 * *out_comm is the caller's, who gives it to hoop_comm_free(); hoop_leave() frees
 * what is left. It has connections, a thread and a session of its own, for
 * hoop_comm_create() and hoop_group_create(), see hoop_comm_session(); these end
 * when it is freed, and with it what was shrunk or otherwise made of it, or the
 * caller's session is left. The job has its name for as long as somebody is in it,
 * one of the first members or a newcomer: until then no other job can have it, and
 * newcomers find it. torch: torchrun's
 * rendezvous with --nnodes=MIN:MAX; MPI: MPI_Comm_spawn(), MPI_Intercomm_merge().
 *
 * Handle: HOOP_E_INVALID (NULL, 0, too many), HOOP_E_TIMEOUT (nobody has come, or a
 * member has not called), HOOP_E_PEER_LOST (a member of comm is), HOOP_E_ABORTED
 * (the caller has been declared lost; or a member shrinks comm: so must all, and
 * nobody has grown), HOOP_E_UNAVAILABLE (no coordinator). Then it may be called
 * again by all. Thread: as a collective on comm.
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_comm_grow(hoop_comm_t *comm,
               uint32_t n_newcomers,
               uint32_t timeout_ms,
               hoop_comm_t **out_comm);

/*
 * The session whose ranks hoop_comm_world_rank() tells of: the caller's, or that
 * of a communicator that hoop_comm_grow() made, and of those made of it, which
 * ends with the last of these and is not to be left. NULL: of no session.
 * Thread: any.
 */
HOOP_API hoop_session_t *
hoop_comm_session(const hoop_comm_t *comm);

/*
 * With HOOP_ON_FAILURE=retry, which all ranks of a job say or none, these calls
 * do it themselves: hoop_allreduce(), hoop_reduce(), hoop_broadcast(),
 * hoop_allgather(), hoop_reduce_scatter(), their v-forms, hoop_barrier(). When a
 * rank is lost, comm stands for the survivors from then on, with new ranks and
 * another size, also where it is hoop_world(); and the call ends well on all of
 * them, or with the same status:
 *
 * - as if it had been called by the survivors alone, with the inputs that they
 *   gave it, also in place: what is gathered is packed, blocks for the lost are
 *   left out, and a root is the rank that it was, by its new number;
 * - or, where all survivors had finished it, as it was, with the lost rank's
 *   input in it, and its block among those gathered;
 * - HOOP_E_PEER_LOST, where the root is lost and they had not. The next call
 *   goes on without it.
 *
 * Each call costs an allreduce of 8 bytes more, and a copy of the input when it is
 * in place, in memory that comm keeps. An interrupted one waits until all
 * survivors have made a call of these on comm. Their _start forms are
 * HOOP_E_UNIMPLEMENTED. All other calls fail as ever; after one of them, any of
 * these, hoop_barrier() say, brings the survivors together. Do not revoke or
 * shrink comm meanwhile, and have one thread at a time on it, messages too.
 *
 * Survivors who wait for one that has not called by comm's deadline get
 * HOOP_E_TIMEOUT, and the call is over: who makes it later gets that too, from
 * each that the others have given up meanwhile, and is in the same call as they
 * are then. So all may make it again, or go on; never some this and some that:
 * a late one may get it for a call that the others have finished, so agree first.
 * One that has called, but is not told by its deadline that the others go on
 * (an answer of the coordinator was lost), may be left out by them, and they by
 * it: hoop_comm_contributors() names each side's own.
 *
 * This one tells the ranks, as the world's were numbered at first, whose inputs
 * are in the result of the last of these calls that returned HOOP_OK, in the
 * order of comm: the same on all that returned from it. Before the first, and
 * without that setting: the members. As many as there is room for; *out_n_ranks:
 * how many there are. ranks may be NULL if capacity is 0.
 *
 * Handle: HOOP_E_INVALID (NULL). Thread: as a collective on comm.
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_comm_contributors(hoop_comm_t *comm,
                       uint32_t *ranks,
                       uint32_t capacity,
                       uint32_t *out_n_ranks);

HOOP_END

#endif
