/* service/job_metrics_write.h - what jobs have done, in Prometheus' text
 * format */

#ifndef SERVICE_JOB_METRICS_WRITE_H
#define SERVICE_JOB_METRICS_WRITE_H

#include <stddef.h>
#include <stdio.h>

#include "core/job_metrics.h"

/* Write the series of these jobs and hosts. Thread: any. */
void
job_metrics_write(const struct job_metrics_row *rows, size_t n_rows, FILE *out);

#endif
