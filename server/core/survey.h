/* core/survey.h - what operators see of jobs and members */

#ifndef CORE_SURVEY_H
#define CORE_SURVEY_H

#include "hoop/status.h"

#include "core/event.h"

struct cluster;
struct cluster_reply;
struct job;

/* Answer CLUSTER_JOBS (job is NULL), answer or park CLUSTER_JOB. */
enum hoop_status
survey_jobs(struct cluster *cluster,
            struct job *job,
            const struct cluster_event *event);
enum hoop_status
survey_job(struct cluster *cluster,
           struct job *job,
           const struct cluster_event *event);

/* Describe in reply the job of world: its members are those of that world, all else
 * is the job's, unless world has not formed. Without activities. */
void
survey_fill(struct cluster *cluster,
            struct job *world,
            enum cluster_view view,
            struct cluster_reply *reply);

#endif
