/*
 * session/recovery.c - the survivors of a communicator agree and go on
 *
 * Only the coordinator decides who survives (server/core/vote.h). A shrink has
 * two steps. First the coordinator names the survivors and registers all of
 * them for a new communicator. Then they open it, which takes messages among
 * them and fails for some if another one dies. So each survivor tells the
 * coordinator how opening went, and they go on only if it succeeded for all;
 * otherwise they drop the new communicator and shrink again.
 */

#include "session/recovery.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hoop/elastic.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/interrupt.h"
#include "engine/engine.h"

/* What a member reports of the new communicator. */
enum {
    SHRINK_CONFIRM_OPENED = 1, /* it has opened it */
    SHRINK_CONFIRM_FINAL = 2,  /* shrinking again would not help */
};

static uint64_t
deadline_remaining_ms(uint64_t deadline_ns)
{
    const int left = clock_left_ms(deadline_ns);

    return left > 0 ? (uint64_t)left : 1;
}

/* Record which members of comm are not among the survivors. */
static enum hoop_status
comm_record_failed_ranks(struct hoop_comm *comm,
                         const struct group_agree_reply *reply)
{
    const uint32_t size = context_size(comm->context);
    struct comm_agreement_state *agreement = &comm->agreement;
    size_t n_survivors = 0;
    bool is_among = false;

    if (!agreement->failed)
        agreement->failed = calloc(size, sizeof(*agreement->failed));
    if (!agreement->failed)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for %u ranks", size);
    agreement->n_failed = 0;
    for (uint32_t rank = 0; rank < size; rank++) {
        if (n_survivors < reply->n_ranks &&
            reply->ranks[n_survivors] ==
                context_world_rank(comm->context, rank)) {
            n_survivors++;
            is_among |= rank == context_rank(comm->context);
        } else {
            agreement->failed[agreement->n_failed++] = rank;
        }
    }
    if (n_survivors != reply->n_ranks || !is_among)
        return error_raise(
            HOOP_E_DATA_LOSS, "the coordinator names survivors %s",
            is_among ? "that were no members" : "without this rank");
    return HOOP_OK;
}

static void
fault_injection_begin(struct hoop_comm *comm, const char *name)
{
    comm->agreement.n_shrink_tries = 1;
    comm->agreement.faults = recovery_fault_begin(comm->domain->engine, name);
}

static void
comm_fault_inject(const struct hoop_comm *comm, enum fault_point point)
{
    recovery_fault_inject(comm->domain->engine, comm->agreement.faults, point,
                          comm->agreement.n_shrink_tries);
}

/* Take part in one agreement. *out_registration is written for a shrink
 * only. */
static enum hoop_status
agreement_round_run(struct hoop_comm *comm,
                    struct group_client_proposal say,
                    uint64_t deadline_ns,
                    struct group_agree_reply *out_reply,
                    struct group_membership **out_registration)
{
    comm_fault_inject(comm, FAULT_AT_SEND);
    say.comm = context_id(comm->context);
    say.turn = comm->agreement.turns[say.kind] + 1;
    const enum hoop_status status = group_client_agree(
        comm->domain->group_client, &say, deadline_remaining_ms(deadline_ns),
        out_reply, out_registration);

    if (status != HOOP_OK)
        return error_pass(status);
    comm->agreement.turns[say.kind] = say.turn;
    comm_fault_inject(comm, FAULT_AT_RECEIVE);
    return HOOP_OK;
}

/* Report to the coordinator the ranks that were found lost here. Ranks that
 * have left this world are not reported: they may live in other worlds of the
 * job. */
static void
lost_ranks_report(struct hoop_comm *comm, uint64_t deadline_ns)
{
    const uint32_t size = context_size(comm->context);
    CLEANUP(free) bool *is_lost = calloc(size, sizeof(*is_lost));

    if (!is_lost)
        return;
    context_get_lost_members(comm->context, is_lost);
    for (uint32_t i = 0; i < size; i++) {
        const uint32_t rank = context_world_rank(comm->context, i);

        if (is_lost[i] && rank != comm->domain->roster->rank)
            group_client_report_lost(comm->domain->group_client, rank,
                                     deadline_remaining_ms(deadline_ns));
    }
}

/* Agree whether all survivors have opened comm. *out_again: shrink once
 * more. */
