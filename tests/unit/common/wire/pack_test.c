/* tests/unit/common/wire/pack_test.c - wire/pack.c */

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/limits.h"
#include "check.h"
#include "wire/pack.h"
#include "wire/unpack.h"

static void
pack_makes_msgpack_in_its_shortest_form(void **state)
{
    static const uint8_t expected[] = {
        0x97, 0x05, 0xcd, 0x12, 0x34, 0xff, 0xc3, 0xc0,
        0xa2, 'h',  'i',  0xc4, 0x02, 0x00, 0x01, 0xcc,
    };
    CLEANUP(pack_deinit) struct pack pack;
    CLEANUP(free) uint8_t *bytes = NULL;
    size_t n_bytes = 0;

    pack_init(&pack, 100);
    pack_array(&pack, 7);
    pack_uint(&pack, 5);
    pack_uint(&pack, 0x1234);
    pack_int(&pack, -1);
    pack_bool(&pack, true);
    pack_nil(&pack);
    pack_str(&pack, "hi");
    pack_bin(&pack, "\x00\x01", 2);
    pack_uint(&pack, 200);
    assert_ok(pack_take(&pack, &bytes, &n_bytes));
    assert_int_equal(n_bytes, sizeof(expected) + 1);
    assert_memory_equal(bytes, expected, sizeof(expected));
    assert_int_equal(bytes[n_bytes - 1], 200);
}

static void
pack_take_leaves_an_empty_pack_to_use_again(void **state)
{
    CLEANUP(pack_deinit) struct pack pack;

    pack_init(&pack, 100);
    for (int i = 0; i < 2; i++) {
        CLEANUP(free) uint8_t *bytes = NULL;
        size_t n_bytes = 0;

        pack_bool(&pack, false);
        assert_ok(pack_take(&pack, &bytes, &n_bytes));
        assert_int_equal(n_bytes, 1);
        assert_int_equal(bytes[0], 0xc2);
    }
}

static void
pack_over_its_limit_is_exhausted_once_and_for_all(void **state)
{
    CLEANUP(pack_deinit) struct pack pack;
    uint8_t *bytes = NULL;
    size_t n_bytes = 77;

    pack_init(&pack, 4);
    pack_str(&pack, "abc");
    assert_ok(pack_status(&pack));
    pack_uint(&pack, 1);
    assert_int_equal(pack_status(&pack), HOOP_E_EXHAUSTED);
    assert_non_null(strstr(error_text(), "4 bytes"));
    pack_array(&pack, 0);
    pack_nil(&pack);
    pack_bin(&pack, NULL, 0);
    assert_int_equal(pack_take(&pack, &bytes, &n_bytes), HOOP_E_EXHAUSTED);
    assert_null(bytes);
    assert_int_equal(n_bytes, 77);
}

static void
pack_head_fits_but_body_does_not_is_exhausted(void **state)
{
    CLEANUP(pack_deinit) struct pack pack;

    pack_init(&pack, 10);
    pack_str(&pack, "1234567890");
    assert_int_equal(pack_status(&pack), HOOP_E_EXHAUSTED);
}

static void
pack_incomplete_array_is_found(void **state)
{
    CLEANUP(pack_deinit) struct pack pack;

    pack_init(&pack, 100);
    pack_array(&pack, 2);
    pack_array(&pack, 1);
    assert_int_equal(pack_status(&pack), HOOP_E_INTERNAL);
    pack_nil(&pack);
    assert_int_equal(pack_status(&pack), HOOP_E_INTERNAL);
    pack_nil(&pack);
    assert_ok(pack_status(&pack));
}

static void
pack_deeper_than_readers_accept_is_found(void **state)
{
    CLEANUP(pack_deinit) struct pack pack;

    pack_init(&pack, 100);
    for (int i = 0; i < LIMIT_MESSAGE_DEPTH; i++)
        pack_array(&pack, 1);
    pack_nil(&pack);
    assert_ok(pack_status(&pack));

    for (int i = 0; i < LIMIT_MESSAGE_DEPTH; i++)
        pack_array(&pack, 1);
    pack_array(&pack, 0);
    assert_int_equal(pack_status(&pack), HOOP_E_INTERNAL);
}

