/* KL1 programs, called from C: the C face of Fifth.
 *
 *     fifth_program *program = fifth_compile("fib.kl1");
 *     fifth_session *session = fifth_start(program, NULL);
 *     fifth_value *n = fifth_integer(30), *result = fifth_ask(session, "main", "fib", 1, &n);
 *
 * The library prints nothing, ends no process, and installs no signal handler; what programs write goes where
 * fifth_options say. Each session has threads of its own.
 *
 * Functions that answer an int answer FIFTH_OK, or FIFTH_FAILED; functions that answer a pointer answer NULL where they
 * fail. Then fifth_error() says why, in the words of the command `fifth`. NULL where there must be something, a number
 * that is too large, and an index that is too large are such failures: no function is harmed by them. Functions that
 * take something back do nothing with NULL.
 *
 * Programs and sessions may be used by several threads at once. A call, a sender, a receiver and a value are used by
 * one thread at a time; a value that is only looked at, by any number.
 *
 * A child of a fork has the programs and values of its parent. It has no sessions: to use one there is a failure.
 *
 * Where the system refuses memory to the library itself, the process is aborted, as of any program in Rust; what a
 * program of KL1 may use is `heap_limit`, and to reach that is a failure.
 *
 * Linux on x86-64 only. Link with -lfifth_c. */
#ifndef FIFTH_H
#define FIFTH_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FIFTH_OK 0
#define FIFTH_FAILED (-1)
#define FIFTH_LATE 1 /* the time is over */
#define FIFTH_END 2  /* the list is at its end */

/* A time in seconds for the functions that wait: for ever. */
#define FIFTH_FOR_EVER (-1.0)

/* ---- What went wrong ------------------------------------------------------------------------------------------- */

enum fifth_wrong {
    FIFTH_WRONG_USE = 1,       /* a function was used as this header does not allow */
    FIFTH_WRONG_TEXT = 2,      /* a program text has errors */
    FIFTH_WRONG_SYSTEM = 3,    /* a file cannot be read, or the system refuses memory, threads or code */
    FIFTH_WRONG_UNDEFINED = 4, /* there is no such predicate */
    FIFTH_WRONG_FAILED = 5,    /* the call ended in an error, by an interrupt, or at the heap limit */
    FIFTH_WRONG_DEADLOCK = 6,  /* goals of the call wait for what nothing can give */
    FIFTH_WRONG_EXIT = 7,      /* the program asked to exit: see fifth_error_status */
    FIFTH_WRONG_UNFIT = 8,     /* a value is too large to be given back, or contains itself */
    FIFTH_WRONG_ENDED = 9      /* the session has ended */
};

/* Of the last function that failed in this thread: its text, without a line end; an `enum fifth_wrong` (0: none has
 * failed); the status that a program wants to exit with. */
const char *fifth_error(void);
int fifth_error_kind(void);
int fifth_error_status(void);
/* The same as a JSON object: `kind` and `text`, and what else is known. Of a text `diagnostics`, each as
 * `fifth check --error-format json` shows it; of a deadlock `goals` and `count`; of an error `error`, `message`,
 * `goal`, `file` and `line`. Both texts stay until the next function fails in this thread. */
const char *fifth_error_json(void);

/* ---- Values ---------------------------------------------------------------------------------------------------- */

/* A term as data. Whoever makes a value, or gets one that is not const, owns it: it is given back to fifth_free, or to
 * a function that takes it. Those that take values take all of them, also where they fail, and fail where one is
 * NULL: so calls may be nested. */
typedef struct fifth_value fifth_value;

enum fifth_kind {
    FIFTH_INTEGER = 1, /* of 64 bits */
    FIFTH_BIG = 2,     /* any other integer */
    FIFTH_FLOAT = 3,
    FIFTH_ATOM = 4,
    FIFTH_STRING = 5,
    FIFTH_LIST = 6, /* also [] */
    FIFTH_VECTOR = 7,
    FIFTH_STRUCTURE = 8,
    FIFTH_VARIABLE = 9, /* without a value */
    FIFTH_OTHER = 10    /* an object of another class, as text */
};

fifth_value *fifth_integer(int64_t value);
/* An integer of any size, from decimal digits. */
fifth_value *fifth_big(const char *digits);
fifth_value *fifth_float(double value);
/* An atom; "[]" is the empty list. */
fifth_value *fifth_atom(const char *name);
/* A string of bytes; `bytes` may be NULL if there are none. */
fifth_value *fifth_string(const void *bytes, size_t size);
/* A variable: the same number is the same one in all inputs of a call. */
fifth_value *fifth_variable(uint32_t number);
/* These take the values that the array leads to. */
fifth_value *fifth_list(size_t count, fifth_value *const *items);
fifth_value *fifth_vector(size_t count, fifth_value *const *elements);
fifth_value *fifth_structure(const char *name, size_t count, fifth_value *const *arguments);
/* A copy of a value, or of a part of one. */
fifth_value *fifth_copy(const fifth_value *value);
void fifth_free(fifth_value *value);

/* An `enum fifth_kind`; 0 of NULL. */
int fifth_kind_of(const fifth_value *value);
int fifth_get_integer(const fifth_value *value, int64_t *integer);
int fifth_get_float(const fifth_value *value, double *number);
int fifth_get_variable(const fifth_value *value, uint32_t *number);
/* The bytes of a string, the name of an atom or structure, the digits of a big integer, the text of another object:
 * `size` of them, without a NUL behind. They live as long as the value. */
