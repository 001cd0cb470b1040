/* tests/fuzz/races_fuzz.c - any file of times is refused with a place, or
 * makes a table that can be looked up and can travel */

#include <string.h>

#include "base/error.h"
#include "fuzz/fuzz.h"
#include "tune/races.h"

static void
require_table(const struct races *races, uint32_t n_ranks)
{
    static const uint32_t one_node[8] = {0};
    struct plan_nodes *nodes = NULL;
    uint8_t bytes[LIMIT_TUNE_TABLE];
    struct table table;
    struct table back;

    table_init(&table);
    fuzz_require(plan_nodes_create(one_node, n_ranks, &nodes) == HOOP_OK);
    races_apply(races, nodes, &(struct plan_hall){0}, &table);
    fuzz_require(table_encode(&table, bytes) == HOOP_OK);
    fuzz_require(table_decode(bytes, &back) == HOOP_OK);
    plan_nodes_destroy(nodes);
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
    CLEANUP(races_destroy) struct races *races = NULL;
    const enum hoop_status status =
        races_parse("fuzz", (const char *)bytes, n_bytes, &races);

    if (status != HOOP_OK) {
        fuzz_require(status == HOOP_E_INVALID);
        fuzz_require(strncmp(error_text(), "fuzz:", 5) == 0);
        return 0;
    }
    fuzz_require(races->n_bytes == n_bytes);
    require_table(races, 2);
    require_table(races, 8);
    return 0;
}
