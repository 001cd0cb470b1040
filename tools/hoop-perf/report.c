/* hoop-perf/report.c - prints results as a table, CSV and JSON */

#include "hoop-perf/report.h"

#include <err.h>
#include <string.h>

#include "hoop-perf/element.h"

static bool
is_stdout(const char *path)
{
    return path && strcmp(path, "-") == 0;
}

static enum hoop_status
file_open(const char *path, FILE **out_file)
{
    if (!path)
        return HOOP_OK;
    *out_file = is_stdout(path) ? stdout : fopen(path, "we");
    if (*out_file)
        return HOOP_OK;
    warn("cannot write %s", path);
    return HOOP_E_UNAVAILABLE;
}

static void
table_begin(const struct report *report)
{
    const struct options *options = report->options;

    printf("# hoop-perf: %u ranks, %zu iterations after %zu, %s\n",
           report->n_ranks, options->n_iterations, options->n_warmups,
           options->placement == PLACEMENT_IN_PLACE ? "in place"
                                                    : "out of place");
    printf("# %-15s %12s %12s %5s %7s %-24s %11s %11s %11s %8s %8s %7s\n", "op",
           "size", "count", "type", "redop", "algorithm", "time", "p50", "p99",
           "algbw", "busbw", "#wrong");
    printf("# %-15s %12s %12s %5s %7s %-24s %11s %11s %11s %8s %8s\n", "",
           "(B)", "(elements)", "", "", "", "(us)", "(us)", "(us)", "(GB/s)",
           "(GB/s)");
}

enum hoop_status
report_open(struct report *report,
            const struct options *options,
            uint32_t n_ranks)
{
    *report = (struct report){
        .options = options,
        .n_ranks = n_ranks,
        .has_table = !is_stdout(options->csv) && !is_stdout(options->json),
    };
    /* Each row appears as soon as it is measured, also in a pipe. */
    setvbuf(stdout, NULL, _IOLBF, 0);

    enum hoop_status status = file_open(options->csv, &report->csv);
    if (status == HOOP_OK)
        status = file_open(options->json, &report->json);
    if (status != HOOP_OK)
        return status;

    if (report->has_table)
        table_begin(report);
    if (report->csv)
        fputs("op,bytes,count,type,redop,algorithm,time_us,p50_us,p99_us,"
              "algbw,busbw,wrong\n",
              report->csv);
    if (report->json)
        fputs("[", report->json);
    return HOOP_OK;
}

/* One result, as all three formats print it. */
struct row {
    const char *op;
    size_t n_bytes;
    size_t count;
    const char *dtype;
    const char *reduce_op;
    struct timing timing;
    double algbw; /* GB/s */
    double busbw;
    char algorithm[64];
    char wrong[24]; /* empty: not checked */
};

static struct row
row_make(const struct report *report,
         const struct operation *operation,
         const struct extent *extent,
         const struct measurement *measurement)
{
    const struct options *options = report->options;
    const double time_us = measurement->timing.mean_us;
    const bool is_auto =
        measurement->candidate && strcmp(measurement->candidate, "auto") == 0;
    struct row row = {
        .op = operation->name,
        .n_bytes = extent->n_bytes,
        .count = extent->count,
        .dtype = element_name(options->dtype),
        .reduce_op = operation_reduces(operation)
                         ? hoop_reduce_op_name(options->reduce_op)
                         : "none",
        .timing = measurement->timing,
        .algbw = time_us > 0 ? (double)extent->n_bytes / time_us / 1e3 : 0,
    };

    row.busbw = row.algbw * operation_bus_factor(operation, report->n_ranks);
    snprintf(row.algorithm, sizeof(row.algorithm), "%s%s",
             is_auto ? "auto:" : "",
             measurement->algorithm ? measurement->algorithm : "none");
    if (measurement->n_wrong >= 0)
        snprintf(row.wrong, sizeof(row.wrong), "%lld",
                 (long long)measurement->n_wrong);
    return row;
}

static void
row_table(const struct row *row)
{
    printf("  %-15s %12zu %12zu %5s %7s %-24s %11.2f %11.2f %11.2f %8.3f "
           "%8.3f %7s\n",
           row->op, row->n_bytes, row->count, row->dtype, row->reduce_op,
           row->algorithm, row->timing.mean_us, row->timing.p50_us,
           row->timing.p99_us, row->algbw, row->busbw,
           row->wrong[0] ? row->wrong : "N/A");
}

static void
row_csv(const struct row *row, FILE *file)
{
    fprintf(file, "%s,%zu,%zu,%s,%s,%s,%.3f,%.3f,%.3f,%.6f,%.6f,%s\n", row->op,
            row->n_bytes, row->count, row->dtype, row->reduce_op,
            row->algorithm, row->timing.mean_us, row->timing.p50_us,
            row->timing.p99_us, row->algbw, row->busbw, row->wrong);
}

static void
row_json(const struct row *row, FILE *file)
{
    /* All names are hoop's, and none needs an escape. */
    fprintf(file,
            "{\"op\": \"%s\", \"bytes\": %zu, \"count\": %zu, "
            "\"type\": \"%s\", \"redop\": \"%s\", "
            "\"algorithm\": \"%s\", \"time_us\": %.3f, "
            "\"p50_us\": %.3f, \"p99_us\": %.3f, \"algbw\": %.6f, "
            "\"busbw\": %.6f, \"wrong\": %s}",
            row->op, row->n_bytes, row->count, row->dtype, row->reduce_op,
            row->algorithm, row->timing.mean_us, row->timing.p50_us,
            row->timing.p99_us, row->algbw, row->busbw,
            row->wrong[0] ? row->wrong : "null");
}

void
report_row(struct report *report,
           const struct operation *operation,
           const struct extent *extent,
           const struct measurement *measurement)
{
    const struct row row = row_make(report, operation, extent, measurement);

    if (report->has_table)
        row_table(&row);
    if (report->csv)
        row_csv(&row, report->csv);
    if (report->json) {
        fputs(report->n_rows > 0 ? ",\n " : "\n ", report->json);
        row_json(&row, report->json);
    }
    report->n_rows++;
}

static enum hoop_status
file_close(FILE *file, const char *path)
{
    if (!file)
        return HOOP_OK;

    const int failed = file == stdout ? fflush(file) : fclose(file);
    if (failed == 0)
        return HOOP_OK;
    warn("cannot write %s", path);
    return HOOP_E_DATA_LOSS;
}

enum hoop_status
report_close(struct report *report)
{
    if (report->json)
        fputs("\n]\n", report->json);

    const enum hoop_status csv = file_close(report->csv, report->options->csv);
    const enum hoop_status json =
        file_close(report->json, report->options->json);
    report->csv = NULL;
    report->json = NULL;
    return csv != HOOP_OK ? csv : json;
}
