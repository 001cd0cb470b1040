/* tests/unit/worker/parameters/named_params_test.c - names, each once */

#include <stdio.h>
#include <string.h>

#include "hoop/parameter.h"

#include "base/error.h"
#include "check.h"

static struct hoop_param w = {.name = "w", .kind = HOOP_PARAM_NONMODEL};
static struct hoop_param weight = {.name = "weight",
                                   .kind = HOOP_PARAM_NONMODEL};
static struct hoop_param bias = {.name = "bias",
                                 .kind = HOOP_PARAM_MODEL,
                                 .is_registered = true};

/* root has w and fc; fc has bias, a parameter, and weight, which is none. */
static struct hoop_param *const fc_params[] = {&bias, &weight};
static const struct hoop_module fc = {.name = "fc",
                                      .params = fc_params,
                                      .n_params = 2};
static struct hoop_param *const root_params[] = {&w};
static const struct hoop_module *const root_children[] = {&fc};
static const struct hoop_module root = {.params = root_params,
                                        .n_params = 1,
                                        .children = root_children,
                                        .n_children = 1};

/* names: joined by spaces. */
static void
expect_names(const struct hoop_module *module,
             const char *prefix,
             enum hoop_named_scope scope,
             const char *names)
{
    struct hoop_param_names found = {0};
    char text[512] = "";

    assert_int_equal(hoop_named_params(module, prefix, scope, &found), HOOP_OK);
    for (size_t i = 0; i < found.n_params; i++) {
        strcat(text, i > 0 ? " " : "");
        strcat(text, found.params[i].name);
        assert_non_null(
            strstr(found.params[i].name, found.params[i].param->name));
    }
    assert_string_equal(text, names);
    hoop_named_params_free(&found);
    assert_int_equal(found.n_params, 0);
    assert_null(found.params);
}

static void
names_have_prefix_path_and_order(void **state)
{
    (void)state;
    expect_names(&root, "m", HOOP_NAMED_ALL, "m.w m.fc.weight m.fc.bias");
    expect_names(&root, "m", HOOP_NAMED_OWN, "m.w");
    expect_names(&root, NULL, HOOP_NAMED_ALL, "w fc.weight fc.bias");
    expect_names(&root, "", HOOP_NAMED_OWN, "w");
    /* Both passes, also of a module below. */
    expect_names(&fc, "m", HOOP_NAMED_OWN, "m.weight m.bias");
    expect_names(&fc, NULL, HOOP_NAMED_ALL, "weight bias");
}

static void
module_of_nothing_has_no_names(void **state)
{
    const struct hoop_module empty = {0};

    (void)state;
    expect_names(&empty, "m", HOOP_NAMED_ALL, "");
    hoop_named_params_free(NULL);
}

static void
shared_tensors_are_named_once_where_they_are_met(void **state)
{
    struct hoop_param *const twice[] = {&weight, &weight, &bias};
    const struct hoop_module encoder = {
        .name = "encoder", .params = twice, .n_params = 3};
    const struct hoop_module *const parts[] = {&encoder, &fc, &encoder};
    const struct hoop_module model = {.params = root_params,
                                      .n_params = 1,
                                      .children = parts,
                                      .n_children = 3};
    struct hoop_module named = model;

    (void)state;
    expect_names(&model, NULL, HOOP_NAMED_ALL, "w encoder.weight encoder.bias");
    named.name = "model";
    const struct hoop_module *const inner[] = {&named};
    const struct hoop_module wrapped = {.children = inner, .n_children = 1};
    expect_names(&wrapped, "a.b", HOOP_NAMED_ALL,
                 "a.b.model.w a.b.model.encoder.weight "
                 "a.b.model.encoder.bias");
}

/* Of ColossalAI: an attribute that is a ColoTensor, one that is a
 * ColoParameter, a plain parameter, a ColoParameter. Which pass lists a tensor
 * is its registration's affair, and not that of its kind. */
