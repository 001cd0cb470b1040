/* session/activity_details.c - encodes what a rank tells beyond its call */

#include "session/activity_details.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/process.h"
#include "rpc/messages/status_messages.h"
#include "session/program_stack.h"
#include "wire/pack.h"

/* Describe the processes of the ranks that the engine has named. It takes 10 to
 * 20 us a process and thread, and more if it has to wait for a processor, which
 * the progress owner shall not spend. */
static void
processes_look(const struct roster *roster,
               const struct engine_activity *activity,
               struct rank_process *out_processes)
{
    for (size_t i = 0; i < activity->details.n_processes; i++) {
        const uint32_t rank = activity->process_ranks[i];
        struct process_glance glance;

        process_look(roster->members[rank].pid, &glance);
        out_processes[i] = (struct rank_process){
            .rank = rank,
            .state = (uint32_t)(unsigned char)glance.state,
            .swapped_kib = glance.swapped_kib,
        };
        snprintf(out_processes[i].where, sizeof(out_processes[i].where), "%s",
                 glance.where);
    }
}

enum hoop_status
activity_details_pack(const struct roster *roster,
                      const struct engine_activity *activity,
                      uint8_t **out_bytes,
                      size_t *out_n_bytes)
{
    struct rank_process processes[LIMIT_ACTIVITY_PROCESSES];
    struct activity_details details = activity->details;
    char stack[LIMIT_PROGRAM_STACK];
    CLEANUP(pack_deinit) struct pack pack = {0};

    processes_look(roster, activity, processes);
    program_stack_copy(stack);
    details.processes = processes;
    /* These lists are read, never written. */
    details.waits = (struct rank_wait *)activity->waits;
    details.recent_waits = (struct rank_wait *)activity->recent_waits;
    details.askers = (struct rank_asker *)activity->askers;
    details.stack =
        (struct message_span){(const uint8_t *)stack, strlen(stack) + 1};
    pack_init(&pack, LIMIT_ACTIVITY_DETAILS);
    activity_details_encode(&details, &pack);
    const enum hoop_status status = pack_take(&pack, out_bytes, out_n_bytes);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
activity_end_pack(struct engine *engine,
                  uint8_t **out_bytes,
                  size_t *out_n_bytes)
{
    struct activity_details details;
    CLEANUP(pack_deinit) struct pack pack = {0};

    engine_describe_end(engine, &details);
    if (details.failure_status == HOOP_OK)
        return HOOP_OK;
    pack_init(&pack, LIMIT_ACTIVITY_DETAILS);
    activity_details_encode(&details, &pack);
    const enum hoop_status status = pack_take(&pack, out_bytes, out_n_bytes);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}
