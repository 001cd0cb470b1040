/* hoop/parameter.h - parameters, and callbacks around what is done with them
 *
 * A parameter is a tensor that belongs to a model. Whoever keeps parameters
 * elsewhere, cut over ranks or on a disk, hooks into the operations that use
 * them: fetches them before one, gives them up after it. An operation is two
 * callbacks of the program, forward and backward, with the list of its
 * operands; hoop calls the hooks around them. ColossalAI's ColoParameter and
 * ColoParamOpHook.
 *
 * All structs are the caller's memory, and so is all that they point to. Which
 * hooks are active, and which operations are overridden, is known per thread,
 * and is the only thing that is kept between calls. Everything is called in the
 * caller's thread, within the call that it belongs to.
 */

#ifndef HOOP_PARAMETER_H
#define HOOP_PARAMETER_H

#include <stdbool.h>
#include <stddef.h>

#include "hoop/api.h"
#include "hoop/status.h"
#include "hoop/tensor.h"

HOOP_BEGIN

/* In how many dimensions the ranks of a layer are laid out. ColossalAI's
 * ComputePattern, the same numbers. */
enum hoop_compute_pattern {
    HOOP_COMPUTE_TP1D = 0,
    HOOP_COMPUTE_TP2D = 1,
    HOOP_COMPUTE_TP2P5D = 2,
    HOOP_COMPUTE_TP3D = 3,
};

/* How a tensor takes part in computing: a label. */
struct hoop_compute {
    enum hoop_compute_pattern pattern;
    bool output_replicate; /* all ranks are to have the whole result */
};

/* *out_spec with output_replicate, which may be changed. ComputeSpec().
 * Handle: HOOP_E_INVALID (NULL, no such pattern). Thread: any. */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_compute_spec(enum hoop_compute_pattern pattern,
                  struct hoop_compute *out_spec);

/* ColossalAI's TensorType, the same numbers. */
enum hoop_param_kind {
    HOOP_PARAM_MODEL = 0,    /* hooks see it, as they see a ColoParameter */
    HOOP_PARAM_NONMODEL = 1, /* any other tensor: hooks do not */
};

struct hoop_param {
    const char *name; /* under which its module has it; NULL: none */
    struct hoop_tensor tensor;
    enum hoop_param_kind kind; /* whether hooks see it */
    /* Its module counts it among its parameters: hoop_named_params() lists it
     * behind those that no module does. torch's register_parameter(). */
    bool is_registered;
    bool requires_grad;
    const struct hoop_compute *compute; /* NULL: none */
    /* Whose part tensor is, owned by the parameter; NULL: none. Made by
     * hoop_param_init_spec() in hoop/dtensor.h. */
    struct hoop_dtensor *dtensor;
};

/*
 * A registered parameter of kind HOOP_PARAM_MODEL that requires a gradient,
 * without a compute spec; all of it may be changed. It is a view of tensor: name and data
 * are borrowed for its life. tensor NULL: an empty one, of shape (0) and
 * float32. ColoParameter().
 * Handle: HOOP_E_INVALID (out_param is NULL; as hoop_shape_count()).
 * Thread: any.
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_param_init(const char *name,
                const struct hoop_tensor *tensor,
                struct hoop_param *out_param);

/* The parameters of one operation, those of kind HOOP_PARAM_MODEL, in the order
 * of its operands; a parameter that is there twice counts twice. Other tensors
 * are left out, whether registered or not. */
struct hoop_param_list {
    size_t n_params; /* at least 1 */
    struct hoop_param *const *params;
};

/* Part of a hook. An error ends the operation, which returns it; what was to
 * follow is not called. */
typedef enum hoop_status
hoop_param_hook_fn(const struct hoop_param_list *params, void *owner);

/* Any of the four may be NULL. ColoParamOpHook. */
typedef struct hoop_param_hook {
    hoop_param_hook_fn *pre_forward;
    hoop_param_hook_fn *post_forward;
    hoop_param_hook_fn *pre_backward;
    hoop_param_hook_fn *post_backward;
    void *owner; /* handed to them */
} hoop_param_hook_t;

/* From hoop_param_hooks_use() to its release; its members are hoop's. */
struct hoop_param_hooks {
    const hoop_param_hook_t *const *hooks;
    size_t n_hooks;
    struct hoop_param_hooks *outer;
};

/*
 * Make these hooks, and no others, the active ones of the calling thread, until
 * they are released; none at all is fine. They are called in the order of the
 * list, forward and backward. Uses nest; a hook that itself runs operations on
 * parameters uses none around them, or it is called for them, too. scope and
 * all that hooks points to are borrowed until the release.
 * ColoParamOpHookManager.use_hooks().
 *
 * Handle: HOOP_E_INVALID (NULL, also in the list), HOOP_E_PRECONDITION (scope
 * is in use). Thread: any, each has its own.
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_param_hooks_use(struct hoop_param_hooks *scope,
                     const hoop_param_hook_t *const *hooks,
                     size_t n_hooks);

/*
 * Make those active again that were when scope was used. The last used is
 * released first, by the thread that used it, whatever has failed in between.
 * Handle: HOOP_E_INVALID (NULL), HOOP_E_PRECONDITION, and nothing changes (not
 * in use on this thread, or others were used after it: the text says how many).
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_param_hooks_release(struct hoop_param_hooks *scope);

/* What an operation is called with: a tensor, a list of operands, or, both
 * NULL, something else. */
