/* tests/unit/common/base/hmac_test.c - base/hmac.c against RFC 4231 */

#include <string.h>

#include "base/cleanup.h"
#include "base/hmac.h"
#include "check.h"
#include "fence.h"

/* A key or text: as written, or one byte that is repeated. */
struct input {
    const char *text;
    uint8_t byte;
    size_t n_times;
};

/* RFC 4231, test cases 1 to 4, 6 and 7. */
static const struct {
    struct input key;
    struct input text;
    uint8_t mac[HMAC_BYTES];
} vectors[] = {
    {
        {NULL, 0x0b, 20},
        {"Hi There", 0, 0},
        {0xb0, 0x34, 0x4c, 0x61, 0xd8, 0xdb, 0x38, 0x53, 0x5c, 0xa8, 0xaf,
         0xce, 0xaf, 0x0b, 0xf1, 0x2b, 0x88, 0x1d, 0xc2, 0x00, 0xc9, 0x83,
         0x3d, 0xa7, 0x26, 0xe9, 0x37, 0x6c, 0x2e, 0x32, 0xcf, 0xf7},
    },
    {
        {"Jefe", 0, 0},
        {"what do ya want for nothing?", 0, 0},
        {0x5b, 0xdc, 0xc1, 0x46, 0xbf, 0x60, 0x75, 0x4e, 0x6a, 0x04, 0x24,
         0x26, 0x08, 0x95, 0x75, 0xc7, 0x5a, 0x00, 0x3f, 0x08, 0x9d, 0x27,
         0x39, 0x83, 0x9d, 0xec, 0x58, 0xb9, 0x64, 0xec, 0x38, 0x43},
    },
    {
        {NULL, 0xaa, 20},
        {NULL, 0xdd, 50},
        {0x77, 0x3e, 0xa9, 0x1e, 0x36, 0x80, 0x0e, 0x46, 0x85, 0x4d, 0xb8,
         0xeb, 0xd0, 0x91, 0x81, 0xa7, 0x29, 0x59, 0x09, 0x8b, 0x3e, 0xf8,
         0xc1, 0x22, 0xd9, 0x63, 0x55, 0x14, 0xce, 0xd5, 0x65, 0xfe},
    },
    {
        {"\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f\x10\x11"
         "\x12\x13\x14\x15\x16\x17\x18\x19",
         0, 0},
        {NULL, 0xcd, 50},
        {0x82, 0x55, 0x8a, 0x38, 0x9a, 0x44, 0x3c, 0x0e, 0xa4, 0xcc, 0x81,
         0x98, 0x99, 0xf2, 0x08, 0x3a, 0x85, 0xf0, 0xfa, 0xa3, 0xe5, 0x78,
         0xf8, 0x07, 0x7a, 0x2e, 0x3f, 0xf4, 0x67, 0x29, 0x66, 0x5b},
    },
    {
        {NULL, 0xaa, 131},
        {"Test Using Larger Than Block-Size Key - Hash Key First", 0, 0},
        {0x60, 0xe4, 0x31, 0x59, 0x1e, 0xe0, 0xb6, 0x7f, 0x0d, 0x8a, 0x26,
         0xaa, 0xcb, 0xf5, 0xb7, 0x7f, 0x8e, 0x0b, 0xc6, 0x21, 0x37, 0x28,
         0xc5, 0x14, 0x05, 0x46, 0x04, 0x0f, 0x0e, 0xe3, 0x7f, 0x54},
    },
    {
        {NULL, 0xaa, 131},
        {"This is a test using a larger than block-size key and a"
         " larger than block-size data. The key needs to be hashe"
         "d before being used by the HMAC algorithm.",
         0, 0},
        {0x9b, 0x09, 0xff, 0xa7, 0x1b, 0x94, 0x2f, 0xcb, 0x27, 0x63, 0x5f,
         0xbc, 0xd5, 0xb0, 0xe9, 0x44, 0xbf, 0xdc, 0x63, 0x64, 0x4f, 0x07,
         0x13, 0x93, 0x8a, 0x7f, 0x51, 0x53, 0x5c, 0x3a, 0x35, 0xe2},
    },
};

static struct hmac_span
input_expand(const struct input *input, uint8_t out[256])
{
    if (input->text)
        return (struct hmac_span){input->text, strlen(input->text)};
    memset(out, input->byte, input->n_times);
    return (struct hmac_span){out, input->n_times};
}

static void
hmac_of_rfc_4231_vectors_is_theirs(void **state)
{
    for (size_t i = 0; i < COUNT_OF(vectors); i++) {
        uint8_t key[256];
        uint8_t text[256];
        uint8_t mac[HMAC_BYTES];
        const struct hmac_span part = input_expand(&vectors[i].text, text);

        assert_ok(
            hmac_sha256(input_expand(&vectors[i].key, key), &part, 1, mac));
        assert_memory_equal(mac, vectors[i].mac, HMAC_BYTES);
    }
}

static void
hmac_does_not_depend_on_how_text_is_cut(void **state)
{
    const struct hmac_span key = {"Jefe", 4};
    const struct hmac_span parts[] = {
        {"what do ya", 10}, {NULL, 0}, {" want", 5}, {" for nothing?", 13}};
    uint8_t mac[HMAC_BYTES];

    assert_ok(hmac_sha256(key, parts, COUNT_OF(parts), mac));
    assert_memory_equal(mac, vectors[1].mac, HMAC_BYTES);
}

static void
hmac_of_empty_key_and_nothing_is_defined(void **state)
{
    /* HMAC_SHA256("", ""), as in every other implementation. */
    static const uint8_t expected[] = {0xb6, 0x13, 0x67, 0x9a};
    uint8_t mac[HMAC_BYTES];

    assert_ok(hmac_sha256((struct hmac_span){NULL, 0}, NULL, 0, mac));
    assert_memory_equal(mac, expected, sizeof(expected));
}

static void
hmac_equal_sees_every_single_bit(void **state)
{
    uint8_t other[HMAC_BYTES];

    memcpy(other, vectors[0].mac, HMAC_BYTES);
    assert_true(hmac_equal(vectors[0].mac, other));
    for (size_t bit = 0; bit < 8 * HMAC_BYTES; bit++) {
        other[bit / 8] ^= (uint8_t)(1 << bit % 8);
        assert_false(hmac_equal(vectors[0].mac, other));
        other[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
}

static bool
macs_compare(const void *left, const void *right)
{
    return hmac_equal(left, right);
}

/* Of the left one only the first byte can be read. */
static void
hmac_equal_reads_on_where_they_differ(void **state)
{
    uint8_t *left = fence_before(1);

    *left = (uint8_t)~vectors[0].mac[0];
    assert_true(fence_stops(macs_compare, left, vectors[0].mac));
    assert_false(fence_stops(macs_compare, vectors[1].mac, vectors[0].mac));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hmac_of_rfc_4231_vectors_is_theirs),
        cmocka_unit_test(hmac_does_not_depend_on_how_text_is_cut),
        cmocka_unit_test(hmac_of_empty_key_and_nothing_is_defined),
        cmocka_unit_test(hmac_equal_sees_every_single_bit),
        cmocka_unit_test(hmac_equal_reads_on_where_they_differ),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