static void
pack_null_text_is_empty(void **state)
{
    CLEANUP(pack_deinit) struct pack pack;

    pack_init(&pack, 100);
    pack_str(&pack, NULL);
    pack_bin(&pack, NULL, 0);
    assert_ok(pack_status(&pack));
    assert_int_equal(pack.n_bytes, 3);
}

static void
pack_numbers(struct pack *pack, uint64_t seed)
{
    pack_uint(pack, seed);
    pack_int(pack, (int64_t)seed);
    pack_int(pack, -(int64_t)(seed >> 1));
}

static void
unpack_numbers(struct unpack *unpack, uint64_t seed)
{
    assert_true(unpack_uint(unpack, UINT64_MAX) == seed);
    assert_true(unpack_int(unpack) == (int64_t)seed);
    assert_true(unpack_int(unpack) == -(int64_t)(seed >> 1));
}

static void
pack_and_unpack_agree_on_numbers_of_every_width(void **state)
{
    CLEANUP(pack_deinit) struct pack pack;
    struct unpack unpack;

    pack_init(&pack, LIMIT_RPC_MESSAGE);
    for (unsigned bit = 0; bit < 64; bit++) {
        pack_numbers(&pack, (uint64_t)1 << bit);
        pack_numbers(&pack, ((uint64_t)1 << bit) - 1);
    }
    assert_ok(pack_status(&pack));

    unpack_init(&unpack, pack.bytes, pack.n_bytes, LIMIT_RPC_MESSAGE);
    for (unsigned bit = 0; bit < 64; bit++) {
        unpack_numbers(&unpack, (uint64_t)1 << bit);
        unpack_numbers(&unpack, ((uint64_t)1 << bit) - 1);
    }
    assert_ok(unpack_status(&unpack));
    assert_true(unpack_is_end(&unpack));
}

static void
pack_and_unpack_agree_on_sizes_of_every_head(void **state)
{
    static const size_t sizes[] = {0, 1, 31, 32, 255, 256, 65535, 65536};
    CLEANUP(free) char *text = calloc(1, 65537);
    CLEANUP(pack_deinit) struct pack pack;
    struct unpack unpack;

    memset(text, 'x', 65536);
    pack_init(&pack, LIMIT_RPC_MESSAGE);
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        pack_bin(&pack, text, sizes[i]);
        pack_str(&pack, text + 65536 - sizes[i]);
        pack_array(&pack, sizes[i]);
        for (size_t element = 0; element < sizes[i]; element++)
            pack_nil(&pack);
    }
    assert_ok(pack_status(&pack));

    unpack_init(&unpack, pack.bytes, pack.n_bytes, LIMIT_RPC_MESSAGE);
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        assert_int_equal(unpack_bin(&unpack, 65536).n_bytes, sizes[i]);
        assert_int_equal(unpack_str(&unpack, 65536).n_bytes, sizes[i]);
        assert_int_equal(unpack_array(&unpack, 0), sizes[i]);
        unpack_skip(&unpack, sizes[i]);
    }
    assert_ok(unpack_status(&unpack));
    assert_true(unpack_is_end(&unpack));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pack_makes_msgpack_in_its_shortest_form),
        cmocka_unit_test(pack_take_leaves_an_empty_pack_to_use_again),
        cmocka_unit_test(pack_over_its_limit_is_exhausted_once_and_for_all),
        cmocka_unit_test(pack_head_fits_but_body_does_not_is_exhausted),
        cmocka_unit_test(pack_incomplete_array_is_found),
        cmocka_unit_test(pack_deeper_than_readers_accept_is_found),
        cmocka_unit_test(pack_null_text_is_empty),
        cmocka_unit_test(pack_and_unpack_agree_on_numbers_of_every_width),
        cmocka_unit_test(pack_and_unpack_agree_on_sizes_of_every_head),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
