/* hoop-perf/explain.c - predicts the algorithm and its time */

#include "hoop-perf/explain.h"

#include <stdio.h>

#include "hoop-perf/operation.h"

static void
row_print(const struct operation *operation,
          size_t n_bytes,
          const struct hoop_choice *choice)
{
    printf("  %-15s %12zu %-24s %12.2f ", operation->name, n_bytes,
           choice->algorithm, choice->estimate_us);
    if (choice->runner_up)
        printf("%-24s %12.2f", choice->runner_up, choice->runner_up_us);
    else
        printf("%-24s %12s", "-", "-");
    printf("%s\n", choice->is_forced ? " forced" : "");
}

static enum hoop_status
size_print(const struct options *options,
           const struct operation *operation,
           hoop_comm_t *comm,
           size_t n_bytes)
{
    const struct extent extent =
        operation_extent(operation, n_bytes, hoop_dtype_size(options->dtype),
                         hoop_comm_size(comm));
    struct hoop_choice choice;

    const enum hoop_status status =
        hoop_comm_explain(comm, operation->name, extent.n_bytes, &choice);
    if (status != HOOP_OK)
        return status;
    row_print(operation, extent.n_bytes, &choice);
    return HOOP_OK;
}

enum hoop_status
explain_print(const struct options *options, hoop_comm_t *comm)
{
    size_t sizes[OPTIONS_SIZES_MAX];
    const size_t n_sizes = options_sizes(options, sizes);

    printf("# hoop-perf: %u ranks, estimates\n", hoop_comm_size(comm));
    printf("# %-15s %12s %-24s %12s %-24s %12s\n", "op", "size", "algorithm",
           "estimate", "runner-up", "estimate");
    printf("# %-15s %12s %-24s %12s %-24s %12s\n", "", "(B)", "", "(us)", "",
           "(us)");
    for (size_t i = 0; i < options->n_chosen; i++) {
        const struct operation *operation = options->chosen[i];
        const size_t n = operation->layout == LAYOUT_NONE ? 1 : n_sizes;

        /* Point-to-point messages have no algorithm. */
        for (size_t j = 0; j < n && hoop_algorithm_name(operation->name, 0);
             j++) {
            const enum hoop_status status =
                size_print(options, operation, comm, sizes[j]);

            if (status != HOOP_OK)
                return status;
        }
    }
    return HOOP_OK;
}