static enum hoop_status
shrunk_comm_confirm(struct hoop_comm *comm,
                    enum hoop_status opened,
                    uint64_t deadline_ns,
                    bool *out_again)
{
    CLEANUP(group_agree_reply_deinit) struct group_agree_reply reply = {0};
    const uint64_t final = status_is_loss(opened) || opened == HOOP_E_ABORTED
                               ? 0
                               : SHRINK_CONFIRM_FINAL;
    const struct group_client_proposal say = {
        .kind = GROUP_CONFIRM,
        .flags = opened == HOOP_OK
                     ? SHRINK_CONFIRM_OPENED | SHRINK_CONFIRM_FINAL
                     : final,
    };
    enum hoop_status status =
        agreement_round_run(comm, say, deadline_ns, &reply, NULL);

    /* The agreement was decided after its members had given up, and no longer
     * exists. */
    if (status == HOOP_E_PRECONDITION) {
        *out_again = true;
        return HOOP_OK;
    }
    if (status != HOOP_OK)
        return error_pass(status);
    *out_again = reply.n_ranks < context_size(comm->context) ||
                 !(reply.flags & SHRINK_CONFIRM_FINAL);
    if (*out_again || reply.flags & SHRINK_CONFIRM_OPENED)
        return HOOP_OK;
    return error_raise(HOOP_E_ABORTED,
                       "a survivor could not open the new communicator");
}

/* Open the communicator that the coordinator has registered. Either all
 * survivors keep it or none; *out_comm is NULL if they must shrink again. */
static enum hoop_status
shrunk_comm_open(struct hoop_comm *old,
                 const struct group_agree_reply *reply,
                 struct group_membership *group_membership,
                 uint64_t deadline_ns,
                 struct hoop_comm **out_comm)
{
    const struct rank_list list = {reply->ranks, (uint32_t)reply->n_ranks};
    struct hoop_comm *comm = NULL;
    char text[LIMIT_ERROR_TEXT] = "";
    bool is_again = false;

    const enum hoop_status opened = comm_open_registered(
        old->domain, &list, group_membership, deadline_ns, &comm);
    if (opened != HOOP_OK)
        snprintf(text, sizeof(text), "%s", error_text());
    if (!comm || !comm->context) {
        comm_leave_and_free(comm);
        return error_raise(opened, "%s", text);
    }
    if (opened != HOOP_OK)
        context_revoke(comm->context, text);
    comm->agreement.faults = old->agreement.faults;
    comm->agreement.n_shrink_tries = old->agreement.n_shrink_tries;
    const enum hoop_status status =
        shrunk_comm_confirm(comm, opened, deadline_ns, &is_again);
    if (status == HOOP_OK && !is_again) {
        comm->agreement.unfinished = reply->least;
        *out_comm = comm;
        return HOOP_OK;
    }
    if (*text == 0)
        snprintf(text, sizeof(text), "%s", error_text());
    comm_leave_and_free(comm);
    if (status == HOOP_OK) {
        *out_comm = NULL;
        return HOOP_OK;
    }
    return error_raise(opened == HOOP_OK ? status : opened, "%s", text);
}

/* Shrink once. *out_comm is NULL if it must be tried again. */
static enum hoop_status
comm_shrink_once(struct hoop_comm *comm,
                 uint64_t unfinished,
                 uint64_t deadline_ns,
                 struct hoop_comm **out_comm)
{
    CLEANUP(group_agree_reply_deinit) struct group_agree_reply reply = {0};
    const struct group_client_proposal say = {
        .kind = GROUP_SHRINK, .flags = UINT64_MAX, .least = unfinished};
    struct engine *engine = comm->domain->engine;
    struct group_membership *group_membership = NULL;

    engine_expect_context(engine);
    enum hoop_status status =
        agreement_round_run(comm, say, deadline_ns, &reply, &group_membership);
    if (status == HOOP_OK) {
        status = comm_record_failed_ranks(comm, &reply);
        if (status != HOOP_OK)
            group_client_leave(comm->domain->group_client, group_membership);
    }
    if (status != HOOP_OK) {
        engine_unexpect_context(engine);
        return error_pass(status);
    }
    status =
        shrunk_comm_open(comm, &reply, group_membership, deadline_ns, out_comm);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

/* A communicator of one rank is shrunk without the coordinator. */
static enum hoop_status
comm_shrink_single_rank(struct hoop_comm *comm,
                        uint64_t unfinished,
                        uint64_t deadline_ns,
                        struct hoop_comm **out_comm)
{
    const struct rank_list list = {&comm->domain->roster->rank, 1};
    const enum hoop_status status =
        comm_form(comm->domain, &list, deadline_ns, out_comm);

