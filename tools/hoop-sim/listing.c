/* hoop-sim/listing.c - prints a study as a table and as CSV */

#include "hoop-sim/listing.h"

#include <err.h>
#include <inttypes.h>
#include <string.h>

static void
table_begin(const struct options *options)
{
    const struct hoop_machine *machine = &options->machine;

    printf("# %u ranks per host, %u processors each; a message: %g us to send, "
           "%g us to receive, latency %g us (inside %g), wait %g us\n",
           options->n_per_host, machine->n_processors, machine->send_us,
           machine->receive_us, machine->latency_us, machine->latency_inside_us,
           machine->wait_us);
    printf("# GB/s: link %g (inside %g), send %g, receive %g, copy %g, reduce "
           "%g; 0: endless\n",
           machine->link_gbs, machine->link_inside_gbs, machine->send_gbs,
           machine->receive_gbs, machine->copy_gbs, machine->reduce_gbs);
    printf("# %13s %8s %12s %-20s %15s %18s %14s\n", "op", "ranks", "size",
           "algorithm", "time", "sent", "messages");
    printf("# %13s %8s %12s %-20s %15s %18s %14s\n", "", "", "(B)", "", "(us)",
           "(B)", "");
}

enum hoop_status
listing_open(struct listing *listing, const struct options *options)
{
    const bool is_stdout = options->csv && strcmp(options->csv, "-") == 0;

    *listing = (struct listing){
        .options = options,
        .has_table = !is_stdout,
    };
    if (is_stdout)
        listing->csv = stdout;
    else if (options->csv)
        listing->csv = fopen(options->csv, "we");
    if (options->csv && !listing->csv) {
        warn("cannot write %s", options->csv);
        return HOOP_E_UNAVAILABLE;
    }
    if (listing->has_table)
        table_begin(options);
    if (listing->csv)
        fputs("op,ranks,per_host,bytes,algorithm,time_us,sent,messages,"
              "extrapolated,best\n",
              listing->csv);
    return HOOP_OK;
}

static void
row_table(const struct study_point *point)
{
    const struct hoop_simulated *outcome = &point->outcome;

    printf("  %13s %8u %12zu %-20s %c%14.2f %18" PRIu64 " %14" PRIu64 " %c\n",
           point->collective, point->n_ranks, outcome->n_bytes,
           point->algorithm, outcome->is_extrapolated ? '~' : ' ',
           outcome->time_us, outcome->n_sent, outcome->n_messages,
           point->is_best ? '*' : ' ');
}

static void
row_csv(const struct listing *listing, const struct study_point *point)
{
    const struct hoop_simulated *outcome = &point->outcome;

    fprintf(
        listing->csv, "%s,%u,%u,%zu,%s,%.3f,%" PRIu64 ",%" PRIu64 ",%d,%d\n",
        point->collective, point->n_ranks, listing->options->n_per_host,
        outcome->n_bytes, point->algorithm, outcome->time_us, outcome->n_sent,
        outcome->n_messages, outcome->is_extrapolated, point->is_best);
}

void
listing_group(struct listing *listing, const struct study *study, size_t first)
{
    for (size_t i = first; i < study->n_points; i++) {
        if (listing->has_table)
            row_table(&study->points[i]);
        if (listing->csv)
            row_csv(listing, &study->points[i]);
    }
    fflush(stdout);
}

enum hoop_status
listing_close(struct listing *listing)
{
    if (!listing->csv)
        return HOOP_OK;

    const bool is_whole = !ferror(listing->csv);
    const int failed =
        listing->csv == stdout ? fflush(stdout) : fclose(listing->csv);

    listing->csv = NULL;
    if (failed == 0 && is_whole)
        return HOOP_OK;
    warn("cannot write %s", listing->options->csv);
    return HOOP_E_DATA_LOSS;
}
