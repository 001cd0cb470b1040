/*
 * tests/unit/common/base/escape_lines.c - escapes lines for escape_check.py
 *
 * Each line of standard input is a text in hexadecimal digits. Prints both of
 * its escaped forms, as text and as JSON, in hexadecimal digits again.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"

static void
hex_print(const char *text)
{
    for (; *text; text++)
        printf("%02x", (unsigned char)*text);
}

static void
line_print(const char *text)
{
    const size_t n_bytes = strlen(text) * ESCAPE_BYTES + 1;
    char *shown = malloc(n_bytes);

    if (!shown)
        abort();
    escape_text(text, shown, n_bytes);
    hex_print(shown);
    putchar(' ');
    while (*text) {
        text += escape_character(text, ESCAPE_JSON, shown);
        hex_print(shown);
    }
    putchar('\n');
    free(shown);
}

int
main(void)
{
    char *line = NULL;
    size_t n_line = 0;
    ssize_t n;

    while ((n = getline(&line, &n_line, stdin)) > 0) {
        size_t n_text = 0;
        unsigned byte;

        for (ssize_t at = 0; sscanf(line + at, "%2x", &byte) == 1; at += 2)
            line[n_text++] = (char)byte;
        line[n_text] = '\0';
        line_print(line);
    }
    free(line);
    return 0;
}