    if (status != HOOP_OK)
        return error_pass(status);
    (*out_comm)->agreement.unfinished = unfinished;
    return HOOP_OK;
}

static enum hoop_status
comm_shrink_with_retries(struct hoop_comm *comm,
                         uint64_t unfinished,
                         uint64_t deadline_ns,
                         struct hoop_comm **out_comm)
{
    struct hoop_comm *shrunk = NULL;

    for (unsigned n_shrink_tries = 0; !shrunk; n_shrink_tries++) {
        comm->agreement.n_shrink_tries = n_shrink_tries + 1;
        if (n_shrink_tries > 0)
            lost_ranks_report(comm, deadline_ns);
        if (clock_is_past(deadline_ns))
            return error_raise(HOOP_E_TIMEOUT,
                               "the survivors were not all there at one time, "
                               "in %u tries",
                               n_shrink_tries);
        const enum hoop_status status =
            comm_shrink_once(comm, unfinished, deadline_ns, &shrunk);

        if (status != HOOP_OK)
            return error_pass(status);
    }
    *out_comm = shrunk;
    return HOOP_OK;
}

enum hoop_status
comm_shrink(struct hoop_comm *comm,
            uint64_t deadline_ns,
            struct hoop_comm **out_comm)
{
    CLEANUP(cancel_release) const int held = cancel_hold();
    enum hoop_status status = engine_check_not_expelled(comm->domain->engine);

    if (status != HOOP_OK)
        return error_pass(status);
    fault_injection_begin(comm, "shrink");
    const uint64_t unfinished = context_revoke_if_failed(comm->context);
    if (context_size(comm->context) == 1) {
        status =
            comm_shrink_single_rank(comm, unfinished, deadline_ns, out_comm);
        return status == HOOP_OK ? HOOP_OK : error_pass(status);
    }
    context_watch(comm->context, CONTEXT_REVOKE_ON_LOSS);
    status = comm_shrink_with_retries(comm, unfinished, deadline_ns, out_comm);
    context_watch(comm->context, CONTEXT_NOT_WATCHED);
    if (status != HOOP_OK)
        return error_pass(status);
    comm_fault_inject(comm, FAULT_AT_END);
    return HOOP_OK;
}

enum hoop_status
comm_agree(struct hoop_comm *comm,
           uint64_t deadline_ns,
           uint64_t *flags,
           uint64_t *least)
{
    CLEANUP(cancel_release) const int held = cancel_hold();
    CLEANUP(group_agree_reply_deinit) struct group_agree_reply reply = {0};
    const struct group_client_proposal say = {
        .kind = GROUP_AGREE, .flags = *flags, .least = *least};
    enum hoop_status status = engine_check_not_expelled(comm->domain->engine);

    if (status != HOOP_OK)
        return error_pass(status);
    if (context_size(comm->context) == 1)
        return HOOP_OK;
    fault_injection_begin(comm, "agree");
    context_watch(comm->context, CONTEXT_WATCHED);
    status = agreement_round_run(comm, say, deadline_ns, &reply, NULL);
    context_watch(comm->context, CONTEXT_NOT_WATCHED);
    if (status == HOOP_OK)
        status = comm_record_failed_ranks(comm, &reply);
    if (status != HOOP_OK)
        return error_pass(status);
    comm_fault_inject(comm, FAULT_AT_END);
    *flags = reply.flags;
    *least = reply.least;
    return HOOP_OK;
}

enum hoop_status
comm_sync_survivors(struct hoop_comm *comm,
                    enum group_agree_kind kind,
                    uint64_t deadline_ns,
                    uint64_t *least)
{
    CLEANUP(group_agree_reply_deinit) struct group_agree_reply reply = {0};
    const struct group_client_proposal say = {.kind = kind, .least = *least};
    const enum hoop_status alive =
        engine_check_not_expelled(comm->domain->engine);

    if (alive != HOOP_OK)
        return error_pass(alive);
    if (kind == GROUP_GROW)
        fault_injection_begin(comm, "grow");
    /* The coordinator does not know communicators of one rank. */
    if (context_size(comm->context) == 1) {
        comm->agreement.turns[kind]++;
        return HOOP_OK;
    }
    context_watch(comm->context, CONTEXT_WATCHED);
    const enum hoop_status status =
        agreement_round_run(comm, say, deadline_ns, &reply, NULL);
    context_watch(comm->context, CONTEXT_NOT_WATCHED);
    if (status != HOOP_OK)
        return error_pass(status);
    if (reply.n_ranks < context_size(comm->context))
        return error_raise(HOOP_E_PEER_LOST,
                           "%zu of %u ranks are left: shrink it first",
                           reply.n_ranks, context_size(comm->context));
    *least = reply.least;
    return HOOP_OK;
}

/* The public calls. */

static uint64_t
comm_deadline_ns(const struct hoop_comm *comm)
{
    return clock_deadline_ns(context_timeout(comm->context));
}

enum hoop_status
hoop_comm_revoke(hoop_comm_t *comm)
{
    CLEANUP(cancel_release) const int held = cancel_hold();
    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!comm)
        return error_raise(HOOP_E_INVALID, "comm is NULL");
    if (!comm->context)
        return HOOP_OK;
    const enum hoop_status status =
        engine_check_not_forked(comm->domain->engine);
    if (status != HOOP_OK)
        return error_pass(status);
    context_revoke(comm->context, "by its program");
    return HOOP_OK;
}

