/* tests/fuzz/races_fuzz.c - any file of times is refused with a place, or
 * makes a table that can be looked up and can travel */

#include <string.h>

#include "base/error.h"
#include "fuzz/fuzz.h"
#include "select/samples.h"

static void
require_table(const struct samples *samples, uint32_t n_ranks)
{
    static const uint32_t one_node[8] = {0};
    struct plan_nodes *nodes = NULL;
    uint8_t bytes[LIMIT_TUNE_TABLE];
    struct table table;
    struct table back;

    tuning_table_init(&table);
    fuzz_require(plan_nodes_create(one_node, n_ranks, &nodes) == HOOP_OK);
    samples_apply(samples, nodes, &(struct plan_shm_region){0}, &table);
    fuzz_require(tuning_table_encode(&table, bytes) == HOOP_OK);
    fuzz_require(tuning_table_decode(bytes, &back) == HOOP_OK);
    plan_nodes_destroy(nodes);
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
    CLEANUP(samples_destroy) struct samples *samples = NULL;
    const enum hoop_status status =
        samples_parse("fuzz", (const char *)bytes, n_bytes, &samples);

    if (status != HOOP_OK) {
        fuzz_require(status == HOOP_E_INVALID);
        fuzz_require(strncmp(error_text(), "fuzz:", 5) == 0);
        return 0;
    }
    fuzz_require(samples->n_bytes == n_bytes);
    require_table(samples, 2);
    require_table(samples, 8);
    return 0;
}