struct hoop_operand {
    struct hoop_param *param;
    const struct hoop_operand *items; /* [n_items] */
    size_t n_items;
};

enum {
    HOOP_MAX_NESTING = 16 /* lists in lists */
};

struct hoop_param_op;

/* What an operation does; owner is op->owner, or the replacement's. */
typedef enum hoop_status
hoop_param_op_fn(const struct hoop_param_op *op, void *owner);

struct hoop_param_op {
    const char *name; /* for overriding; NULL: cannot be */
    hoop_param_op_fn *forward;
    hoop_param_op_fn *backward;          /* NULL: it has none */
    const struct hoop_operand *operands; /* [n_operands] */
    size_t n_operands;
    void *owner;
};

/*
 * Call forward, or backward, between the pre and the post callbacks of the
 * hooks that are active in this thread now, whichever they were in the other
 * direction. Each hook gets the parameters among the operands, lists in lists
 * laid out in order. Nothing but the operation is called when there is no
 * parameter among them, when the name begins with "__" (an internal operation),
 * and, backward, when no operand requires a gradient. Backward of several
 * operations is called by the caller, last operation first.
 *
 * Handle: HOOP_E_INVALID (NULL, no such callback, an operand that is both a
 * tensor and a list, lists nested deeper than HOOP_MAX_NESTING; nothing is
 * called), HOOP_E_EXHAUSTED, and whatever the callbacks return. Thread: any.
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_param_op_forward(const struct hoop_param_op *op);
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_param_op_backward(const struct hoop_param_op *op);

/* An own implementation of the operations of a name. */
struct hoop_op_replacement {
    const char *name;
    hoop_param_op_fn *forward;  /* NULL: the operation's own */
    hoop_param_op_fn *backward; /* NULL: the operation's own */
    void *owner;
    struct hoop_op_replacement *older; /* hoop's */
};

/*
 * Have operations of that name, with a tensor among their operands, done by
 * replacement's callbacks in the calling thread, until it is released; of
 * several, the last one counts. Hooks are called around it as around the
 * operation. replacement is borrowed until its release. ColossalAI's
 * op_wrapper, for good there.
 *
 * Handle: HOOP_E_INVALID (NULL, no name), HOOP_E_PRECONDITION (is in use).
 * Thread: any, each has its own.
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_op_override(struct hoop_op_replacement *replacement);

/* Take it out, in any order: what counted before counts again. Handle:
 * HOOP_E_INVALID (NULL), HOOP_E_PRECONDITION (not in use on this thread). */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_op_override_release(struct hoop_op_replacement *replacement);

/* Part of a model: tensors, and parts in it. */
struct hoop_module {
    const char *name;                 /* in the module that has it; unused
                                        for the whole model's */
    struct hoop_param *const *params; /* [n_params], registered or not */
    size_t n_params;
    const struct hoop_module *const *children; /* [n_children] */
    size_t n_children;
};

enum {
    HOOP_MAX_MODULE_DEPTH = 64 /* modules in modules: a loop would be endless */
};

enum hoop_named_scope {
    HOOP_NAMED_ALL, /* of the module and all in it; recurse=True */
    HOOP_NAMED_OWN, /* of the module itself; recurse=False */
};

struct hoop_named_param {
    char *name;
    struct hoop_param *param;
};

/* By hoop_named_params(), for hoop_named_params_free(). */
struct hoop_param_names {
    size_t n_params;
    struct hoop_named_param *params;
};

/*
 * List the tensors of a tree of modules under their full names, parts joined
 * by dots: prefix, the names of the modules below the first, the tensor's. Two
 * passes over the tree, each module before what is in it: all tensors that are
 * not registered, then all that are, of either kind. One that several have is
 * listed once, where it is met first.
 * named_params_with_colotensor(), which leaves out prefix and scope in the
 * second pass.
 *
 * prefix NULL or "": none. *out_params is the caller's.
 * Handle: HOOP_E_INVALID (NULL, also in the lists; a tensor or a module below
 * the first without a name; modules deeper than HOOP_MAX_MODULE_DEPTH),
 * HOOP_E_EXHAUSTED. Thread: any.
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_named_params(const struct hoop_module *module,
                  const char *prefix,
                  enum hoop_named_scope scope,
                  struct hoop_param_names *out_params);

/* Frees the list and the names. NULL and empty are fine. */
HOOP_API void
hoop_named_params_free(struct hoop_param_names *params);

HOOP_END

#endif
