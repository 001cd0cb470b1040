/* tests/unit/common/rpc/method_test.c - rpc/method.c */

#include <string.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "check.h"
#include "rpc/method.h"

static void
method_table_is_in_the_order_of_its_ids(void **state)
{
    for (size_t i = 0; i < METHOD_COUNT; i++)
        assert_int_equal(method_by_id((enum method_id)i)->id, i);
}

static void
method_names_are_well_formed_and_unlike(void **state)
{
    for (size_t i = 0; i < METHOD_COUNT; i++) {
        const char *name = method_by_id((enum method_id)i)->name;

        assert_true(strlen(name) < LIMIT_NAME);
        assert_memory_equal(name, "hoop.v1.", 8);
        assert_non_null(strchr(name, '/'));
        assert_ptr_equal(method_find(name, strlen(name)),
                         method_by_id((enum method_id)i));
    }
}

static void
method_that_polls_changes_nothing_for_good(void **state)
{
    /* A reply that is kept must not wait for somebody else. */
    for (size_t i = 0; i < METHOD_COUNT; i++) {
        if (method_by_id((enum method_id)i)->answer == METHOD_LONG_POLL)
            assert_int_not_equal(method_by_id((enum method_id)i)->effect,
                                 METHOD_CHANGES);
    }
}

/* Which may be called without the job's own token; a new method may not. */
static void
method_roles_are_these(void **state)
{
    static const struct {
        enum method_id id;
        enum role role;
    } lesser[] = {
        {METHOD_RENDEZVOUS_WATCH, ROLE_OPERATOR},
        {METHOD_RENDEZVOUS_MEMBERS, ROLE_OPERATOR},
        {METHOD_GROUPS_GET, ROLE_OPERATOR},
        {METHOD_GROUPS_LIST, ROLE_OPERATOR},
        {METHOD_STATUS_JOB, ROLE_OPERATOR},
        {METHOD_STATUS_WHY, ROLE_OPERATOR},
        {METHOD_STATUS_RECORDING, ROLE_OPERATOR},
        {METHOD_STATUS_JOBS, ROLE_METRICS},
        {METHOD_HEALTH_CHECK, ROLE_ANYBODY},
        {METHOD_AUTH_CHALLENGE, ROLE_ANYBODY},
        {METHOD_AUTH_PROVE, ROLE_ANYBODY},
    };

    for (size_t i = 0; i < METHOD_COUNT; i++) {
        enum role expected = ROLE_WORKER;

        for (size_t j = 0; j < COUNT_OF(lesser); j++) {
            if (lesser[j].id == method_by_id((enum method_id)i)->id)
                expected = lesser[j].role;
        }
        assert_int_equal(method_by_id((enum method_id)i)->role, expected);
        /* Who may only look changes nothing. */
        if (expected != ROLE_WORKER && i < METHOD_AUTH_CHALLENGE)
            assert_int_equal(method_by_id((enum method_id)i)->effect,
                             METHOD_READS);
    }
}

/* A full disk refuses what adds to the data, and nothing that a member needs in
 * order to continue. */
static void
methods_that_a_full_disk_refuses_are_these(void **state)
{
    static const enum method_id adding[] = {
        METHOD_RENDEZVOUS_JOIN,   METHOD_STORE_SET,    METHOD_STORE_ADD,
        METHOD_STORE_COMPARE_SET, METHOD_STORE_DELETE, METHOD_GROUPS_CREATE,
        METHOD_GROUPS_JOIN,
    };

    for (size_t i = 0; i < METHOD_COUNT; i++) {
        const struct method *method = method_by_id((enum method_id)i);
        enum method_need expected = METHOD_NEEDED;

        for (size_t j = 0; j < COUNT_OF(adding); j++) {
            if (adding[j] == method->id)
                expected = METHOD_DEFERRABLE;
        }
        assert_int_equal(method->need, expected);
        if (expected == METHOD_DEFERRABLE)
            assert_int_not_equal(method->effect, METHOD_READS);
    }
}

/* What a message has, also in its records and in the elements of its lists. */
struct message_contents {
    size_t n_rooms;
    size_t n_lists;
    size_t n_keys_in_lists;
    size_t n_keys_beside;
};

static void
contents_add(struct message_contents *contents,
             const struct message_descriptor *descriptor,
             size_t depth)
{
    for (size_t i = 0; i < descriptor->n_fields; i++) {
        const struct message_field *field = &descriptor->fields[i];
        const bool is_list = field->kind == FIELD_LIST;
        const enum field_kind kind = is_list ? field->element : field->kind;

        contents->n_lists += is_list;
        contents->n_rooms += kind == FIELD_ROOM;
        if (kind == FIELD_KEY && (is_list || depth > 0))
            contents->n_keys_in_lists++;
        else if (kind == FIELD_KEY)
            contents->n_keys_beside++;
        else if (kind == FIELD_RECORD)
            contents_add(contents, field->record(), depth + is_list);
    }
}

/* The rule of ROOM() in rpc/messages/message.h: the decoder allocates memory
 * for keys once, when it knows the length of the only list. */
static void
message_with_keys_begins_with_room_and_has_one_list(void **state)
{
    size_t n_with_keys = 0;

    for (size_t i = 0; i < 2 * METHOD_COUNT; i++) {
        const struct method *method = method_by_id((enum method_id)(i / 2));
        const struct message_descriptor *descriptor =
            i % 2 ? method->request() : method->reply();
        struct message_contents contents = {0};

        if (!descriptor)
            continue;
        contents_add(&contents, descriptor, 0);
        assert_int_equal(contents.n_keys_beside, 0);
        assert_int_equal(contents.n_rooms, contents.n_keys_in_lists > 0);
        if (contents.n_keys_in_lists == 0)
            continue;
        assert_int_equal(descriptor->fields[0].kind, FIELD_ROOM);
        assert_int_equal(contents.n_lists, 1);
        assert_int_equal(contents.n_keys_in_lists, 1);
        n_with_keys++;
    }
    assert_true(n_with_keys > 0);
}

static void
method_unknown_is_not_found(void **state)
{
    assert_null(method_find("", 0));
    assert_null(method_find("hoop.v1.Store/Ge", 16));
    assert_null(method_find("hoop.v1.Store/Get\0", 18));
    assert_null(method_find("hoop.v1.Store/get", 17));
    assert_non_null(method_find("hoop.v1.Store/Get and more", 17));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(method_table_is_in_the_order_of_its_ids),
        cmocka_unit_test(method_names_are_well_formed_and_unlike),
        cmocka_unit_test(method_that_polls_changes_nothing_for_good),
        cmocka_unit_test(method_roles_are_these),
        cmocka_unit_test(methods_that_a_full_disk_refuses_are_these),
        cmocka_unit_test(message_with_keys_begins_with_room_and_has_one_list),
        cmocka_unit_test(method_unknown_is_not_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
