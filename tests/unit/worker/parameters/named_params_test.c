/* tests/unit/worker/parameters/named_params_test.c - names, each once */

#include <stdio.h>
#include <string.h>

#include "hoop/parameter.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "check.h"
#include "parameters/param_op.h"

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

    assert_ok(hoop_named_params(module, prefix, scope, &found));
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

    for (size_t i = 0; i < N_MANY; i++) {
        snprintf(names[i], sizeof(names[i]), "p%zu", i);
        many[i] =
            (struct hoop_param){.name = names[i], .kind = HOOP_PARAM_MODEL};
        pointers[i] = &many[i];
        if (i % 2 == 0)
            pointers[N_MANY + i / 2] = &many[i];
    }
    assert_ok(hoop_named_params(&module, "m", HOOP_NAMED_ALL, &found));
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

    loop.children = children;
    loop.n_children = 1;
    refused(&loop, "more than 64 deep");
}

static void
compute_spec_replicates_its_output(void **state)
{
    struct hoop_compute spec = {HOOP_COMPUTE_TP1D, false};

    for (int pattern = 0; pattern < 4; pattern++) {
        assert_ok(hoop_compute_spec((enum hoop_compute_pattern)pattern, &spec));
        assert_int_equal(spec.pattern, pattern);
        assert_true(spec.output_replicate);
        spec.output_replicate = false;
    }
    assert_int_equal(HOOP_COMPUTE_TP1D, 0);
    assert_int_equal(HOOP_COMPUTE_TP2D, 1);
    assert_int_equal(HOOP_COMPUTE_TP2P5D, 2);
    assert_int_equal(HOOP_COMPUTE_TP3D, 3);
}

static void
compute_spec_of_no_pattern_is_refused(void **state)
{
    volatile int outside = 4;
    struct hoop_compute spec = {HOOP_COMPUTE_TP3D, false};

    assert_int_equal(
        hoop_compute_spec((enum hoop_compute_pattern)outside, &spec),
        HOOP_E_INVALID);
    assert_non_null(strstr(error_text(), "no compute pattern 4"));
    assert_int_equal(spec.pattern, HOOP_COMPUTE_TP3D);
    assert_int_equal(hoop_compute_spec(HOOP_COMPUTE_TP1D, NULL),
                     HOOP_E_INVALID);
}

static void
param_is_a_view_of_its_tensor(void **state)
{
    float values[6] = {0};
    const struct hoop_tensor tensor = {
        .data = values, .dtype = HOOP_FLOAT32, .shape = {2, {2, 3}}};
    struct hoop_param param;

    assert_int_equal(HOOP_PARAM_MODEL, 0);
    assert_int_equal(HOOP_PARAM_NONMODEL, 1);
    assert_ok(hoop_param_init("weight", &tensor, &param));
    assert_string_equal(param.name, "weight");
    assert_int_equal(param.kind, HOOP_PARAM_MODEL);
    assert_true(param.is_registered);
    assert_true(param.requires_grad);
    assert_null(param.compute);
    assert_ptr_equal(param.tensor.data, values);
    assert_true(hoop_shape_equal(&param.tensor.shape, &tensor.shape));
}

static void
param_without_a_tensor_is_empty(void **state)
{
    struct hoop_param param;
    size_t count = 1;

    assert_ok(hoop_param_init(NULL, NULL, &param));
    assert_null(param.tensor.data);
    assert_ok(hoop_shape_count(&param.tensor.shape, &count));
    assert_int_equal(count, 0);
    assert_int_equal(param.kind, HOOP_PARAM_MODEL);
}

static void
param_that_is_wrong_is_refused(void **state)
{
    const struct hoop_tensor deep = {.shape = {.n_dims = HOOP_MAX_DIMS + 1}};
    struct hoop_param param = {.kind = HOOP_PARAM_NONMODEL};

    assert_int_equal(hoop_param_init("w", NULL, NULL), HOOP_E_INVALID);
    assert_int_equal(hoop_param_init("w", &deep, &param), HOOP_E_INVALID);
    assert_int_equal(param.kind, HOOP_PARAM_NONMODEL);
}

enum {
    N_PARAMS = 4,
    OPERANDS_MAX = 64,
};

/* 0 and 1 are parameters, 2 is another tensor, which its module has registered,
 * 3 a parameter without a gradient: registration says nothing to hooks. */
static struct hoop_param params[N_PARAMS] = {
    {.kind = HOOP_PARAM_MODEL, .is_registered = true, .requires_grad = true},
    {.kind = HOOP_PARAM_MODEL, .requires_grad = true},
    {.kind = HOOP_PARAM_NONMODEL, .is_registered = true, .requires_grad = true},
    {.kind = HOOP_PARAM_MODEL, .requires_grad = false},
};

/* Operands as text: digits are tensors, parentheses lists, a dot something
 * else. Memory of operands is taken from the pool's end. */