const char *fifth_text(const fifth_value *value, size_t *size);
/* How many items, elements or arguments there are; 0 of everything else. */
size_t fifth_size(const fifth_value *value);
/* One of them, from 0; of a list that is not empty the part at its size is what is behind its items: [], or a variable.
 * It lives as long as the value. */
const fifth_value *fifth_part(const fifth_value *value, size_t index);
/* 1 if two values are the same term, 0 if they are not. */
int fifth_equal(const fifth_value *one, const fifth_value *other);

/* ---- Programs -------------------------------------------------------------------------------------------------- */

/* A compiled program, which any number of sessions may run. */
typedef struct fifth_program fifth_program;

/* Compiles a file, with the modules that it calls; or a text of `size` bytes, which messages call `name`. */
fifth_program *fifth_compile(const char *path);
fifth_program *fifth_compile_text(const char *name, const char *text, size_t size);
/* The same with `count` libraries of foreign predicates (fifth_foreign.h), by their paths. Without `text` (NULL) `name` is
 * the path of a file. */
fifth_program *fifth_compile_with(const char *name, const char *text, size_t size, size_t count,
                                  const char *const *libraries);
/* What the compiler warns of, as the command shows it; empty if there is nothing. Lives as long as the program. */
const char *fifth_warnings(const fifth_program *program);
/* Its sessions go on. */
void fifth_program_free(fifth_program *program);

/* ---- Sessions -------------------------------------------------------------------------------------------------- */

/* A program that stays on a node of its own. Calls run one after the other. */
typedef struct fifth_session fifth_session;

/* Takes what a program writes, in a thread of the session, one call at a time. It returns 0; anything else is an error
 * of the program. It must not leave by longjmp or an exception, nor call functions of its session that wait. */
typedef int (*fifth_output)(void *argument, const void *bytes, size_t size);

/* Zeros are what is usual. */
typedef struct {
    uint32_t workers;              /* threads that reduce goals, at most 64. 0: one for each processor */
    uint64_t heap_limit;           /* bytes of data and goals. 0: a part of the machine's memory */
    uint64_t address_space;        /* bytes that may be mapped. 0: 64 GiB */
    fifth_output output, errors;   /* NULL: the descriptors 1 and 2 of the process */
    void *argument;                /* for both */
    size_t argument_count;         /* what unix:argv answers */
    const char *const *arguments;
} fifth_options;

/* `options` may be NULL. */
fifth_session *fifth_start(const fifth_program *program, const fifth_options *options);
/* Ends it. A call that runs is interrupted. Calls, senders and receivers of it stay until they are given back. */
void fifth_end(fifth_session *session);
/* Runs main:main in a session of its own, and waits for its end. */
int fifth_run(const fifth_program *program, const fifth_options *options);
/* Adds the modules of a text to a session. Calls from now on find them. */
int fifth_define(const fifth_session *session, const char *name, const char *text, size_t size);
/* Ends the call that runs, or else the one that was begun and runs next, as Ctrl-C does. */
int fifth_interrupt(const fifth_session *session);
/* The goals that wait in the call that runs, as a JSON object with `goals` and `count`, for fifth_text_free. */
char *fifth_waiting(const fifth_session *session);
void fifth_text_free(char *text);

/* Calls a predicate with these inputs, which it takes, and a variable behind them; waits, and answers its value. */
fifth_value *fifth_ask(const fifth_session *session, const char *module, const char *predicate, size_t count,
                       fifth_value *const *inputs);

/* ---- Calls ----------------------------------------------------------------------------------------------------- */

/* A call: its arguments are added in order, 255 at most; then it begins. */
typedef struct fifth_call fifth_call;
/* What puts items into a list that a call reads, and what takes those of one that it makes. */
typedef struct fifth_sender fifth_sender;
typedef struct fifth_receiver fifth_receiver;

fifth_call *fifth_call_new(const fifth_session *session, const char *module, const char *predicate);
/* A value, which it takes. */
int fifth_call_in(fifth_call *call, fifth_value *value);
/* A variable whose value is asked for. */
int fifth_call_out(fifth_call *call);
/* A list that is sent; one that is received. */
fifth_sender *fifth_call_sender(fifth_call *call);
fifth_receiver *fifth_call_receiver(fifth_call *call);
int fifth_call_begin(fifth_call *call);
/* Waits for the end of the call: FIFTH_OK, FIFTH_FAILED, or FIFTH_LATE: it goes on. */
int fifth_call_wait(fifth_call *call, double seconds);
/* The value of an fifth_call_out, from 0, after the call has ended well; it lives as long as the call. What has got no
 * value is a variable. */
const fifth_value *fifth_call_value(const fifth_call *call, size_t index);
/* Ends the call, be it that it runs or that it waits for its turn; one that has ended stays as it is. */
int fifth_call_interrupt(const fifth_call *call);
/* A call that has begun goes on. */
void fifth_call_free(fifth_call *call);

/* Adds an item, which it takes; while the call has much to read, it waits. FIFTH_LATE: the item is still the
 * caller's. */
int fifth_send(const fifth_sender *sender, fifth_value *item, double seconds);
/* Ends the list. A call does not end before the lists that it reads have. */
void fifth_sender_close(fifth_sender *sender);
/* The next item, once it is complete: FIFTH_OK, FIFTH_LATE, or FIFTH_END at the end of the list, or of the call. */
int fifth_receive(fifth_receiver *receiver, double seconds, fifth_value **item);
/* Nobody reads on. */
void fifth_receiver_close(fifth_receiver *receiver);

#ifdef __cplusplus
}
#endif
#endif
