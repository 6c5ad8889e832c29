/* Predicates in C for KL1 programs: what a library of them includes, instead of fifth.h.
 *
 *     static int gcd(fifth_args *args) {
 *         int64_t a, b;
 *         if (fifth_arg_integer(args, 0, &a) || fifth_arg_integer(args, 1, &b)) return FIFTH_ERROR;
 *         while (b) { int64_t c = a % b; a = b, b = c; }
 *         return fifth_set_integer(args, 2, a);
 *     }
 *     FIFTH_LIBRARY("numbers", 0, {"gcd", "iio", gcd})
 *
 * `cc -shared -fPIC -I .. numbers.c -o libnumbers.so`, and `fifth run --with libnumbers.so p.kl1`: the program calls
 * numbers:gcd(X,Y,Z). The library is linked with nothing of Fifth: its functions come through a table.
 *
 * A function is called when its inputs are as their modes say, by any worker, and by several at the same time unless
 * the library is FIFTH_SERIAL. While it runs its worker reduces nothing else, and nobody collects garbage or is
 * interrupted: it should return within milliseconds. It must not leave by longjmp or an exception, nor call functions
 * of fifth.h that are not here. What it writes to, and a crash of it, is the process's: KL1 cannot contain it.
 *
 * Arguments count from 0. Values are as in fifth.h, and each function there on values is here, with the same name. */
#ifndef FIFTH_FOREIGN_H
#define FIFTH_FOREIGN_H

#include "fifth.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The number of this ABI: a library of another number is not loaded. */
#define FIFTH_FOREIGN_ABI 1

/* The arguments of a call, for the function that was given them, while it runs. */
typedef struct fifth_args fifth_args;

/* What a function returns: all outputs are set; it fails, and with it the program; it is to be called again, from the
 * start, once argument `index` has a value. What a call has set that waits is forgotten. */
#define FIFTH_DONE 0
#define FIFTH_ERROR (-1)
#define FIFTH_WAIT(index) (256 + (int)(index))

typedef int (*fifth_function)(fifth_args *args);

/* A predicate. Its modes are a letter for each argument:
 *     i  an input that has a value when the function is called; parts of it may be variables
 *     g  an input without variables
 *     a  an input as it is, perhaps a variable
 *     o  an output, which the function sets
 * 32 arguments at most. */
typedef struct {
    const char *name;
    const char *modes;
    fifth_function function;
} fifth_predicate;

/* Flag of a library: one of its functions runs at a time. */
#define FIFTH_SERIAL 1u

struct fifth_api;

/* What a library shows. */
struct fifth_library {
    uint32_t abi, flags;
    const char *module;
    size_t count;
    const fifth_predicate *predicates;
    const struct fifth_api **api;
};

/* Functions of Fifth. Those on values are described in fifth.h. */
struct fifth_api {
    size_t size; /* of this structure: members are only added, at its end */
    __typeof__(fifth_error) *error;
    __typeof__(fifth_integer) *integer;
    __typeof__(fifth_big) *big;
    __typeof__(fifth_float) *float_;
    __typeof__(fifth_atom) *atom;
    __typeof__(fifth_string) *string;
    __typeof__(fifth_variable) *variable;
    __typeof__(fifth_list) *list;
    __typeof__(fifth_vector) *vector;
    __typeof__(fifth_structure) *structure;
    __typeof__(fifth_copy) *copy;
    __typeof__(fifth_free) *free;
    __typeof__(fifth_kind_of) *kind_of;
    __typeof__(fifth_get_integer) *get_integer;
    __typeof__(fifth_get_float) *get_float;
    __typeof__(fifth_get_variable) *get_variable;
    __typeof__(fifth_text) *text;
    __typeof__(fifth_size) *size_of;
    __typeof__(fifth_part) *part;
    __typeof__(fifth_equal) *equal;
    size_t (*args_count)(fifth_args *args);
    int (*arg_integer)(fifth_args *args, size_t index, int64_t *integer);
    int (*arg_float)(fifth_args *args, size_t index, double *number);
    const fifth_value *(*arg)(fifth_args *args, size_t index);
    int (*set)(fifth_args *args, size_t index, fifth_value *value);
    int (*set_integer)(fifth_args *args, size_t index, int64_t integer);
    int (*set_float)(fifth_args *args, size_t index, double number);
    int (*set_same)(fifth_args *args, size_t index, size_t input);
    int (*wait_for)(fifth_args *args, const fifth_value *variable);
    int (*fail)(fifth_args *args, const char *why);
};