enum hoop_status
hoop_comm_shrink(hoop_comm_t *comm, hoop_comm_t **out_comm)
{
    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!comm || !out_comm)
        return error_raise(HOOP_E_INVALID, "%s is NULL",
                           comm ? "out_comm" : "comm");
    const enum hoop_status status =
        comm->context ? comm_shrink(comm, comm_deadline_ns(comm), out_comm)
                      : comm_create_without_context(comm->domain, out_comm);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

uint64_t
hoop_comm_unfinished(const hoop_comm_t *comm)
{
    return comm ? comm->agreement.unfinished : 0;
}

enum hoop_status
hoop_comm_agree(hoop_comm_t *comm, uint64_t *flags)
{
    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!comm || !flags)
        return error_raise(HOOP_E_INVALID, "%s is NULL",
                           comm ? "flags" : "comm");
    uint64_t least = 0;
    if (!comm->context)
        return HOOP_OK;
    const enum hoop_status status =
        comm_agree(comm, comm_deadline_ns(comm), flags, &least);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static enum hoop_status
comm_failed_check_arguments(const struct hoop_comm *comm,
                            const uint32_t *ranks,
                            uint32_t capacity,
                            const uint32_t *out_n_ranks)
{
    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!comm || !out_n_ranks)
        return error_raise(HOOP_E_INVALID, "%s is NULL",
                           comm ? "out_n_ranks" : "comm");
    if (!ranks && capacity > 0)
        return error_raise(HOOP_E_INVALID, "ranks is NULL, for %u of them",
                           capacity);
    return HOOP_OK;
}

enum hoop_status
hoop_comm_failed(hoop_comm_t *comm,
                 uint32_t *ranks,
                 uint32_t capacity,
                 uint32_t *out_n_ranks)
{
    const uint32_t size = hoop_comm_size(comm);
    CLEANUP(free) bool *has_failed = calloc(size + 1, sizeof(*has_failed));
    uint32_t n_ranks = 0;

    const enum hoop_status status =
        comm_failed_check_arguments(comm, ranks, capacity, out_n_ranks);
    if (status != HOOP_OK)
        return error_pass(status);
    if (!has_failed)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for %u ranks", size);
    if (comm->context)
        context_get_failed_members(comm->context, has_failed);
    for (uint32_t rank = 0; rank < size; rank++) {
        if (!has_failed[rank])
            continue;
        if (n_ranks < capacity)
            ranks[n_ranks] = rank;
        n_ranks++;
    }
    *out_n_ranks = n_ranks;
    return HOOP_OK;
}

enum hoop_status
hoop_comm_failed_agreed(hoop_comm_t *comm,
                        uint32_t *ranks,
                        uint32_t capacity,
                        uint32_t *out_n_ranks)
{
    const enum hoop_status status =
        comm_failed_check_arguments(comm, ranks, capacity, out_n_ranks);

    if (status != HOOP_OK)
        return error_pass(status);
    const uint32_t n_failed = comm->agreement.n_failed;
    for (uint32_t i = 0; i < n_failed && i < capacity; i++)
        ranks[i] = comm->agreement.failed[i];
    *out_n_ranks = n_failed;
    return HOOP_OK;
}
