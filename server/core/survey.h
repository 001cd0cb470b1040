/* core/survey.h - what operators see of jobs and members */

#ifndef CORE_SURVEY_H
#define CORE_SURVEY_H

#include "hoop/status.h"

#include "core/event.h"

struct cluster;
struct job;

/* Answer CLUSTER_JOBS (job is NULL) and CLUSTER_JOB. */
enum hoop_status
survey_jobs(struct cluster *cluster,
            struct job *job,
            const struct cluster_event *event);
enum hoop_status
survey_job(struct cluster *cluster,
           struct job *job,
           const struct cluster_event *event);

#endif
