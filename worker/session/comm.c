/*
 * session/comm.c - form, query and free communicators
 *
 * The id is the same on all members and never reused; no member knows it until
 * all have joined. From before the answer to a join until the context is open,
 * the engine keeps what faster members send.
 */

#include "session/comm.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hoop/session.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/interrupt.h"
#include "select/shm_region_forming.h"

/* The name of this host, and an id that tells whether two hosts are one. */

enum {
    BOOT_ID_BYTES = 36, /* a UUID as text */
};

void
host_name(char out_name[LIMIT_NAME])
{
    if (gethostname(out_name, LIMIT_NAME) != 0 || !out_name[0])
        snprintf(out_name, LIMIT_NAME, "unknown");
    out_name[LIMIT_NAME - 1] = '\0';
}

/* The kernel's boot id or, if that cannot be read, the host's name. */
static void
boot_id_or_host_name_read(char out_id[LIMIT_NAME])
{
    const int fd =
        open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t n = 0;

    if (fd >= 0) {
        n = read(fd, out_id, BOOT_ID_BYTES);
        close(fd);
    }
    if (n == BOOT_ID_BYTES)
        out_id[BOOT_ID_BYTES] = '\0';
    else
        host_name(out_id);
}

void
host_id(const char *node, char out_id[LIMIT_NAME])
{
    char boot_id[LIMIT_NAME];
    struct stat space;

    if (node[0]) {
        snprintf(out_id, LIMIT_NAME, "%s", node);
        return;
    }
    boot_id_or_host_name_read(boot_id);
    if (stat("/proc/self/ns/net", &space) != 0)
        space.st_ino = 0;
    snprintf(out_id, LIMIT_NAME, "%.100s/%lu", boot_id,
             (unsigned long)space.st_ino);
}

/* Query, form and free communicators. */

uint32_t
hoop_comm_rank(const hoop_comm_t *comm)
{
    return hoop_comm_is_member(comm) ? context_rank(comm->context)
                                     : HOOP_NO_RANK;
}

uint32_t
hoop_comm_size(const hoop_comm_t *comm)
{
    return hoop_comm_is_member(comm) ? context_size(comm->context) : 0;
}

bool
hoop_comm_is_member(const hoop_comm_t *comm)
{
    return comm && comm->context;
}

uint32_t
hoop_comm_world_rank(const hoop_comm_t *comm, uint32_t rank)
{
    return rank < hoop_comm_size(comm) ? context_world_rank(comm->context, rank)
                                       : HOOP_NO_RANK;
}

static const struct member *
comm_roster_member(const hoop_comm_t *comm, uint32_t rank)
{
    return &comm->domain->roster->members[hoop_comm_world_rank(comm, rank)];
}

const char *
hoop_comm_host(const hoop_comm_t *comm, uint32_t rank)
{
    return rank < hoop_comm_size(comm) ? comm_roster_member(comm, rank)->host
                                       : NULL;
}

uint32_t
hoop_comm_node(const hoop_comm_t *comm, uint32_t rank)
{
    uint32_t lowest = 0;

    if (rank >= hoop_comm_size(comm))
        return HOOP_NO_RANK;
    while (strcmp(comm_roster_member(comm, lowest)->host_id,
                  comm_roster_member(comm, rank)->host_id) != 0)
        lowest++;
    return lowest;
}

void
hoop_comm_set_timeout(hoop_comm_t *comm, uint32_t timeout_ms)
{
    if (!hoop_comm_is_member(comm))
        return;
    const uint32_t most_ms = comm->session_timeout_ms;
    const uint32_t used_ms =
        timeout_ms > 0 && timeout_ms < most_ms ? timeout_ms : most_ms;

    context_set_timeout(comm->context, used_ms);
    if (comm->is_world)
        comm->domain->forming_timeout_ms = used_ms;
}

enum hoop_status
hoop_comm_set_name(hoop_comm_t *comm, const char *name)
{
    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!comm || !name)
        return error_raise(HOOP_E_INVALID, "%s is NULL",
                           comm ? "name" : "comm");
    const size_t n_bytes = strlen(name);
    if (n_bytes == 0 || n_bytes > COMM_NAME_BYTES_MAX)
        return error_raise(HOOP_E_INVALID,
                           "the name of a communicator has 1 to %d bytes, not "
                           "%zu",
                           COMM_NAME_BYTES_MAX, n_bytes);
    for (size_t i = 0; i < n_bytes; i++) {
        if ((unsigned char)name[i] < ' ' || name[i] == 127)
            return error_raise(HOOP_E_INVALID,
                               "byte %zu of the communicator's name is a "
                               "control character",
                               i);
    }
    if (hoop_comm_is_member(comm))
        context_set_name(comm->context, name);
    return HOOP_OK;
}

enum hoop_status
comm_create_without_context(struct comm_domain *domain,
                            struct hoop_comm **out_comm)
{
    struct hoop_comm *comm = calloc(1, sizeof(*comm));

    if (!comm)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for a communicator");
    comm->domain = domain;
    comm->session_timeout_ms = domain->config->op_timeout_ms;
    pthread_mutex_lock(&domain->lock);
    TAILQ_INSERT_TAIL(&domain->comms, comm, link);
    pthread_mutex_unlock(&domain->lock);
    *out_comm = comm;
    return HOOP_OK;
}

static enum hoop_status
comm_context_open(struct hoop_comm *comm, const struct rank_list *list)
{
    const struct comm_domain *domain = comm->domain;
    struct context_options options = {
        .id = comm->group_membership->id,
        .size = list->n_ranks,
        .ranks = list->ranks,
        .timeout_ms = domain->config->op_timeout_ms,
    };

    while (list->ranks[options.rank] != domain->roster->rank)
        options.rank++;
    return context_open(domain->engine, &options, &comm->context);
}

