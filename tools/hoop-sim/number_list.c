/* hoop-sim/number_list.c - lists and ranges of numbers: 2,8..1K,8..64M:8 */

#include "hoop-sim/number_list.h"

#include <stdio.h>
#include <string.h>

#include "hoop-perf/byte_size.h"

enum {
    ITEM_TEXT_MAX = 80,
};

/* From first on, multiplied by factor; the last number is always included. */
struct progression {
    size_t first;
    size_t last;
    size_t factor;
};

static enum hoop_status
number_parse(const char *text, size_t *out_number)
{
    const enum hoop_status status = byte_size_parse(text, out_number);

    if (status == HOOP_OK && *out_number == 0)
        return HOOP_E_INVALID;
    return status;
}

static enum hoop_status
progression_parse(char *text, struct progression *out_progression)
{
    struct progression found = {.factor = 2};
    char *factor = strchr(text, ':');
    char *last = strstr(text, "..");
    enum hoop_status status = HOOP_OK;

    if (factor && !last)
        return HOOP_E_INVALID;
    if (factor) {
        *factor = '\0';
        status = number_parse(factor + 1, &found.factor);
    }
    if (last)
        *last = '\0';
    if (status == HOOP_OK)
        status = number_parse(text, &found.first);
    if (status == HOOP_OK)
        status = number_parse(last ? last + 2 : text, &found.last);
    if (status != HOOP_OK)
        return status;
    if (found.factor < 2 || found.last < found.first)
        return HOOP_E_INVALID;
    *out_progression = found;
    return HOOP_OK;
}

static enum hoop_status
number_add(struct number_list *list, size_t number)
{
    if (list->n_numbers == NUMBER_LIST_MAX)
        return HOOP_E_RANGE;
    list->numbers[list->n_numbers++] = number;
    return HOOP_OK;
}

static enum hoop_status
progression_add(struct number_list *list, const struct progression *progression)
{
    enum hoop_status status = HOOP_OK;
    size_t number = progression->first;

    while (status == HOOP_OK && number < progression->last) {
        status = number_add(list, number);
        number = number > progression->last / progression->factor
                     ? progression->last
                     : number * progression->factor;
    }
    return status == HOOP_OK ? number_add(list, progression->last) : status;
}

enum hoop_status
number_list_parse(const char *text, struct number_list *out_list)
{
    struct number_list list = {0};
    enum hoop_status status = HOOP_OK;

    while (status == HOOP_OK) {
        const size_t n_bytes = strcspn(text, ",");
        struct progression progression;
        char item[ITEM_TEXT_MAX];

        if (n_bytes >= sizeof(item))
            return HOOP_E_INVALID;
        snprintf(item, sizeof(item), "%.*s", (int)n_bytes, text);
        status = progression_parse(item, &progression);
        if (status == HOOP_OK)
            status = progression_add(&list, &progression);
        if (text[n_bytes] == '\0')
            break;
        text += n_bytes + 1;
    }
    if (status == HOOP_OK)
        *out_list = list;
    return status;
}
