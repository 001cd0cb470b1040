/* tests/unit/worker/select/benchmark_test.c - select/benchmark.c */

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "engine_pair_fixture.h"
#include "select/benchmark.h"
#include "select/samples.h"

/* Each is a line that can be read, of two algorithms at least. */
static int
all_benchmark_and_rank_0_has_the_lines(struct side *side)
{
    const uint32_t names[2] = {0, 0};
    struct plan_nodes *nodes = NULL;
    struct samples *samples = NULL;
    char *text = NULL;

    SIDE_CHECK(plan_nodes_create(names, 2, &nodes) == HOOP_OK);
    SIDE_CHECK(benchmark_run(side->comms[0].context, nodes, &text) == HOOP_OK);
    SIDE_CHECK((strlen(text) == 0) == (side->rank > 0));
    SIDE_CHECK(samples_parse("here", text, strlen(text), &samples) == HOOP_OK);
    SIDE_CHECK(samples_count_for_nodes(samples, nodes) ==
               (side->rank == 0 ? 1 : 0));
    for (size_t i = 0; i < samples->n; i++) {
        size_t n_times = 0;

        for (size_t j = 0; j < SAMPLE_ENTRIES_MAX; j++)
            n_times += samples->all[i].ns[j] > 0;
        SIDE_CHECK(n_times > 1);
    }
    samples_destroy(samples);
    plan_nodes_destroy(nodes);
    free(text);
    return 0;
}

static int
missing_rank_is_a_timeout(struct side *side)
{
    const uint32_t names[2] = {0, 0};
    struct plan_nodes *nodes = NULL;
    char *text = NULL;

    if (side->rank == 0)
        return 0;
    SIDE_CHECK(plan_nodes_create(names, 2, &nodes) == HOOP_OK);
    context_set_timeout(side->comms[1].context, 50);
    SIDE_CHECK(benchmark_run(side->comms[1].context, nodes, &text) ==
               HOOP_E_TIMEOUT);
    SIDE_CHECK(!text);
    plan_nodes_destroy(nodes);
    return 0;
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        SIDES_TEST(all_benchmark_and_rank_0_has_the_lines),
        SIDES_TEST(missing_rank_is_a_timeout),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
