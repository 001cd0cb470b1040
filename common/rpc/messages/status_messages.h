/*
 * rpc/messages/status_messages.h - bodies of operators' requests
 *
 * Those of hoop.v1.Health/Check, Status/Jobs, Status/Job and
 * Rendezvous/Members.
 */

#ifndef RPC_MESSAGES_STATUS_MESSAGES_H
#define RPC_MESSAGES_STATUS_MESSAGES_H

#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

#include "base/limits.h"
#include "base/rank_totals.h"
#include "rpc/messages/message.h"

/* The numbers are those of gRPC. */
enum health_serving {
    HEALTH_UNKNOWN = 0,
    HEALTH_SERVING = 1,
    HEALTH_NOT_SERVING = 2,     /* draining, or it cannot write its data */
    HEALTH_SERVICE_UNKNOWN = 3, /* no such service */
};

/* Check: "" asks for the whole coordinator. Needs neither job nor token. */
struct health_request {
    char service[LIMIT_NAME];
};
MESSAGE(health_request, FIELD(service))

struct health_reply {
    uint32_t serving; /* enum health_serving */
};
MESSAGE(health_reply, FIELD(serving))

struct job_summary {
    char name[LIMIT_NAME];
    char state[LIMIT_NAME]; /* "forming", "running", "ended" */
    uint64_t epoch;         /* epoch of the world; 0: none has formed */
    uint32_t size;          /* size of the world; while forming, the requested
                           size or 0 */
    uint32_t n_members;     /* joining or active */
    uint32_t n_lost;
    uint32_t n_left;
    uint64_t age_ms; /* time since the job's first join; ended: time since
                        its end */
};
MESSAGE(job_summary,
        FIELD(name),
        FIELD(state),
        FIELD(epoch),
        FIELD(size),
        FIELD(n_members),
        FIELD(n_lost),
        FIELD(n_left),
        FIELD(age_ms))

/* Jobs: the request has no body. */
struct jobs_reply {
    char version[LIMIT_NAME]; /* version of the coordinator */
    uint64_t uptime_ms;
    uint32_t serving; /* enum health_serving */
    size_t n_jobs;
    struct job_summary *jobs; /* living jobs, oldest first, then ended jobs */
    uint64_t clock_ms;        /* the coordinator's clock, since 1970; 0: not
                              sent */
};
MESSAGE(jobs_reply,
        FIELD(version),
        FIELD(uptime_ms),
        FIELD(serving),
        FIELD_STRUCTS(jobs, n_jobs, job_summary, LIMIT_JOBS + LIMIT_ENDED_JOBS),
        OPTIONAL(1),
        FIELD(clock_ms))

struct job_member {
    uint32_t rank; /* RENDEZVOUS_RANK_ANY: not assigned yet */
    uint32_t pid;
    uint64_t incarnation;
    char host[LIMIT_NAME];
    char address[LIMIT_ADDRESS];
    char state[LIMIT_NAME];    /* "joining", "active", "left", "lost" */
    uint64_t lease_left_ms;    /* joining: time until the join deadline */
    uint64_t pid_namespace_id; /* as in the join; 0 from an older coordinator */
    char reason[LIMIT_ERROR_TEXT]; /* why the member is lost; "" from an
                                      older coordinator */
    /* Revision of the change in which the member reported its own failure; 0:
     * none, or an older coordinator. */
    uint64_t given_up_revision;
};
MESSAGE(job_member,
        FIELD(rank),
        FIELD(pid),
        FIELD(incarnation),
        FIELD(host),
        FIELD(address),
        FIELD(state),
        FIELD(lease_left_ms),
        OPTIONAL(1),
        FIELD(pid_namespace_id),
        OPTIONAL(1),
        FIELD(reason),
        OPTIONAL(1),
        FIELD(given_up_revision))

/* Which call a rank is in, as the rank reports it. */
struct rank_activity {
    char silence
        [LIMIT_REPORT_REASON]; /* why the rank has not answered; "": it has */
    char call
        [LIMIT_REPORT_REASON]; /* the call that has waited longest, as "allreduce #7
                           (float32, 4 elements, sum)"; "": the rank is in no
                           call */
    char communicator
        [LIMIT_NAME]; /* communicator of the call, as the program names it,
                         or "" */
    char waits_for[LIMIT_REPORT_REASON]; /* "rank 2 (host:pid) to send (...)" */
    uint64_t number;  /* number of the call, as in its text; 0: none */
    uint64_t age_ms;  /* time since the call began */
    uint32_t n_calls; /* calls that wait, including this one */
};
MESSAGE(rank_activity,
        FIELD(silence),
        FIELD(call),
        FIELD(communicator),
        FIELD(waits_for),
        FIELD(number),
        FIELD(age_ms),
        FIELD(n_calls))

/* What a rank has done since it joined, see base/rank_totals.h. */
MESSAGE(rank_totals,
        FIELD(calls),
        FIELD(bytes_sent),
        FIELD(bytes_received),
        FIELD(wait_collective_us),
        FIELD(wait_message_us),
        FIELD(wait_forming_us),
        FIELD(join_us),
        FIELD(failures_timeout),
        FIELD(failures_lost),
        FIELD(failures_mismatch),
        FIELD(failures_cancelled),
        FIELD(failures_other))

/* Job and Members: the job is in the metadata. The body may be missing. */
struct job_request {
    uint32_t is_brief; /* nonzero: the reply has no members */
    uint32_t asks;     /* nonzero: ask all ranks which call they are in */
    uint32_t totals;   /* nonzero: the reply has what each rank has done */
};
MESSAGE(job_request,
        OPTIONAL(1),
        FIELD(is_brief),
        OPTIONAL(1),
        FIELD(asks),
        OPTIONAL(1),
        FIELD(totals))

struct job_reply {
    struct job_summary line;
    uint64_t membership_epoch;
    uint64_t revision;
    uint64_t n_groups;
    uint64_t n_keys;
    uint64_t n_store_bytes;
    uint64_t n_waiters; /* parked requests */
    size_t n_members;
    struct job_member *members; /* in the order of ranks; while forming, in
                                   the order of arrival */
    /* Set while the job forms; an older coordinator does not send them. */
    uint32_t size_min; /* smallest size to form with; 0: not known */
    char missing[LIMIT_REPORT_REASON]; /* "ranks 0, 3", "2 more workers" */
    char hosts[LIMIT_REPORT_REASON];   /* hosts of its members, as "a, b" */
    /* [n_members]; NULL: the ranks were not asked. */
    struct rank_activity *activities;
    /* [n_members]; NULL: not requested. */
    struct rank_totals *totals;
};
MESSAGE(
    job_reply,
    FIELD_STRUCT(line, job_summary),
    FIELD(membership_epoch),
    FIELD(revision),
    FIELD(n_groups),
    FIELD(n_keys),
    FIELD(n_store_bytes),
    FIELD(n_waiters),
    FIELD_STRUCTS(members, n_members, job_member, LIMIT_RANKS),
    OPTIONAL(3),
    FIELD(size_min),
    FIELD(missing),
    FIELD(hosts),
    OPTIONAL(1),
    FIELD_STRUCTS_PARALLEL(activities, n_members, rank_activity, LIMIT_RANKS),
    OPTIONAL(1),
    FIELD_STRUCTS_PARALLEL(totals, n_members, rank_totals, LIMIT_RANKS))

#endif
