/* hoopctl/status.c - hoopctl status: shows the coordinator and its jobs */

#include <stdio.h>

#include "hoopctl/command.h"
#include "hoopctl/json.h"
#include "hoopctl/shown.h"

static json_t *
job_json(const struct hoop_control_job *job)
{
    return json_pack("{so so so so so so so so}", "name", json_text(job->name),
                     "state", json_text(job->state), "epoch",
                     json_number(job->epoch), "size", json_number(job->size),
                     "members", json_number(job->n_members), "lost",
                     json_number(job->n_lost), "left", json_number(job->n_left),
                     "age_ms", json_number(job->age_ms));
}

static void
json_show(const hoop_control_t *control,
          const struct hoop_control_overview *overview)
{
    json_t *jobs = json_array();

    for (size_t i = 0; i < overview->n_jobs; i++)
        json_array_append_new(jobs, job_json(&overview->jobs[i]));
    json_print(json_pack("{ss so so so so}", "coordinator",
                         hoop_control_coordinator(control), "version",
                         json_text(overview->version), "serving",
                         json_text(overview->serving), "uptime_ms",
                         json_number(overview->uptime_ms), "jobs", jobs));
}

static void
table_show(const hoop_control_t *control,
           const struct hoop_control_overview *overview)
{
    struct shown version;
    struct shown serving;

    printf("hoopd %s at %s, %s for %.1f s\n", show(overview->version, &version),
           hoop_control_coordinator(control), show(overview->serving, &serving),
           (double)overview->uptime_ms / 1000);
    if (overview->n_jobs == 0) {
        printf("no jobs\n");
        return;
    }
    printf("%-24s %-8s %8s %6s %8s %5s %5s %10s\n", "JOB", "STATE", "EPOCH",
           "SIZE", "MEMBERS", "LOST", "LEFT", "AGE");
    for (size_t i = 0; i < overview->n_jobs; i++) {
        const struct hoop_control_job *job = &overview->jobs[i];
        struct shown name;
        struct shown state;

        printf("%-24s %-8s %8llu %6u %8u %5u %5u %8.1f s\n",
               show(job->name, &name), show(job->state, &state),
               (unsigned long long)job->epoch, job->size, job->n_members,
               job->n_lost, job->n_left, (double)job->age_ms / 1000);
    }
}

enum hoop_status
status_run(const struct command_call *call)
{
    const struct hoop_control_overview *overview = NULL;

    const enum hoop_status status =
        hoop_control_status(call->control, &overview);
    if (status != HOOP_OK)
        return status;
    if (call->format == COMMAND_JSON)
        json_show(call->control, overview);
    else
        table_show(call->control, overview);
    return HOOP_OK;
}