/* One for all files of a library. */
__attribute__((weak, visibility("hidden"))) const struct fifth_api *fifth_api;

#define fifth_error() (fifth_api->error())
#define fifth_integer(...) (fifth_api->integer(__VA_ARGS__))
#define fifth_big(...) (fifth_api->big(__VA_ARGS__))
#define fifth_float(...) (fifth_api->float_(__VA_ARGS__))
#define fifth_atom(...) (fifth_api->atom(__VA_ARGS__))
#define fifth_string(...) (fifth_api->string(__VA_ARGS__))
#define fifth_variable(...) (fifth_api->variable(__VA_ARGS__))
#define fifth_list(...) (fifth_api->list(__VA_ARGS__))
#define fifth_vector(...) (fifth_api->vector(__VA_ARGS__))
#define fifth_structure(...) (fifth_api->structure(__VA_ARGS__))
#define fifth_copy(...) (fifth_api->copy(__VA_ARGS__))
#define fifth_free(...) (fifth_api->free(__VA_ARGS__))
#define fifth_kind_of(...) (fifth_api->kind_of(__VA_ARGS__))
#define fifth_get_integer(...) (fifth_api->get_integer(__VA_ARGS__))
#define fifth_get_float(...) (fifth_api->get_float(__VA_ARGS__))
#define fifth_get_variable(...) (fifth_api->get_variable(__VA_ARGS__))
#define fifth_text(...) (fifth_api->text(__VA_ARGS__))
#define fifth_size(...) (fifth_api->size_of(__VA_ARGS__))
#define fifth_part(...) (fifth_api->part(__VA_ARGS__))
#define fifth_equal(...) (fifth_api->equal(__VA_ARGS__))

/* How many arguments there are. */
static inline size_t fifth_args_count(fifth_args *args) { return fifth_api->args_count(args); }
/* An input that is an integer of 64 bits, or a float: FIFTH_OK, or FIFTH_FAILED where it is something else. A function
 * that then returns FIFTH_ERROR fails with that as its reason. */
static inline int fifth_arg_integer(fifth_args *args, size_t index, int64_t *integer) {
    return fifth_api->arg_integer(args, index, integer);
}
static inline int fifth_arg_float(fifth_args *args, size_t index, double *number) {
    return fifth_api->arg_float(args, index, number);
}
/* A copy of an input, which lives until the function returns; NULL where it has more than 2^28 parts or contains
 * itself. The same variable has the same number in all inputs, from 2^31 on. */
static inline const fifth_value *fifth_arg(fifth_args *args, size_t index) { return fifth_api->arg(args, index); }
/* Sets an output to a value, which it takes. A variable of an input is that variable again; fifth_variable makes new
 * ones, with numbers below 2^31. FIFTH_OK is FIFTH_DONE, and FIFTH_FAILED is FIFTH_ERROR: the last one may be
 * returned. */
static inline int fifth_set(fifth_args *args, size_t index, fifth_value *value) {
    return fifth_api->set(args, index, value);
}
static inline int fifth_set_integer(fifth_args *args, size_t index, int64_t integer) {
    return fifth_api->set_integer(args, index, integer);
}
static inline int fifth_set_float(fifth_args *args, size_t index, double number) {
    return fifth_api->set_float(args, index, number);
}
/* Sets an output to an input as it is: nothing is copied. */
static inline int fifth_set_same(fifth_args *args, size_t index, size_t input) {
    return fifth_api->set_same(args, index, input);
}
/* What a function returns that is to be called again once this variable, a part of an input, has a value. */
static inline int fifth_wait_for(fifth_args *args, const fifth_value *variable) {
    return fifth_api->wait_for(args, variable);
}
/* What a function returns that fails, and why: the text is shown behind the goal. */
static inline int fifth_fail(fifth_args *args, const char *why) { return fifth_api->fail(args, why); }

#ifdef __cplusplus
}
#define FIFTH_SHOWN_ extern "C"
#else
#define FIFTH_SHOWN_ extern
#endif

/* The table of a library, in one of its files: its module, its flags, and its predicates. */
#define FIFTH_LIBRARY(module, flags, ...)                                                                         \
    static const fifth_predicate fifth_predicates_[] = {__VA_ARGS__};                                             \
    FIFTH_SHOWN_ __attribute__((visibility("default"))) const struct fifth_library fifth_library;                 \
    const struct fifth_library fifth_library = {                                                                  \
        FIFTH_FOREIGN_ABI, (flags), (module), sizeof fifth_predicates_ / sizeof *fifth_predicates_,               \
        fifth_predicates_, &fifth_api};

#endif
