/* tests/fuzz/table_fuzz.c - whatever decodes can be looked up, and comes
 * back */

#include <string.h>

#include "fuzz/fuzz.h"
#include "select/table.h"

static void
require_rules(const struct table *table)
{
    static const uint64_t sizes[] = {0, 1, 4096, UINT64_MAX};

    fuzz_require(table->machine.n_processors > 0);
    for (unsigned i = 0; i < COLLECTIVE_KINDS; i++) {
        size_t n_entries;

        registry_collective_entries(i, &n_entries);
        for (size_t j = 0; j < sizeof(sizes) / sizeof(sizes[0]); j++) {
            const struct registry_algorithm *even = tuning_table_find_algorithm(
                table, i, TABLE_FORM_EVEN_BLOCKS, sizes[j]);
            const struct registry_algorithm *uneven =
                tuning_table_find_algorithm(table, i, TABLE_FORM_UNEVEN_BLOCKS,
                                            sizes[j]);

            fuzz_require(n_entries == 0 || (even && uneven));
            fuzz_require(!even || (unsigned)even->collective == i);
            fuzz_require(!uneven || !uneven->is_even_only);
        }
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
    uint8_t whole[LIMIT_TUNE_TABLE] = {0};
    uint8_t again[LIMIT_TUNE_TABLE];
    struct table table;

    memcpy(whole, bytes, n_bytes < sizeof(whole) ? n_bytes : sizeof(whole));
    if (tuning_table_decode(whole, &table) != HOOP_OK)
        return 0;
    require_rules(&table);
    fuzz_require(tuning_table_encode(&table, whole) == HOOP_OK);
    fuzz_require(tuning_table_decode(whole, &table) == HOOP_OK);
    fuzz_require(tuning_table_encode(&table, again) == HOOP_OK);
    fuzz_require(memcmp(whole, again, sizeof(whole)) == 0);
    return 0;
}
