/* hoop-sim/main.c - simulates what hoop's collectives cost on a cluster */

#include <err.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hoop/status.h"

#include "hoop-sim/listing.h"
#include "hoop-sim/options.h"
#include "hoop-sim/picture.h"
#include "hoop-sim/study.h"
#include "standard_output.h"

static enum hoop_status
group_run(struct study *study,
          struct listing *listing,
          const struct study_point *asked)
{
    size_t first = 0;
    const enum hoop_status status =
        study_add(study, listing->options, asked, &first);

    if (status != HOOP_OK) {
        warnx("%s with %u ranks: %s", asked->collective, asked->n_ranks,
              hoop_error_text());
        return status;
    }
    listing_group(listing, study, first);
    return HOOP_OK;
}

/* A barrier has no size, so it is simulated once. */
static size_t
sizes_of(const struct options *options, const char *collective)
{
    return strcmp(collective, "barrier") == 0 ? 1 : options->sizes.n_numbers;
}

static enum hoop_status
collective_run(struct study *study,
               struct listing *listing,
               const char *collective)
{
    const struct options *options = listing->options;

    for (size_t j = 0; j < sizes_of(options, collective); j++)
        for (size_t i = 0; i < options->ranks.n_numbers; i++) {
            const size_t n_ranks = options->ranks.numbers[i];
            const struct study_point asked = {
                .collective = collective,
                .n_ranks =
                    n_ranks < UINT32_MAX ? (uint32_t)n_ranks : UINT32_MAX,
                .n_bytes = options->sizes.numbers[j],
            };
            const enum hoop_status status = group_run(study, listing, &asked);
            if (status != HOOP_OK)
                return status;
        }
    return HOOP_OK;
}

static enum hoop_status
study_run(struct study *study, const struct options *options)
{
    struct listing listing;
    enum hoop_status status = listing_open(&listing, options);

    if (status != HOOP_OK)
        return status;
    for (size_t i = 0; status == HOOP_OK && i < options->n_collectives; i++)
        status = collective_run(study, &listing, options->collectives[i]);

    const enum hoop_status closed = listing_close(&listing);

    return status != HOOP_OK ? status : closed;
}

int
main(int argc, char **argv)
{
    struct options options;
    struct study study = {0};

    standard_output_check_at_exit();
    argv[0] = program_invocation_short_name;
    options_parse(argc, argv, &options);

    enum hoop_status status = options.svg ? picture_check(&options) : HOOP_OK;
    if (status == HOOP_OK)
        status = study_run(&study, &options);
    if (status == HOOP_OK && options.svg)
        status = picture_write(&study, &options);
    study_deinit(&study);
    return status == HOOP_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