static void
registered_tensors_are_listed_last_whatever_their_kind(void **state)
{
    static struct hoop_param tensor = {.name = "tensor",
                                       .kind = HOOP_PARAM_NONMODEL};
    static struct hoop_param loose = {.name = "loose",
                                      .kind = HOOP_PARAM_MODEL};
    static struct hoop_param plain = {
        .name = "plain", .kind = HOOP_PARAM_NONMODEL, .is_registered = true};
    struct hoop_param *const all[] = {&bias, &plain, &loose, &tensor};
    const struct hoop_module module = {
        .name = "fc", .params = all, .n_params = 4};
    const struct hoop_module *const children[] = {&module};
    const struct hoop_module model = {.params = root_params,
                                      .n_params = 1,
                                      .children = children,
                                      .n_children = 1};

    (void)state;
    expect_names(&module, "m", HOOP_NAMED_OWN,
                 "m.loose m.tensor m.bias m.plain");
    expect_names(&model, NULL, HOOP_NAMED_ALL,
                 "w fc.loose fc.tensor fc.bias fc.plain");
}

enum {
    N_MANY = 3000,
};

/* As many as the table has to tell apart, half of them twice. */
static void
many_tensors_are_all_there(void **state)
{
    static struct hoop_param many[N_MANY];
    static struct hoop_param *pointers[N_MANY + N_MANY / 2];
    static char names[N_MANY][16];
    struct hoop_param_names found = {0};
    const struct hoop_module module = {.params = pointers,
                                       .n_params = N_MANY + N_MANY / 2};

    (void)state;
    for (size_t i = 0; i < N_MANY; i++) {
        snprintf(names[i], sizeof(names[i]), "p%zu", i);
        many[i] =
            (struct hoop_param){.name = names[i], .kind = HOOP_PARAM_MODEL};
        pointers[i] = &many[i];
        if (i % 2 == 0)
            pointers[N_MANY + i / 2] = &many[i];
    }
    assert_int_equal(hoop_named_params(&module, "m", HOOP_NAMED_ALL, &found),
                     HOOP_OK);
    assert_int_equal(found.n_params, N_MANY);
    for (size_t i = 0; i < N_MANY; i++) {
        assert_ptr_equal(found.params[i].param, &many[i]);
        assert_string_equal(found.params[i].name + 2, names[i]);
    }
    hoop_named_params_free(&found);
}

static void
refused(const struct hoop_module *module, const char *why)
{
    struct hoop_param_names found = {7, NULL};

    assert_int_equal(hoop_named_params(module, "m", HOOP_NAMED_ALL, &found),
                     HOOP_E_INVALID);
    assert_non_null(strstr(error_text(), why));
    assert_int_equal(found.n_params, 7);
}

static void
tree_that_is_wrong_is_refused(void **state)
{
    struct hoop_param nameless = {.kind = HOOP_PARAM_MODEL};
    struct hoop_param *const params[] = {&w, &nameless, NULL};
    const struct hoop_module anonymous = {.name = ""};
    const struct hoop_module *const children[] = {&fc, &anonymous, NULL};
    struct hoop_param_names found;
    struct hoop_module module = {.params = params, .n_params = 2};
    volatile int outside = 2;

    (void)state;
    refused(&module, "params[1] of a module has no name");
    module.params = &params[2];
    module.n_params = 1;
    refused(&module, "params[0] of a module is NULL");
    module.params = NULL;
    refused(&module, "params are NULL");
    module = (struct hoop_module){.children = children, .n_children = 2};
    refused(&module, "children[1] of a module has no name");
    module.children = &children[2];
    module.n_children = 1;
    refused(&module, "children[0] of a module is NULL");
    module.children = NULL;
    refused(&module, "children are NULL");
    refused(NULL, "module is NULL");
    assert_int_equal(hoop_named_params(&root, NULL, HOOP_NAMED_ALL, NULL),
                     HOOP_E_INVALID);
    assert_int_equal(
        hoop_named_params(&root, NULL, (enum hoop_named_scope)outside, &found),
        HOOP_E_INVALID);
}

static void
module_in_itself_is_refused(void **state)
{
    struct hoop_module loop = {.name = "loop"};
    const struct hoop_module *const children[] = {&loop};

    (void)state;
    loop.children = children;
    loop.n_children = 1;
    refused(&loop, "more than 64 deep");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_have_prefix_path_and_order),
        cmocka_unit_test(module_of_nothing_has_no_names),
        cmocka_unit_test(shared_tensors_are_named_once_where_they_are_met),
        cmocka_unit_test(
            registered_tensors_are_listed_last_whatever_their_kind),
        cmocka_unit_test(many_tensors_are_all_there),
        cmocka_unit_test(tree_that_is_wrong_is_refused),
        cmocka_unit_test(module_in_itself_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
