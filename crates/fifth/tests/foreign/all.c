/* What a library may do, and what it may do wrong. */
#include "fifth_foreign.h"
#include <stdatomic.h>

static int copy(fifth_args *args) { return fifth_set(args, 1, fifth_copy(fifth_arg(args, 0))); }

static int same(fifth_args *args) { return fifth_set_same(args, 1, 0); }

static int add(fifth_args *args) {
    int64_t a, b;
    if (fifth_arg_integer(args, 0, &a) || fifth_arg_integer(args, 1, &b)) return FIFTH_ERROR;
    return fifth_set_integer(args, 2, a + b);
}

static int half(fifth_args *args) {
    double x;
    if (fifth_arg_float(args, 0, &x)) return FIFTH_ERROR;
    return fifth_set_float(args, 1, x / 2);
}

/* The first of two that has a value. */
static int either(fifth_args *args) {
    int one = fifth_kind_of(fifth_arg(args, 0)) != FIFTH_VARIABLE;
    int other = fifth_kind_of(fifth_arg(args, 1)) != FIFTH_VARIABLE;
    fifth_set_integer(args, 2, -1);
    if (!one && !other) return FIFTH_WAIT(1);
    return fifth_set_same(args, 2, one ? 0 : 1);
}

/* What is behind the items of a list, which is waited for. */
static int length(fifth_args *args) {
    const fifth_value *list = fifth_arg(args, 0);
    size_t size = fifth_size(list);
    if (size && fifth_kind_of(fifth_part(list, size)) == FIFTH_VARIABLE)
        return fifth_wait_for(args, fifth_part(list, size));
    return fifth_set_integer(args, 1, (int64_t)size);
}

static int fresh(fifth_args *args) {
    fifth_value *parts[] = {fifth_variable(0), fifth_variable(1), fifth_variable(0)};
    return fifth_set(args, 0, fifth_structure("f", 3, parts));
}

/* f(X, X) of a variable X. */
static int twice(fifth_args *args) {
    const fifth_value *variable = fifth_arg(args, 0);
    fifth_value *parts[] = {fifth_copy(variable), fifth_copy(variable)};
    return fifth_set(args, 1, fifth_vector(2, parts));
}

/* The sum of eleven. */
static int many(fifth_args *args) {
    int64_t sum = 0, item;
    for (size_t i = 0; i + 1 < fifth_args_count(args); i++) {
        if (fifth_arg_integer(args, i, &item)) return FIFTH_ERROR;
        sum += item;
    }
    return fifth_set_integer(args, 11, sum);
}

/* Counts itself, and never two at a time. */
static atomic_int inside, calls;
static int alone(fifth_args *args) {
    if (atomic_fetch_add(&inside, 1) != 0) return fifth_fail(args, "two at a time");
    for (volatile int i = 0; i < 2000; i++) continue;
    calls++;
    atomic_fetch_sub(&inside, 1);
    return fifth_set_integer(args, 1, calls);
}

static int fails(fifth_args *args) { return fifth_fail(args, "the reason"); }
static int silent(fifth_args *args) { (void)args; return FIFTH_ERROR; }
static int unset(fifth_args *args) { (void)args; return FIFTH_DONE; }
static int odd(fifth_args *args) { (void)args; return 77; }
static int idle(fifth_args *args) { (void)args; return FIFTH_WAIT(0); }
static int beyond(fifth_args *args) { return fifth_set_integer(args, 7, 1); }
static int input(fifth_args *args) { return fifth_set_integer(args, 0, 1); }
static int null(fifth_args *args) { return fifth_set(args, 1, fifth_list(1, (fifth_value *[]){NULL})); }

FIFTH_LIBRARY(
    "all", FIFTH_SERIAL, {"copy", "go", copy}, {"same", "ao", same}, {"add", "iio", add}, {"half", "io", half},
    {"either", "aao", either}, {"length", "io", length}, {"fresh", "o", fresh}, {"twice", "ao", twice},
    {"many", "iiiiiiiiiiio", many}, {"alone", "io", alone}, {"fails", "i", fails}, {"silent", "i", silent}, {"unset", "io", unset}, {"odd", "io", odd},
    {"idle", "io", idle}, {"beyond", "io", beyond}, {"input", "io", input}, {"null", "io", null})
