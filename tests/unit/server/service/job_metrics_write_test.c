/* tests/unit/server/service/job_metrics_write_test.c - jobs in Prometheus'
 * format */

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "check.h"
#include "service/job_metrics_write.h"

/* The caller frees it. */
static char *
text_of(const struct job_metrics_row *rows, size_t n_rows)
{
    char *text = NULL;
    size_t n_bytes = 0;
    FILE *out = open_memstream(&text, &n_bytes);

    job_metrics_write(rows, n_rows, out);
    assert_int_equal(fclose(out), 0);
    return text;
}

static void
assert_has(const char *text, const char *line)
{
    if (!strstr(text, line))
        fail_msg("'%s' is not in:\n%s", line, text);
}

static void
every_total_has_a_series(void **state)
{
    const struct job_metrics_row row = {
        .job = "train",
        .host = {.host = "node-1",
                 .totals = {.calls = 1,
                            .bytes_sent = 2,
                            .bytes_received = 3,
                            .wait_collective_us = 4,
                            .wait_message_us = 5000000,
                            .wait_forming_us = 6,
                            .join_us = 7000000,
                            .failures_timeout = 8,
                            .failures_lost = 9,
                            .failures_mismatch = 10,
                            .failures_cancelled = 11,
                            .failures_other = UINT64_MAX},
                 .n_ranks = {12, 13, 14, 15}},
        .has_totals = true,
    };
    static const char *const lines[] = {
        "\n# TYPE hoop_job_calls_total counter\n",
        "\nhoop_job_calls_total{hoop_job=\"train\",host=\"node-1\"} 1\n",
        "direction=\"sent\"} 2\n",
        "direction=\"received\"} 3\n",
        "kind=\"collective\"} 0.000004\n",
        "kind=\"message\"} 5.000000\n",
        "kind=\"forming\"} 0.000006\n",
        ("\nhoop_job_join_seconds{hoop_job=\"train\",host=\"node-1\"} "
         "7.000000\n"),
        "kind=\"timeout\"} 8\n",
        "kind=\"lost\"} 9\n",
        "kind=\"mismatch\"} 10\n",
        "kind=\"cancelled\"} 11\n",
        "kind=\"other\"} 18446744073709551615\n",
        "\n# TYPE hoop_job_ranks gauge\n",
        "state=\"joining\"} 12\n",
        "state=\"active\"} 13\n",
        "state=\"left\"} 14\n",
        "state=\"lost\"} 15\n",
    };
    CLEANUP(free) char *text = text_of(&row, 1);

    for (size_t i = 0; i < COUNT_OF(lines); i++)
        assert_has(text, lines[i]);
}

static void
totals_that_are_not_known_are_not_shown(void **state)
{
    const struct job_metrics_row row = {
        .job = "train", .host = {.host = "node-1", .n_ranks = {0, 2, 0, 0}}};
    CLEANUP(free) char *text = text_of(&row, 1);

    assert_null(strstr(text, "\nhoop_job_calls_total{"));
    assert_null(strstr(text, "\nhoop_job_join_seconds{"));
    assert_has(text, "state=\"active\"} 2\n");
}

static void
label_values_are_escaped(void **state)
{
    const struct job_metrics_row row = {
        .job = "train", .host = {.host = "a\"b\\c"}, .has_totals = true};
    CLEANUP(free) char *text = text_of(&row, 1);

    assert_has(
        text,
        "\nhoop_job_calls_total{hoop_job=\"train\",host=\"a\\\"b\\\\c\"} 0\n");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_total_has_a_series),
        cmocka_unit_test(totals_that_are_not_known_are_not_shown),
        cmocka_unit_test(label_values_are_escaped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
