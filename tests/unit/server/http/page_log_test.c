/* tests/unit/server/http/page_log_test.c - http/page_log.c */

#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "check.h"
#include "http/page_log.h"

enum {
    BOOT = 0xab,
};

static void
add_many(struct page_log *log, const char *job, int n)
{
    char json[32];

    for (int i = 1; i <= n; i++) {
        snprintf(json, sizeof(json), "{\"%s\":%d}", job, i);
        page_log_add(log, job, json);
    }
}

/* The caller frees it. */
static char *
written(const struct page_log *log, uint64_t seen)
{
    char *text = NULL;
    size_t n_text = 0;
    FILE *out = open_memstream(&text, &n_text);

    assert_non_null(out);
    page_log_write(log, BOOT, seen, out);
    assert_int_equal(fclose(out), 0);
    return text;
}

static size_t
entries_in(const char *text)
{
    size_t n = 0;

    while ((text = strstr(text, "event: entry\n"))) {
        n++;
        text++;
    }
    return n;
}

static void
entries_are_numbered_in_the_log_and_in_their_job(void **state)
{
    struct page_log log;
    char *text = NULL;

    (void)state;
    page_log_init(&log);
    text = written(&log, 0);
    assert_string_equal(text, "");
    free(text);
    page_log_add(&log, "", "{\"a\":1}");
    page_log_add(&log, "j", "{\"b\":2}");
    page_log_add(&log, "", "{\"c\":3}");
    text = written(&log, 0);
    assert_string_equal(text, "id: 00000000000000ab-1\nevent: entry\n"
                              "data: {\"nth\":1,\"a\":1}\n\n"
                              "id: 00000000000000ab-2\nevent: entry\n"
                              "data: {\"nth\":1,\"b\":2}\n\n"
                              "id: 00000000000000ab-3\nevent: entry\n"
                              "data: {\"nth\":2,\"c\":3}\n\n");
    free(text);
    text = written(&log, 2);
    assert_string_equal(text, "id: 00000000000000ab-3\nevent: entry\n"
                              "data: {\"nth\":2,\"c\":3}\n\n");
    free(text);
    text = written(&log, 3);
    assert_string_equal(text, "");
    free(text);
    /* It was of another start. */
    text = written(&log, 4);
    assert_int_equal(entries_in(text), 3);
    free(text);
    page_log_deinit(&log);
}

/* The noisy job comes before, between and after the others. */
static void
noisy_job_takes_nothing_from_others(void **state)
{
    const size_t n_kept = LIMIT_HTTP_LOG_ENTRIES - 4;
    struct page_log log;
    char first[64];

    (void)state;
    page_log_init(&log);
    add_many(&log, "", 1);
    add_many(&log, "noisy", LIMIT_HTTP_LOG_ENTRIES);
    add_many(&log, "quiet", 3);
    add_many(&log, "noisy", 100);
    char *text = written(&log, 0);
    assert_int_equal(entries_in(text), LIMIT_HTTP_LOG_ENTRIES);
    assert_non_null(strstr(text, "{\"nth\":1,\"\":1}"));
    for (int i = 1; i <= 3; i++) {
        snprintf(first, sizeof(first), "{\"nth\":%d,\"quiet\":%d}", i, i);
        assert_non_null(strstr(text, first));
    }
    /* Of that job the newest are left, and tell how many are gone. */
    snprintf(first, sizeof(first), "{\"nth\":%zu,\"noisy\":",
             LIMIT_HTTP_LOG_ENTRIES + 100 - n_kept + 1);
    assert_non_null(strstr(text, first));
    snprintf(first, sizeof(first),
             "{\"nth\":%zu,\"noisy\":", LIMIT_HTTP_LOG_ENTRIES + 100 - n_kept);
    assert_null(strstr(text, first));
    free(text);
    page_log_deinit(&log);
}

static void
new_job_takes_the_place_of_the_quietest(void **state)
{
    struct page_log log;
    char job[16];

    (void)state;
    page_log_init(&log);
    for (int i = 0; i < LIMIT_HTTP_LOG_ENTRIES + 10; i++) {
        snprintf(job, sizeof(job), "job%d", i);
        page_log_add(&log, job, "{\"a\":1}");
    }
    page_log_add(&log, "", "{\"a\":1}");
    add_many(&log, "last", 3);
    char *text = written(&log, 0);
    /* One of each, but for the last job and hoopd. */
    assert_int_equal(entries_in(text), LIMIT_HTTP_LOG_JOBS + 2);
    snprintf(job, sizeof(job), "ab-%d\n", LIMIT_HTTP_LOG_ENTRIES + 10);
    assert_non_null(strstr(text, job));
    assert_null(strstr(text, "ab-11\n"));
    assert_non_null(strstr(text, "{\"nth\":1,\"last\":1}"));
    assert_non_null(strstr(text, "{\"nth\":3,\"last\":3}"));
    free(text);
    page_log_deinit(&log);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entries_are_numbered_in_the_log_and_in_their_job),
        cmocka_unit_test(noisy_job_takes_nothing_from_others),
        cmocka_unit_test(new_job_takes_the_place_of_the_quietest),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
