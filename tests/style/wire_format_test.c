/*
 * tests/style/wire_format_test.c - docs/wire-format.md says what frame.c does
 *
 * Its table of fields is compared with wire/schema.h. Its blocks of bytes are
 * tests: `golden` decodes to the fields it lists and encodes to its bytes,
 * `accepted` decodes, `refused` does not; `hello`, `challenge`, `proof` and
 * `welcome` are a handshake; `int8` are blocks of a byte for each float. The
 * document is the argument.
 */

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "check.h"
#include "codec/loss.h"
#include "engine/call.h"
#include "transport/connect/handshake.h"
#include "transport/roster.h"
#include "wire/frame_tensor.h"
#include "wire/schema.h"

enum {
    LINE_MAX_BYTES = 256,
};

struct block {
    char name[16];
    size_t line;
    struct frame fields;
    struct frame_tensor tensor; /* FRAME_TENSOR */
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

/* "4,8", or "-" for no dimensions. */
static void
block_add_sizes(struct block *block, const char *text)
{
    struct hoop_shape *shape = &block->tensor.shape;
    char *end = NULL;

    for (const char *at = text; *at != '-' && *at; at = end + (*end == ',')) {
        assert_true(shape->n_dims < HOOP_MAX_DIMS);
        shape->dims[shape->n_dims++] = strtoull(at, &end, 0);
    }
}

static void
block_add_line(struct block *block, const char *line)
{
    char name[32];
    char value[128];
    unsigned byte;
    int n_read;

    if (sscanf(line, "%31s = %127s", name, value) == 2) {
        if (strcmp(name, "tensor.sizes") == 0)
            block_add_sizes(block, value);
        else if (strcmp(name, "tensor.part") == 0)
            block->tensor.part = (uint32_t)strtoull(value, NULL, 0);
        else
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

/* Counts do not travel: calls that have them cannot be checked. */
static void
assert_signature_is_of_call(const struct block *block)
{
    const struct frame_call *call = &block->fields.call;

    if (call->name == CALL_UNKNOWN || call->name > CALL_RECV)
        return;
    assert_true(call_signature(&(struct call){
                    .name = (enum call_name)call->name,
                    .dtype = (enum hoop_dtype)call->dtype,
                    .reduce_op = (enum hoop_reduce_op)call->reduce_op,
                    .root = call->root,
                    .count = call->count,
                }) == block->fields.signature);
}

static void
frame_check(const struct block *block)
{
    uint8_t bytes[LIMIT_FRAME_HEADER];
    struct frame frame;
    struct frame_tensor tensor = {0};
    enum hoop_status status = frame_decode(block->bytes, &frame);

    if (status == HOOP_OK && frame_is_tensor(&frame))
        status = frame_tensor_read(block->bytes, &tensor);
    if (strcmp(block->name, "refused") == 0) {
        assert_int_not_equal(status, HOOP_OK);
        return;
    }
    assert_ok(status);
    assert_fields_equal(block, &frame);
    assert_signature_is_of_call(block);
    assert_memory_equal(&tensor, &block->tensor, sizeof(tensor));
    frame_encode(&frame, bytes);
    if (frame_is_tensor(&frame))
        frame_tensor_append(&tensor, bytes);
    if (strcmp(block->name, "golden") == 0)
        assert_memory_equal(bytes, block->bytes, sizeof(bytes));
    else
        assert_memory_not_equal(bytes, block->bytes, sizeof(bytes));
}

typedef void
block_fn(const struct block *block, void *owner);

/* Every fenced block that has a name goes to on_block. */
static void
blocks_read(block_fn *on_block, void *owner)
{
    CLEANUP(file_close) FILE *file = NULL;
    char line[LINE_MAX_BYTES];
    struct block block = {0};
    bool is_inside = false;

    open_document(&file);
    for (size_t n_line = 1; fgets(line, sizeof(line), file); n_line++) {
        if (!is_inside) {
            block = (struct block){.line = n_line};
            is_inside = sscanf(line, "```%15s", block.name) == 1;
        } else if (strncmp(line, "```", 3) == 0) {
            assert_int_equal(block.n_bytes, sizeof(block.bytes));
            on_block(&block, owner);
            is_inside = false;
        } else {
            block_add_line(&block, line);
        }
    }
    assert_false(is_inside);
}

static void
on_frame_block(const struct block *block, void *owner)
{
    size_t *n_frames = owner;

    if (strcmp(block->name, "golden") != 0 &&
        strcmp(block->name, "accepted") != 0 &&
        strcmp(block->name, "refused") != 0)
        return;
    frame_check(block);
    (*n_frames)++;
}

static void
golden_frames_of_the_document_decode_and_encode(void **state)
{
    size_t n_frames = 0;

    blocks_read(on_frame_block, &n_frames);
    assert_int_equal(n_frames, 22);
}

static const char *const handshake_names[] = {
    "hello",
    "challenge",
    "proof",
    "welcome",
};

static void
on_handshake_block(const struct block *block, void *owner)
{
    uint8_t(*messages)[HANDSHAKE_MESSAGE_BYTES] = owner;

    for (size_t i = 0; i < COUNT_OF(handshake_names); i++)
        if (strcmp(block->name, handshake_names[i]) == 0)
            memcpy(messages[i], block->bytes, HANDSHAKE_MESSAGE_BYTES);
}

static void
golden_handshake_of_the_document_is_accepted(void **state)
{
    uint8_t messages[COUNT_OF(handshake_names)][HANDSHAKE_MESSAGE_BYTES] = {0};
    uint8_t proof[HANDSHAKE_MESSAGE_BYTES];
    struct member members[] = {{.incarnation = 17},
                               {.incarnation = 18, .rank = 1}};
    struct roster roster = {
        .job = "default", .epoch = 3, .size = 2, .members = members};
    struct handshake_key key;
    struct handshake dialer = {.key = &key, .roster = &roster, .peer = 1};
    enum handshake_answer answer = HANDSHAKE_REFUSED;

    blocks_read(on_handshake_block, messages);
    assert_ok(handshake_key_init(&key, "secret", &roster));
    memcpy(dialer.hello, messages[0], HANDSHAKE_MESSAGE_BYTES);
    memcpy(dialer.offer,
           messages[2] + HANDSHAKE_MESSAGE_BYTES - HANDSHAKE_OFFER_BYTES,
           HANDSHAKE_OFFER_BYTES);
    assert_ok(handshake_write_proof(&dialer, messages[1], proof));
    assert_memory_equal(proof, messages[2], HANDSHAKE_MESSAGE_BYTES);
    assert_ok(handshake_verify_proof(&dialer, messages[2]));
    assert_ok(handshake_verify_welcome(&dialer, messages[3], &answer));
    assert_int_equal(answer, HANDSHAKE_WELCOME);
}

/* Two scales and 126 bytes: as many as a frame's header. */
enum {
    INT8_FLOATS = sizeof((struct block){0}.bytes) - 2
};

static void
on_int8_block(const struct block *block, void *owner)
{
    float floats[INT8_FLOATS];
    float rounded[INT8_FLOATS];
    uint8_t bytes[sizeof(block->bytes)];
    size_t *n_blocks = owner;

    if (strcmp(block->name, "int8") != 0)
        return;
    for (int i = 0; i < INT8_FLOATS; i++)
        floats[i] = (float)(i - 63) * (3.0F / 16);
    floats[5] = NAN;
    floats[100] = INFINITY;
    loss_store(LOSS_INT8, (uint8_t *)floats, INT8_FLOATS, bytes);
    assert_memory_equal(bytes, block->bytes, sizeof(bytes));
    loss_load(LOSS_INT8, bytes, INT8_FLOATS, (uint8_t *)rounded);
    for (int i = 0; i < INT8_FLOATS; i++)
        assert_true(i == 5 || i == 100
                        ? isnan(rounded[i])
                        : fabsf(rounded[i] - floats[i]) <= 3.0F / 32);
    (*n_blocks)++;
}

static void
golden_int8_blocks_of_the_document_are_stored(void **state)
{
    size_t n_blocks = 0;

    blocks_read(on_int8_block, &n_blocks);
    assert_int_equal(n_blocks, 1);
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
        cmocka_unit_test(golden_handshake_of_the_document_is_accepted),
        cmocka_unit_test(golden_int8_blocks_of_the_document_are_stored),
        cmocka_unit_test(field_table_of_the_document_is_the_schema),
    };

    document = argc == 2 ? argv[1] : "docs/wire-format.md";
    return cmocka_run_group_tests(tests, NULL, NULL);
}
