/* hoopctl/json.c - prints one JSON object on standard output */

#include "hoopctl/json.h"

#include <stdio.h>
#include <stdlib.h>

#include "hoopctl/shown.h"

static const char digits[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void
json_print(json_t *object)
{
    if (!object) {
        fprintf(stderr, "hoopctl: no memory for the output\n");
        exit(EXIT_FAILURE);
    }
    /* Letters beyond ASCII are escaped, since some move a terminal's cursor. */
    json_dumpf(object, stdout, JSON_INDENT(2) | JSON_ENSURE_ASCII);
    putchar('\n');
    json_decref(object);
}

json_t *
json_text(const char *text)
{
    json_t *value = json_string(text);
    struct shown shown;

    return value ? value : json_string(show(text, &shown));
}

json_t *
json_number(uint64_t number)
{
    char text[24];

    if (number <= INT64_MAX)
        return json_integer((json_int_t)number);
    snprintf(text, sizeof(text), "%llu", (unsigned long long)number);
    return json_string(text);
}

/* Encode three bytes, of which n_bytes are present, as four digits. */
static void
group_encode(const uint8_t *bytes, size_t n_bytes, char *out)
{
    uint32_t bits = (uint32_t)bytes[0] << 16;

    if (n_bytes > 1)
        bits |= (uint32_t)bytes[1] << 8;
    if (n_bytes > 2)
        bits |= bytes[2];
    for (int i = 0; i < 4; i++)
        out[i] = digits[(bits >> (18 - 6 * i)) & 63];
    for (size_t i = n_bytes; i < 3; i++)
        out[i + 1] = '=';
}

static json_t *
base64(const uint8_t *bytes, size_t n_bytes)
{
    const size_t n_groups = (n_bytes + 2) / 3;
    char *text = malloc(n_groups * 4 + 1);

    if (!text)
        return NULL;
    for (size_t i = 0; i < n_groups; i++)
        group_encode(bytes + 3 * i, n_bytes - 3 * i < 3 ? n_bytes - 3 * i : 3,
                     text + 4 * i);
    json_t *value = json_stringn(text, n_groups * 4);
    free(text);
    return value;
}

json_t *
json_value(const struct json_bytes *value, const char **out_encoding)
{
    json_t *text =
        json_stringn(value->bytes ? value->bytes : "", value->n_bytes);

    *out_encoding = text ? "utf-8" : "base64";
    return text ? text : base64(value->bytes, value->n_bytes);
}
