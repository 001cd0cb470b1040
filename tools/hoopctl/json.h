/* hoopctl/json.h - prints one JSON object on standard output */

#ifndef HOOPCTL_JSON_H
#define HOOPCTL_JSON_H

#include <jansson.h>
#include <stdint.h>

/* Print object and a newline, and release it. NULL (no memory) ends the
 * program. */
void
json_print(json_t *object);

/* A text that should be UTF-8; other bytes are escaped. */
json_t *
json_text(const char *text);

/* A number above 2^63 does not fit a JSON integer here and becomes a text. */
json_t *
json_number(uint64_t number);

/* The bytes as a text if they are UTF-8, else their base64 (*out_encoding says
 * "utf-8" or "base64"; static). */
struct json_bytes {
    const void *bytes;
    size_t n_bytes;
};
json_t *
json_value(const struct json_bytes *value, const char **out_encoding);

#endif
