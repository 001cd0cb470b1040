/*
 * tests/style/wire_format_test.c - docs/wire-format.md says what frame.c does
 *
 * Its table of fields is compared with wire/schema.h. Its blocks of bytes are
 * tests: `golden` decodes to the fields it lists and encodes to its bytes,
 * `accepted` decodes, `refused` does not. The document is the argument.
 */

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "check.h"
#include "wire/frame.h"
#include "wire/schema.h"

enum {
    LINE_MAX_BYTES = 256,
};

struct block {
    char name[16];
    size_t line;
    struct frame fields;
    size_t n_bytes;
    uint8_t bytes[LIMIT_FRAME_HEADER];
};

static const char *document;

static void
open_document(FILE **out_file)
{
    *out_file = fopen(document, "r");
    assert_non_null(*out_file);
}

static void
file_close(FILE *file)
{
    if (file)
        fclose(file);
}
DEFINE_CLEANUP(FILE *, file_close)

static void
block_add_field(struct block *block, const char *name, uint64_t value)
{
    bool is_known = false;

#define FIELD_SET(field, type, max)                                            \
    if (strcmp(name, #field) == 0) {                                           \
        block->fields.field = (type)value;                                     \
        is_known = true;                                                       \
    }
    FRAME_FIELDS(FIELD_SET)

    if (!is_known)
        fail_msg("%s:%zu: no field %s", document, block->line, name);
}

static void
block_add_line(struct block *block, const char *line)
{
    char name[32];
    char value[32];
    unsigned byte;
    int n_read;

    if (sscanf(line, "%31s = %31s", name, value) == 2) {
        block_add_field(block, name, strtoull(value, NULL, 0));
        return;
    }
    for (; sscanf(line, "%2x%n", &byte, &n_read) == 1; line += n_read) {
        assert_true(block->n_bytes < sizeof(block->bytes));
        block->bytes[block->n_bytes++] = (uint8_t)byte;
    }
}

static void
assert_fields_equal(const struct block *block, const struct frame *frame)
{
#define FIELD_COMPARE(field, type, max)                                        \
    if (block->fields.field != frame->field)                                   \
        fail_msg("%s:%zu: field %s is %llu", document, block->line, #field,    \
                 (unsigned long long)frame->field);
    FRAME_FIELDS(FIELD_COMPARE)
}

static void
block_check(const struct block *block)
{
    uint8_t bytes[LIMIT_FRAME_HEADER];
    struct frame frame;
    const enum hoop_status status = frame_decode(block->bytes, &frame);

    assert_int_equal(block->n_bytes, LIMIT_FRAME_HEADER);
    if (strcmp(block->name, "refused") == 0) {
        assert_int_not_equal(status, HOOP_OK);
        return;
    }
    assert_int_equal(status, HOOP_OK);
    assert_fields_equal(block, &frame);
    frame_encode(&frame, bytes);
    if (strcmp(block->name, "golden") == 0)
        assert_memory_equal(bytes, block->bytes, sizeof(bytes));
    else
        assert_memory_not_equal(bytes, block->bytes, sizeof(bytes));
}

/* ```golden, ```accepted, ```refused */
static bool
block_begin(struct block *block, const char *line, size_t n_line)
{
    *block = (struct block){.line = n_line};
    return sscanf(line, "```%15s", block->name) == 1 &&
           (strcmp(block->name, "golden") == 0 ||
            strcmp(block->name, "accepted") == 0 ||
            strcmp(block->name, "refused") == 0);
}

static void
golden_frames_of_the_document_decode_and_encode(void **state)
{
    CLEANUP(file_close) FILE *file = NULL;
    char line[LINE_MAX_BYTES];
    struct block block = {0};
    size_t n_blocks = 0;
    size_t n_line = 0;
    bool is_inside = false;

    (void)state;
    open_document(&file);
    while (fgets(line, sizeof(line), file)) {
        n_line++;
        if (!is_inside) {
            is_inside = block_begin(&block, line, n_line);
        } else if (strncmp(line, "```", 3) == 0) {
            block_check(&block);
            n_blocks++;
            is_inside = false;
        } else {
            block_add_line(&block, line);
        }
    }
    assert_false(is_inside);
    assert_in_range(n_blocks, 16, 100);
}

/* As the table writes it. */
static void
max_print(uint64_t max, char text[32])
{
    if (max == UINT64_MAX)
        snprintf(text, 32, "2^64-1");
    else if (max == UINT32_MAX)
        snprintf(text, 32, "2^32-1");
    else
        snprintf(text, 32, "%llu", (unsigned long long)max);
}

static void
assert_next_row(FILE *file, size_t number, const char *field, uint64_t max)
{
    char line[LINE_MAX_BYTES];
    char expected[LINE_MAX_BYTES];
    char max_text[32];

    max_print(max, max_text);
    snprintf(expected, sizeof(expected), "| %zu | `%s` | %s | ", number, field,
             max_text);
    assert_non_null(fgets(line, sizeof(line), file));
    line[strlen(expected)] = '\0';
    assert_string_equal(line, expected);
}

static void
field_table_of_the_document_is_the_schema(void **state)
{
    CLEANUP(file_close) FILE *file = NULL;
    char line[LINE_MAX_BYTES] = "";
    size_t n_fields = 0;

    (void)state;
    open_document(&file);
    while (strncmp(line, "| # | field | greatest |", 24) != 0)
        assert_non_null(fgets(line, sizeof(line), file));
    assert_non_null(fgets(line, sizeof(line), file));

#define FIELD_ROW(field, type, max)                                            \
    assert_next_row(file, n_fields++, #field, (max));
    FRAME_FIELDS(FIELD_ROW)

    assert_non_null(fgets(line, sizeof(line), file));
    assert_string_equal(line, "\n");
}

int
main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_frames_of_the_document_decode_and_encode),
        cmocka_unit_test(field_table_of_the_document_is_the_schema),
    };

    document = argc == 2 ? argv[1] : "docs/wire-format.md";
    return cmocka_run_group_tests(tests, NULL, NULL);
}
