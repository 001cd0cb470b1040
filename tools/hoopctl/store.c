/* hoopctl/store.c - hoopctl store get, wait, set, add, list, watch, delete */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hoopctl/command.h"
#include "hoopctl/json.h"
#include "hoopctl/options.h"
#include "hoopctl/shown.h"

/* The value of the key that is the first argument. */
static void
value_show(const struct command_call *call,
           const struct hoop_control_value *value)
{
    const char *encoding = NULL;

    if (call->format == COMMAND_TABLE) {
        /* Print the bytes unchanged: a value may be anything, and may go to a
         * file. */
        fwrite(value->bytes, 1, value->n_bytes, stdout);
        putchar('\n');
        return;
    }
    json_t *text = json_value(
        &(struct json_bytes){value->bytes, value->n_bytes}, &encoding);
    json_print(json_pack("{so so ss so}", "key", json_text(call->arguments[0]),
                         "value", text, "encoding", encoding, "revision",
                         json_number(value->revision)));
}

enum hoop_status
store_get_run(const struct command_call *call)
{
    struct hoop_control_value value;
    const enum hoop_status status =
        hoop_control_get(call->control, call->arguments[0], &value);

    if (status == HOOP_OK)
        value_show(call, &value);
    return status;
}

enum hoop_status
store_wait_run(const struct command_call *call)
{
    const char *const keys[] = {call->arguments[0]};
    const struct hoop_control_value *values = NULL;
    const enum hoop_status status =
        hoop_control_wait(call->control, keys, 1, &values);

    if (status == HOOP_OK)
        value_show(call, values);
    return status;
}

enum hoop_status
store_add_run(const struct command_call *call)
{
    const char *text = call->n_arguments > 1 ? call->arguments[1] : "1";
    int64_t sum = 0;
    char *end = NULL;

    errno = 0;
    const int64_t delta = strtoll(text, &end, 10);
    if (errno || end == text || *end) {
        fprintf(stderr, "hoopctl: '%s' is no number to add\n",
                show(text, &(struct shown){0}));
        exit(OPTIONS_EXIT_USAGE);
    }
    const enum hoop_status status =
        hoop_control_add(call->control, call->arguments[0], delta, 0, &sum);
    if (status != HOOP_OK)
        return status;

    if (call->format == COMMAND_TABLE)
        printf("%" PRId64 "\n", sum);
    else
        json_print(json_pack("{so sI}", "key", json_text(call->arguments[0]),
                             "value", (json_int_t)sum));
    return HOOP_OK;
}

enum hoop_status
store_set_run(const struct command_call *call)
{
    const enum hoop_status status =
        hoop_control_set(call->control, call->arguments[0],
                         &(struct hoop_control_value){
                             .bytes = call->arguments[1],
                             .n_bytes = strlen(call->arguments[1]),
                         });
    if (status != HOOP_OK)
        return status;

    if (call->format == COMMAND_JSON)
        json_print(json_pack("{so}", "set", json_text(call->arguments[0])));
    return HOOP_OK;
}

enum hoop_status
store_delete_run(const struct command_call *call)
{
    const enum hoop_status status =
        hoop_control_delete(call->control, call->arguments[0]);
    if (status != HOOP_OK)
        return status;

    if (call->format == COMMAND_JSON)
        json_print(json_pack("{so}", "deleted", json_text(call->arguments[0])));
    return HOOP_OK;
}

static void
page_show(const struct hoop_control_keys *page, json_t *all)
{
    for (size_t i = 0; i < page->n_keys; i++) {
        const struct hoop_control_key *key = &page->keys[i];
        struct shown shown;

        if (all)
            json_array_append_new(
                all, json_pack("{so so}", "key", json_text(key->key),
                               "revision", json_number(key->revision)));
        else
            printf("%s\n", show(key->key, &shown));
    }
}

enum hoop_status
store_list_run(const struct command_call *call)
{
    struct hoop_control_scan scan = {
        .prefix = call->n_arguments > 0 ? call->arguments[0] : NULL,
    };
    const struct hoop_control_keys *page = NULL;
    json_t *all = call->format == COMMAND_JSON ? json_array() : NULL;

    do {
        const enum hoop_status status =
            hoop_control_list(call->control, &scan, &page);
        if (status != HOOP_OK) {
            json_decref(all);
            return status;
        }
        page_show(page, all);
        scan.after = page->n_keys ? page->keys[page->n_keys - 1].key : NULL;
    } while (page->n_more > 0 && scan.after);

    if (all)
        json_print(json_pack("{ss so}", "job",
                             hoop_control_job_name(call->control), "keys",
                             all));
    return HOOP_OK;
}

static void
event_show(const struct command_call *call,
           const struct hoop_control_event *event)
{
    struct shown shown;

    if (call->format == COMMAND_TABLE)
        printf("%s %s\n", event->kind, show(event->key, &shown));
    else
        json_print(json_pack("{ss so so}", "kind", event->kind, "key",
                             json_text(event->key), "revision",
                             json_number(event->revision)));
}

/* Run until the program is ended, or its output is closed. */
enum hoop_status
store_watch_run(const struct command_call *call)
{
    const char *prefix = call->n_arguments > 0 ? call->arguments[0] : NULL;
    const struct hoop_control_scan scan = {.prefix = prefix};
    const struct hoop_control_events *events = NULL;
    const struct hoop_control_keys *page = NULL;
    enum hoop_status status = hoop_control_list(call->control, &scan, &page);
    uint64_t since = status == HOOP_OK ? page->revision : 0;

    while (status == HOOP_OK && !ferror(stdout)) {
        status = hoop_control_watch(call->control, prefix, since, &events);
        if (status != HOOP_OK)
            break;
        since = events->revision;
        for (size_t i = 0; i < events->n_events; i++)
            event_show(call, &events->events[i]);
        fflush(stdout);
    }
    return status;
}