/* Open the context of a communicator that has its group membership. */
static enum hoop_status
comm_setup_resources(struct hoop_comm *comm,
                     const struct rank_list *list,
                     uint64_t deadline_ns)
{
    const struct comm_domain *domain = comm->domain;

    enum hoop_status status = comm_context_open(comm, list);
    if (status == HOOP_OK)
        status =
            shm_region_negotiate(domain->engine, comm->context, domain->roster,
                                 domain->config, deadline_ns);
    if (status == HOOP_OK)
        status = tuning_agree(domain->tuner, comm->context, deadline_ns,
                              &comm->tuning);
    if (status != HOOP_OK)
        return error_pass(status);
    context_mark_formed(comm->context);
    return HOOP_OK;
}

static enum hoop_status
comm_register_and_setup(struct hoop_comm *comm,
                        const struct rank_list *list,
                        uint64_t deadline_ns)
{
    const struct comm_domain *domain = comm->domain;
    const int left_ms = clock_left_ms(deadline_ns);

    engine_expect_context(domain->engine);
    enum hoop_status status = group_client_join(
        domain->group_client, list, left_ms > 0 ? (uint64_t)left_ms : 1,
        &comm->group_membership);
    if (status != HOOP_OK) {
        engine_unexpect_context(domain->engine);
        return error_pass(status);
    }
    status = comm_setup_resources(comm, list, deadline_ns);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
comm_open_registered(struct comm_domain *domain,
                     const struct rank_list *list,
                     struct group_membership *group_membership,
                     uint64_t deadline_ns,
                     struct hoop_comm **out_comm)
{
    enum hoop_status status = comm_create_without_context(domain, out_comm);

    if (status != HOOP_OK) {
        *out_comm = NULL;
        engine_unexpect_context(domain->engine);
        group_client_leave(domain->group_client, group_membership);
        return error_pass(status);
    }
    (*out_comm)->group_membership = group_membership;
    status = comm_setup_resources(*out_comm, list, deadline_ns);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
comm_form(struct comm_domain *domain,
          const struct rank_list *list,
          uint64_t deadline_ns,
          struct hoop_comm **out_comm)
{
    CLEANUP(cancel_release) const int held = cancel_hold();
    struct hoop_comm *comm = NULL;

    enum hoop_status status = engine_check_not_expelled(domain->engine);
    if (status == HOOP_OK)
        status = comm_create_without_context(domain, &comm);
    if (status != HOOP_OK)
        return error_pass(status);
    const uint64_t began_ns = clock_now_ns();
    status = comm_register_and_setup(comm, list, deadline_ns);
    engine_count_wait(domain->engine, ENGINE_WAIT_FORMING,
                      clock_now_ns() - began_ns);
    if (status != HOOP_OK) {
        char text[LIMIT_ERROR_TEXT];

        snprintf(text, sizeof(text), "%s", error_text());
        comm_leave_and_free(comm);
        return error_raise(status, "%s", text);
    }
    *out_comm = comm;
    return HOOP_OK;
}

enum hoop_status
rank_list_check(const struct roster *roster, const struct rank_list *list)
{
    CLEANUP(free) bool *is_named = calloc(roster->size, sizeof(*is_named));

    if (!is_named)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for %u ranks",
                           roster->size);
    for (uint32_t i = 0; i < list->n_ranks; i++) {
        const uint32_t rank = list->ranks[i];

        if (rank >= roster->size)
            return error_raise(HOOP_E_INVALID,
                               "ranks[%u] is %u, but the world has %u ranks", i,
                               rank, roster->size);
        if (is_named[rank])
            return error_raise(HOOP_E_INVALID,
                               "ranks[%u] is %u, which stands there twice", i,
                               rank);
        is_named[rank] = true;
    }
    return HOOP_OK;
}

/* Free everything but the context. */
static void
comm_free_except_context(struct hoop_comm *comm)
{
    tuning_destroy(comm->tuning);
    free(comm->agreement.failed);
    free(comm->retry.contributors);
    free(comm->retry.kept);
    free(comm);
}

void
comm_leave_and_free(struct hoop_comm *comm)
{
    struct comm_domain *domain = comm->domain;

    pthread_mutex_lock(&domain->lock);
    TAILQ_REMOVE(&domain->comms, comm, link);
    pthread_mutex_unlock(&domain->lock);
    if (comm->context)
        context_close(comm->context);
    group_client_leave(domain->group_client, comm->group_membership);
    comm_free_except_context(comm);
}

void
comm_replace_with_shrunk(struct hoop_comm *comm, struct hoop_comm *shrunk)
{
    const struct hoop_comm old = *comm;
    char name[LIMIT_NAME];

    context_set_timeout(shrunk->context, context_timeout(comm->context));
    context_copy_name(comm->context, name);
    context_set_name(shrunk->context, name);
    comm->context = shrunk->context;
    comm->tuning = shrunk->tuning;
    comm->group_membership = shrunk->group_membership;
    comm->agreement = shrunk->agreement;
    comm->cached_request = (struct comm_cached_request){0};
    shrunk->context = old.context;
    shrunk->tuning = old.tuning;
    shrunk->group_membership = old.group_membership;
    shrunk->agreement = old.agreement;
    comm_leave_and_free(shrunk);
}

void
comms_destroy(struct comm_domain *domain)
{
    struct hoop_comm *comm;

    while ((comm = TAILQ_FIRST(&domain->comms))) {
        TAILQ_REMOVE(&domain->comms, comm, link);
        free(comm->group_membership);
        comm_free_except_context(comm);
    }
    pthread_mutex_destroy(&domain->lock);
}
