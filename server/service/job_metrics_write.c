/* service/job_metrics_write.c - what jobs have done, in Prometheus' text
 * format */

#include "service/job_metrics_write.h"

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"

/* One series of each job and host. */
struct series {
    const char *label; /* as `,kind="message"`; "": no more than job and host */
    size_t offset;     /* of a uint64_t in struct rank_totals, or of an uint32_t
                          in n_ranks */
};

#define TOTAL(name) offsetof(struct rank_totals, name)

static const struct series call_series[] = {{"", TOTAL(calls)}};
static const struct series byte_series[] = {
    {",direction=\"sent\"", TOTAL(bytes_sent)},
    {",direction=\"received\"", TOTAL(bytes_received)},
};
static const struct series wait_series[] = {
    {",kind=\"collective\"", TOTAL(wait_collective_us)},
    {",kind=\"message\"", TOTAL(wait_message_us)},
    {",kind=\"forming\"", TOTAL(wait_forming_us)},
};
static const struct series failure_series[] = {
    {",kind=\"timeout\"", TOTAL(failures_timeout)},
    {",kind=\"lost\"", TOTAL(failures_lost)},
    {",kind=\"mismatch\"", TOTAL(failures_mismatch)},
    {",kind=\"cancelled\"", TOTAL(failures_cancelled)},
    {",kind=\"other\"", TOTAL(failures_other)},
};
static const struct series join_series[] = {{"", TOTAL(join_us)}};

static const struct {
    const char *name;
    const char *type;
    const char *help;
    const struct series *series;
    size_t n_series;
    bool is_seconds; /* the total is in microseconds */
} totals_metrics[] = {
    {"hoop_job_calls_total", "counter",
     "Collectives and messages that ended well.", call_series,
     COUNT_OF(call_series), false},
    {"hoop_job_bytes_total", "counter",
     "Payload bytes of collectives and "
     "messages.",
     byte_series, COUNT_OF(byte_series), false},
    {"hoop_job_wait_seconds_total", "counter",
     "Time in which calls waited for other ranks.", wait_series,
     COUNT_OF(wait_series), true},
    {"hoop_job_failures_total", "counter",
     "Collectives and messages that failed, by the cause.", failure_series,
     COUNT_OF(failure_series), false},
    {"hoop_job_join_seconds", "gauge",
     "Time that the slowest rank of the host took to join.", join_series,
     COUNT_OF(join_series), true},
};

static void
label_value_write(const char *text, FILE *out)
{
    for (const char *at = text; *at; at++) {
        if (*at == '\\' || *at == '"')
            fputc('\\', out);
        fputc(*at, out);
    }
}

static void
series_name_write(const struct job_metrics_row *row,
                  const char *name,
                  const char *label,
                  FILE *out)
{
    fprintf(out, "%s{hoop_job=\"", name);
    label_value_write(row->job, out);
    fputs("\",host=\"", out);
    label_value_write(row->host.host, out);
    fprintf(out, "\"%s} ", label);
}

static uint64_t
row_total(const struct job_metrics_row *row, size_t offset)
{
    return *(const uint64_t *)(const void *)((const char *)&row->host.totals +
                                             offset);
}

static void
metric_header_write(const char *name,
                    const char *type,
                    const char *help,
                    FILE *out)
{
    fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void
totals_metric_write(size_t which,
                    const struct job_metrics_row *rows,
                    size_t n_rows,
                    FILE *out)
{
    const char *name = totals_metrics[which].name;

    metric_header_write(name, totals_metrics[which].type,
                        totals_metrics[which].help, out);
    for (size_t i = 0; i < n_rows; i++) {
        for (size_t j = 0;
             rows[i].has_totals && j < totals_metrics[which].n_series; j++) {
            const struct series *series = &totals_metrics[which].series[j];
            const uint64_t total = row_total(&rows[i], series->offset);

            series_name_write(&rows[i], name, series->label, out);
            if (totals_metrics[which].is_seconds)
                fprintf(out, "%.6f\n", (double)total * 1e-6);
            else
                fprintf(out, "%llu\n", (unsigned long long)total);
        }
    }
}

static void
ranks_metric_write(const struct job_metrics_row *rows, size_t n_rows, FILE *out)
{
    static const char name[] = "hoop_job_ranks";

    metric_header_write(name, "gauge", "Ranks by state.", out);
    for (size_t i = 0; i < n_rows; i++) {
        for (unsigned state = 0; state < JOB_METRICS_STATES; state++) {
            char label[32];

            snprintf(
                label, sizeof(label), ",state=\"%s\"",
                cluster_member_state_name((enum cluster_member_state)state));
            series_name_write(&rows[i], name, label, out);
            fprintf(out, "%u\n", rows[i].host.n_ranks[state]);
        }
    }
}

void
job_metrics_write(const struct job_metrics_row *rows, size_t n_rows, FILE *out)
{
    for (size_t i = 0; i < COUNT_OF(totals_metrics); i++)
        totals_metric_write(i, rows, n_rows, out);
    ranks_metric_write(rows, n_rows, out);
}