struct pool {
    struct hoop_operand operands[OPERANDS_MAX];
    size_t n_taken;
};

/* Reads up to a closing parenthesis, or the end. */
static size_t
read_list(struct pool *pool, const char **text, struct hoop_operand **out_items)
{
    struct hoop_operand items[8] = {{0}};
    size_t n = 0;

    for (; **text && **text != ')'; (*text)++) {
        if (**text == '(') {
            struct hoop_operand *inner;

            (*text)++;
            items[n].n_items = read_list(pool, text, &inner);
            items[n].items = inner;
        } else if (**text != '.') {
            items[n].param = &params[**text - '0'];
        }
        n++;
    }
    *out_items = &pool->operands[pool->n_taken];
    memcpy(*out_items, items, n * sizeof(*items));
    pool->n_taken += n;
    return n;
}

static void
operands_are_listed_in_order(void **state)
{
    static const struct {
        const char *operands;
        const char *listed; /* parameters */
        struct param_operand_counts counts;
    } rows[] = {
        {"", "", {0, 0, 0}},
        {"...", "", {0, 0, 0}},
        {"()(())", "", {0, 0, 0}},
        {"0", "0", {1, 1, 1}},
        {"2", "", {1, 0, 1}},
        {"3", "3", {1, 1, 0}},
        {"10", "10", {2, 2, 2}},
        {"00(0)", "000", {3, 3, 3}},
        {"1(2(0)3)1.", "1031", {5, 4, 4}},
        {"(((1)0)3)", "103", {3, 3, 2}},
        {"(01)2(10)", "0110", {5, 4, 5}},
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct pool pool = {0};
        struct hoop_operand *operands;
        struct hoop_param *listed[8];
        struct param_operand_counts counts;
        const char *text = rows[i].operands;
        const size_t n = read_list(&pool, &text, &operands);

        assert_ok(param_operands_check_count(operands, n, &counts));
        assert_int_equal(counts.n_tensors, rows[i].counts.n_tensors);
        assert_int_equal(counts.n_params, rows[i].counts.n_params);
        assert_int_equal(counts.n_requiring_grad,
                         rows[i].counts.n_requiring_grad);
        assert_int_equal(param_operands_collect(operands, n, listed),
                         strlen(rows[i].listed));
        for (size_t k = 0; rows[i].listed[k]; k++)
            assert_ptr_equal(listed[k], &params[rows[i].listed[k] - '0']);
    }
}

static void
operands_that_nest_too_deep_are_refused(void **state)
{
    struct hoop_operand lists[HOOP_MAX_NESTING + 1] = {{0}};
    struct hoop_operand endless = {.n_items = 1};
    struct param_operand_counts counts;

    lists[0].param = &params[0];
    for (size_t i = 1; i < COUNT_OF(lists); i++)
        lists[i] = (struct hoop_operand){.items = &lists[i - 1], .n_items = 1};
    assert_ok(param_operands_check_count(&lists[HOOP_MAX_NESTING], 1, &counts));
    assert_int_equal(counts.n_params, 1);
    const struct hoop_operand deeper = {.items = &lists[HOOP_MAX_NESTING],
                                        .n_items = 1};
    assert_int_equal(param_operands_check_count(&deeper, 1, &counts),
                     HOOP_E_INVALID);
    assert_non_null(strstr(error_text(), "16 lists"));
    endless.items = &endless;
    assert_int_equal(param_operands_check_count(&endless, 1, &counts),
                     HOOP_E_INVALID);
}

static void
operands_that_are_wrong_are_refused(void **state)
{
    const struct hoop_operand both = {&params[0], &(struct hoop_operand){0}, 1};
    const struct hoop_operand nowhere = {.n_items = 2};
    struct param_operand_counts counts = {7, 7, 7};

    assert_int_equal(param_operands_check_count(&both, 1, &counts),
                     HOOP_E_INVALID);
    assert_non_null(strstr(error_text(), "operand 0 is both"));
    assert_int_equal(param_operands_check_count(&nowhere, 1, &counts),
                     HOOP_E_INVALID);
    assert_non_null(strstr(error_text(), "2 operands, but they are NULL"));
    assert_int_equal(param_operands_check_count(NULL, 1, &counts),
                     HOOP_E_INVALID);
    assert_int_equal(counts.n_tensors, 7);
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
        cmocka_unit_test(compute_spec_replicates_its_output),
        cmocka_unit_test(compute_spec_of_no_pattern_is_refused),
        cmocka_unit_test(param_is_a_view_of_its_tensor),
        cmocka_unit_test(param_without_a_tensor_is_empty),
        cmocka_unit_test(param_that_is_wrong_is_refused),
        cmocka_unit_test(operands_are_listed_in_order),
        cmocka_unit_test(operands_that_nest_too_deep_are_refused),
        cmocka_unit_test(operands_that_are_wrong_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
