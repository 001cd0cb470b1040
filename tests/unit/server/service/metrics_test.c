/* tests/unit/server/service/metrics_test.c - service/metrics.c */

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "service/metrics.h"

enum {
    ROUNDS = 2000,
};

/* The caller frees it. */
static char *
text_of(struct metrics *metrics)
{
    char *text = NULL;
    size_t n_bytes = 0;
    FILE *out = open_memstream(&text, &n_bytes);

    metrics_write(metrics, out);
    assert_int_equal(fclose(out), 0);
    return text;
}

static void
assert_line(struct metrics *metrics, const char *line)
{
    CLEANUP(free) char *text = text_of(metrics);

    if (!strstr(text, line))
        fail_msg("'%s' is not in:\n%s", line, text);
}

static void
replies_are_counted_by_method_and_status(void **state)
{
    CLEANUP(metrics_destroy) struct metrics *metrics = NULL;

    assert_ok(metrics_create(&metrics));
    metrics_count_reply(metrics, METHOD_STORE_GET, HOOP_OK);
    metrics_count_reply(metrics, METHOD_STORE_GET, HOOP_OK);
    metrics_count_reply(metrics, METHOD_STATUS_JOB, HOOP_E_UNAUTHENTICATED);
    assert_line(metrics,
                "\nhoop_rpc_requests_total{method=\"hoop.v1.Store/Get\","
                "status=\"OK\"} 2\n");
    assert_line(metrics,
                "\nhoop_rpc_requests_total{method=\"hoop.v1.Status/Job\","
                "status=\"UNAUTHENTICATED\"} 1\n");
}

static void
times_fall_into_cumulative_buckets(void **state)
{
    CLEANUP(metrics_destroy) struct metrics *metrics = NULL;

    assert_ok(metrics_create(&metrics));
    metrics_record_latency(metrics, 10000);       /* at the edge: inside */
    metrics_record_latency(metrics, 10001);       /* the next one */
    metrics_record_latency(metrics, 2000000000u); /* above all edges */
    assert_line(metrics, "\nhoop_rpc_seconds_bucket{le=\"1e-05\"} 1\n");
    assert_line(metrics, "\nhoop_rpc_seconds_bucket{le=\"0.0001\"} 2\n");
    assert_line(metrics, "\nhoop_rpc_seconds_bucket{le=\"1\"} 2\n");
    assert_line(metrics, "\nhoop_rpc_seconds_bucket{le=\"+Inf\"} 3\n");
    assert_line(metrics, "\nhoop_rpc_seconds_count 3\n");
    assert_line(metrics, "\nhoop_rpc_seconds_sum 2.000020001\n");
}

static void
figures_of_core_and_server_are_shown(void **state)
{
    CLEANUP(metrics_destroy) struct metrics *metrics = NULL;

    assert_ok(metrics_create(&metrics));
    metrics_set_counters(metrics,
                         &(struct cluster_counters){.joins = 4, .members = 3},
                         &(struct rpc_server_counters){.connections = 2});
    assert_line(metrics, "\n# TYPE hoop_joins_total counter\n"
                         "hoop_joins_total 4\n");
    assert_line(metrics, "\n# TYPE hoop_members gauge\nhoop_members 3\n");
    assert_line(metrics, "\nhoop_rpc_connections 2\n");
    assert_line(metrics, "\nprocess_start_time_seconds 1");
}

static void *
counting(void *owner)
{
    for (int i = 0; i < ROUNDS; i++)
        metrics_count_reply(owner, METHOD_STORE_ADD, HOOP_OK);
    return NULL;
}

static void
counting_while_writing_loses_nothing(void **state)
{
    CLEANUP(metrics_destroy) struct metrics *metrics = NULL;
    pthread_t thread;

    assert_ok(metrics_create(&metrics));
    assert_int_equal(pthread_create(&thread, NULL, counting, metrics), 0);
    for (int i = 0; i < 20; i++)
        free(text_of(metrics));
    pthread_join(thread, NULL);
    assert_line(metrics, "status=\"OK\"} 2000\n");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(replies_are_counted_by_method_and_status),
        cmocka_unit_test(times_fall_into_cumulative_buckets),
        cmocka_unit_test(figures_of_core_and_server_are_shown),
        cmocka_unit_test(counting_while_writing_loses_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
