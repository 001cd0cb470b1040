/* hoop-perf/main.c - measures hoop's collectives, like nccl-tests */

#include <err.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "hoop/hoop.h"

#include "hoop-perf/bench.h"
#include "hoop-perf/byte_size.h"
#include "hoop-perf/candidates.h"
#include "hoop-perf/element.h"
#include "hoop-perf/explain.h"
#include "hoop-perf/options.h"
#include "hoop-perf/progress.h"
#include "hoop-perf/race_log.h"
#include "hoop-perf/report.h"
#include "standard_output.h"
#include "variable.h"

/* What a run needs on every rank. Only rank 0 uses the report and the race
 * log. */
struct run {
    const struct options *options;
    struct bench bench;
    struct candidates candidates;
    struct report report;
    struct race_log race_log;
    bool is_reporter;
    bool has_progress;
    size_t n_done;
    size_t n_total;
    int64_t n_wrong;
};

static void
failure_print(const struct run *run,
              const struct operation *operation,
              size_t n_bytes)
{
    char size[BYTE_SIZE_TEXT];

    byte_size_format(n_bytes, size);
    if (run->has_progress)
        progress_clear();
    warnx("rank %u: %s of %s bytes %s: %s", run->bench.rank, operation->name,
          size, element_name(run->options->dtype), hoop_error_text());
}

static enum hoop_status
size_run(struct run *run, const struct operation *operation, size_t n_bytes)
{
    const struct extent extent = operation_extent(
        operation, n_bytes, hoop_dtype_size(run->options->dtype),
        run->bench.n_ranks);
    struct candidates *candidates = &run->candidates;
    char size[BYTE_SIZE_TEXT];

    byte_size_format(n_bytes, size);
    if (run->has_progress)
        progress_show(operation->name, run->n_done, run->n_total, size);
    const enum hoop_status status =
        candidates_measure(candidates, &run->bench, operation, &extent);
    if (status != HOOP_OK) {
        failure_print(run, operation, n_bytes);
        return status;
    }
    run->n_done++;
    if (run->has_progress)
        progress_clear();
    for (size_t i = 0; i < candidates->n; i++) {
        if (candidates->measurements[i].n_wrong > 0)
            run->n_wrong += candidates->measurements[i].n_wrong;
        if (run->is_reporter)
            report_row(&run->report, operation, &extent,
                       &candidates->measurements[i]);
    }
    if (run->is_reporter)
        race_log_add(&run->race_log, operation, &extent, candidates);
    return HOOP_OK;
}

static enum hoop_status
sizes_run(struct run *run)
{
    const struct options *options = run->options;
    size_t sizes[OPTIONS_SIZES_MAX];
    const size_t n_sizes = options_sizes(options, sizes);

    for (size_t i = 0; i < options->n_chosen; i++)
        run->n_total += options->chosen[i]->layout == LAYOUT_NONE ? 1 : n_sizes;

    for (size_t i = 0; i < options->n_chosen; i++) {
        const struct operation *operation = options->chosen[i];
        const size_t n = operation->layout == LAYOUT_NONE ? 1 : n_sizes;
        enum hoop_status status =
            candidates_gather(&run->candidates, operation);

        if (status != HOOP_OK)
            warnx("rank %u: %s: %s", run->bench.rank, operation->name,
                  hoop_error_text());
        for (size_t j = 0; j < n && status == HOOP_OK; j++)
            status = size_run(run, operation, sizes[j]);
        if (status != HOOP_OK)
            return status;
    }
    return HOOP_OK;
}

static int
run_report(struct run *run)
{
    const struct options *options = run->options;

    if (race_log_open(&run->race_log, options->tune, run->bench.comm) !=
            HOOP_OK ||
        report_open(&run->report, options, run->bench.n_ranks) != HOOP_OK)
        return EXIT_FAILURE;

    const enum hoop_status ran = sizes_run(run);
    const enum hoop_status closed = report_close(&run->report);
    const enum hoop_status logged = race_log_close(&run->race_log);
    if (run->n_wrong > 0)
        warnx("wrong elements: %lld", (long long)run->n_wrong);
    const bool is_kept = closed == HOOP_OK && logged == HOOP_OK;
    return ran == HOOP_OK && is_kept && run->n_wrong == 0 ? EXIT_SUCCESS
                                                          : EXIT_FAILURE;
}

static int
run_explain(const struct options *options, hoop_comm_t *comm)
{
    if (hoop_comm_rank(comm) > 0 || explain_print(options, comm) == HOOP_OK)
        return EXIT_SUCCESS;
    warnx("%s", hoop_error_text());
    return EXIT_FAILURE;
}

static int
run_all(const struct options *options, hoop_session_t *session)
{
    hoop_comm_t *comm = hoop_world(session);
    struct run run = {
        .options = options,
        .candidates = {.options = options, .session = session},
        .is_reporter = hoop_comm_rank(comm) == 0,
    };
    int code = EXIT_FAILURE;

    run.has_progress = run.is_reporter && progress_is_wanted();
    if (options->root >= hoop_comm_size(comm))
        warnx("--root %u: there are %u ranks", options->root,
              hoop_comm_size(comm));
    else if (bench_init(&run.bench, options, comm) != HOOP_OK)
        warnx("rank %u: not enough memory for --max; choose a smaller one",
              hoop_comm_rank(comm));
    else if (run.is_reporter)
        code = run_report(&run);
    else
        code = sizes_run(&run) == HOOP_OK && run.n_wrong == 0 ? EXIT_SUCCESS
                                                              : EXIT_FAILURE;
    candidates_deinit(&run.candidates);
    bench_deinit(&run.bench);
    return code;
}

int
main(int argc, char **argv)
{
    struct options options;
    hoop_session_t *session = NULL;

    standard_output_check_at_exit();
    argv[0] = program_invocation_short_name;
    options_parse(argc, argv, &options);
    const enum hoop_status status = hoop_join(NULL, &session);
    /* hooprun tells its workers where to join, so it was not used. */
    if (status == HOOP_E_INVALID && !variable("HOOP_COORDINATOR"))
        errx(EXIT_FAILURE, "%s (to start 4 ranks here: hooprun -n 4 %s)",
             hoop_error_text(), argv[0]);
    if (status != HOOP_OK)
        errx(EXIT_FAILURE, "%s", hoop_error_text());

    const int code = options.only_explains
                         ? run_explain(&options, hoop_world(session))
                         : run_all(&options, session);
    hoop_leave(session);
    return code;
}
