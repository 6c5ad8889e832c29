/* What the header promises, and what it says of NULL, of wrong sizes and of wrong states. */
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fifth.h"

static int checks, broken;

#define CHECK(condition)                                                                                 \
    do {                                                                                                 \
        checks++;                                                                                        \
        if (!(condition)) {                                                                              \
            broken++;                                                                                    \
            fprintf(stderr, "line %d: %s; the last failure: %s\n", __LINE__, #condition, fifth_error()); \
        }                                                                                                \
    } while (0)
/* It fails, and the text has these words. */
#define FAILS(call, words) CHECK((call) == FIFTH_FAILED && strstr(fifth_error(), words))
#define NONE(call, words) CHECK((call) == NULL && strstr(fifth_error(), words))

static const char text[] =
    ":- module main.\n"
    "main :- true | unix:argv([A|_]), io:outstream([puts(A),nl]).\n"
    "same(X, Y) :- true | Y = X.\n"
    "first(f(X,_), Y) :- true | Y = X.\n"
    "only(1, Y) :- true | Y = a.\n"
    "stuck(X, Y) :- X = 1 | Y = 1.\n"
    "idle(X, Y) :- true | stuck(Z, Y), forget(X, Z).\n"
    "forget(_, _) :- true | true.\n"
    "loop(N, Y) :- N >= 0 | M := N + 1, loop(M, Y).\n"
    "leave(S, Y) :- true | unix:exit(S), Y = 1.\n"
    "squares([], R) :- true | R = [].\n"
    "squares([X|L], R) :- true | Y := X * X, R = [Y|R1], squares(L, R1).\n"
    "deep(0, R) :- true | R = end.\n"
    "deep(N, R) :- N > 0 | M := N - 1, R = s(R1), deep(M, R1).\n";

static int gather(void *argument, const void *bytes, size_t size) {
    strncat(argument, bytes, size);
    return 0;
}
static int refuse(void *argument, const void *bytes, size_t size) {
    (void)argument, (void)bytes, (void)size;
    return 1;
}

static void null(const fifth_session *session) {
    fifth_value *values[2] = {NULL, NULL};
    fifth_value *value = fifth_integer(1);
    const size_t most = (size_t)-1;
    size_t size;
    int64_t integer;
    double number;
    uint32_t variable;

    NONE(fifth_big(NULL), "NULL");
    NONE(fifth_big("12x"), "no integer");
    NONE(fifth_atom(NULL), "NULL");
    NONE(fifth_string(NULL, 3), "NULL");
    NONE(fifth_string("abc", most), "at most");
    NONE(fifth_list(2, NULL), "NULL");
    NONE(fifth_list(2, values), "NULL");
    NONE(fifth_list(most, values), "at most");
    NONE(fifth_vector(1, NULL), "NULL");
    NONE(fifth_vector(most, values), "at most");
    NONE(fifth_structure(NULL, 0, NULL), "NULL");
    NONE(fifth_structure("f", 1, NULL), "NULL");
    NONE(fifth_structure("f", most, values), "at most");
    values[0] = fifth_integer(1);
    NONE(fifth_list(2, values), "NULL"); /* it has taken the first one */
    NONE(fifth_copy(NULL), "NULL");
    fifth_free(NULL);
    CHECK(fifth_kind_of(NULL) == 0);
    FAILS(fifth_get_integer(NULL, &integer), "NULL");
    FAILS(fifth_get_integer(value, NULL), "place");
    FAILS(fifth_get_float(NULL, &number), "NULL");
    FAILS(fifth_get_float(value, &number), "not a float");
    FAILS(fifth_get_float(value, NULL), "not a float");
    FAILS(fifth_get_variable(NULL, &variable), "NULL");
    FAILS(fifth_get_variable(value, NULL), "not a variable");
    NONE(fifth_text(NULL, &size), "NULL");
    NONE(fifth_text(value, &size), "not a text");
    CHECK(fifth_size(NULL) == 0 && fifth_size(value) == 0);
    NONE(fifth_part(NULL, 0), "NULL");
    NONE(fifth_part(value, 0), "no part");
    NONE(fifth_part(value, most), "no part");
    FAILS(fifth_equal(NULL, value), "NULL");
    FAILS(fifth_equal(value, NULL), "NULL");

    NONE(fifth_compile(NULL), "NULL");
    NONE(fifth_compile("\xff.kl1"), "UTF-8");
    NONE(fifth_compile("nowhere.kl1"), "nowhere.kl1");
    CHECK(fifth_error_kind() == FIFTH_WRONG_SYSTEM);
    NONE(fifth_compile_text(NULL, text, 1), "NULL");
    NONE(fifth_compile_text("a.kl1", NULL, 1), "NULL");
    NONE(fifth_compile_text("a.kl1", text, most), "at most");
    const char *libraries[] = {"nowhere.so", NULL};
    NONE(fifth_compile_with(NULL, NULL, 0, 0, NULL), "NULL");
    NONE(fifth_compile_with("nowhere.kl1", NULL, 0, 0, NULL), "nowhere.kl1");
    NONE(fifth_compile_with("a.kl1", text, most, 0, NULL), "at most");
    NONE(fifth_compile_with("a.kl1", text, sizeof text - 1, 1, NULL), "NULL");
    NONE(fifth_compile_with("a.kl1", text, sizeof text - 1, 1, libraries + 1), "NULL");
    NONE(fifth_compile_with("a.kl1", text, sizeof text - 1, most, libraries), "at most");
    NONE(fifth_compile_with("a.kl1", text, sizeof text - 1, 1, libraries), "cannot load nowhere.so");
    CHECK(fifth_error_kind() == FIFTH_WRONG_SYSTEM);
    fifth_program *without = fifth_compile_with("a.kl1", text, sizeof text - 1, 0, NULL);
    CHECK(without != NULL);
    fifth_program_free(without);
    NONE(fifth_warnings(NULL), "NULL");
    fifth_program_free(NULL);

    NONE(fifth_start(NULL, NULL), "NULL");
    fifth_end(NULL);
    FAILS(fifth_run(NULL, NULL), "NULL");
    FAILS(fifth_define(NULL, "a.kl1", "", 0), "NULL");
    FAILS(fifth_define(session, NULL, "", 0), "NULL");
    FAILS(fifth_define(session, "a.kl1", NULL, 1), "NULL");
    FAILS(fifth_define(session, "a.kl1", "", most), "at most");
    FAILS(fifth_define(session, "a.kl1", "\xff", 1), "UTF-8");
    FAILS(fifth_interrupt(NULL), "NULL");
    NONE(fifth_waiting(NULL), "NULL");
    fifth_text_free(NULL);
    values[0] = fifth_integer(1);
    NONE(fifth_ask(NULL, "main", "same", 1, values), "NULL");
    values[0] = fifth_integer(1);
    NONE(fifth_ask(session, NULL, "same", 1, values), "NULL");
    values[0] = fifth_integer(1);
    NONE(fifth_ask(session, "main", NULL, 1, values), "NULL");
    NONE(fifth_ask(session, "main", "same", 1, NULL), "NULL");
    NONE(fifth_ask(session, "main", "same", most, values), "at most");

    NONE(fifth_call_new(NULL, "main", "same"), "NULL");
    NONE(fifth_call_new(session, NULL, "same"), "NULL");
    NONE(fifth_call_new(session, "main", NULL), "NULL");
    fifth_call *call = fifth_call_new(session, "main", "same");
    FAILS(fifth_call_in(NULL, fifth_integer(1)), "NULL");
    FAILS(fifth_call_in(call, NULL), "NULL");
    FAILS(fifth_call_out(NULL), "NULL");
    NONE(fifth_call_sender(NULL), "NULL");
    NONE(fifth_call_receiver(NULL), "NULL");
    FAILS(fifth_call_begin(NULL), "NULL");
    FAILS(fifth_call_wait(NULL, 0), "NULL");
    FAILS(fifth_call_wait(call, 0), "not begun");
    FAILS(fifth_call_interrupt(NULL), "NULL");
    FAILS(fifth_call_interrupt(call), "not begun");
    NONE(fifth_call_value(NULL, 0), "NULL");
    NONE(fifth_call_value(call, 0), "not been waited for");
    for (int i = 0; i < 255; i++) CHECK(fifth_call_in(call, fifth_integer(i)) == FIFTH_OK);
    FAILS(fifth_call_out(call), "at most 255");
    CHECK(fifth_call_begin(call) == FIFTH_OK);
    FAILS(fifth_call_begin(call), "has begun");
    FAILS(fifth_call_out(call), "has begun");
    FAILS(fifth_call_wait(call, FIFTH_FOR_EVER), "main:same/255");
    CHECK(fifth_error_kind() == FIFTH_WRONG_UNDEFINED);
    FAILS(fifth_call_wait(call, 0), "main:same/255");
    fifth_call_free(call);
    fifth_call_free(NULL);

    fifth_value *item = value;
    FAILS(fifth_send(NULL, fifth_integer(1), 0), "NULL");
    call = fifth_call_new(session, "main", "squares");
    fifth_sender *sender = fifth_call_sender(call);
    fifth_receiver *receiver = fifth_call_receiver(call);
    FAILS(fifth_send(sender, NULL, 0), "NULL");
    FAILS(fifth_receive(NULL, 0, &item), "NULL");
    CHECK(item == NULL);
    FAILS(fifth_receive(receiver, 0, NULL), "place");
    CHECK(fifth_receive(receiver, 0, &item) == FIFTH_LATE && item == NULL);
    fifth_sender_close(sender);
    fifth_receiver_close(receiver);
    fifth_sender_close(NULL);
    fifth_receiver_close(NULL);
    fifth_call_free(call);
    fifth_free(value);
}

static void values(const fifth_session *session) {
    fifth_value *parts[3] = {fifth_integer(INT64_MIN), fifth_float(0.5), fifth_string("a\0b", 3)};
    fifth_value *list = fifth_list(3, parts);
    fifth_value *others[4] = {list, fifth_big("-123456789012345678901234567890"), fifth_variable(7), fifth_vector(0, NULL)};
    fifth_value *all = fifth_structure("f", 4, others), *copy = fifth_copy(all);
    CHECK(fifth_equal(all, copy) == 1);
    const fifth_value *inner = fifth_part(all, 0);
    CHECK(fifth_kind_of(inner) == FIFTH_LIST && fifth_size(inner) == 3);
    fifth_free((fifth_value *)inner); /* a part is not given back by itself */
    int64_t integer;
    double number;
    uint32_t variable;
    size_t size;
    CHECK(fifth_get_integer(fifth_part(inner, 0), &integer) == FIFTH_OK && integer == INT64_MIN);
    CHECK(fifth_get_float(fifth_part(inner, 1), &number) == FIFTH_OK && number == 0.5);
    const char *bytes = fifth_text(fifth_part(inner, 2), &size);
    CHECK(size == 3 && memcmp(bytes, "a\0b", 3) == 0);
    CHECK(fifth_kind_of(fifth_part(inner, 3)) == FIFTH_LIST && fifth_size(fifth_part(inner, 3)) == 0);
    NONE(fifth_part(inner, 4), "no part 4");
    const fifth_value *big = fifth_part(all, 1);
    bytes = fifth_text(big, &size);
    CHECK(size == 31 && memcmp(bytes, "-123456789012345678901234567890", size) == 0);
    NONE(fifth_part(big, 0), "no part");
    CHECK(fifth_get_variable(fifth_part(all, 2), &variable) == FIFTH_OK && variable == 7);
    CHECK(fifth_kind_of(fifth_part(all, 3)) == FIFTH_VECTOR);
    bytes = fifth_text(all, &size);
    CHECK(size == 1 && *bytes == 'f');

    fifth_value *first = fifth_ask(session, "main", "first", 1, (fifth_value *[]){fifth_structure("f", 2,
        (fifth_value *[]){fifth_copy(inner), fifth_atom("b")})});
    CHECK(fifth_equal(first, inner) == 1);
    /* A part that is given is copied. */
    fifth_value *shared = fifth_list(1, (fifth_value *[]){(fifth_value *)fifth_part(first, 2)});
    fifth_free(first);
    CHECK(fifth_kind_of(fifth_part(shared, 0)) == FIFTH_STRING);
    fifth_free(shared);
    fifth_free(all);
    CHECK(fifth_kind_of(copy) == FIFTH_STRUCTURE);
    fifth_free(copy);

    /* A million levels, each of which is looked at. */
    fifth_value *deep = fifth_ask(session, "main", "deep", 1, (fifth_value *[]){fifth_integer(1000000)});
    size_t levels = 0;
    for (const fifth_value *at = deep; fifth_kind_of(at) == FIFTH_STRUCTURE; at = fifth_part(at, 0)) levels++;
    CHECK(levels == 1000000);
    fifth_free(deep);
}

static void endings(const fifth_program *program, const fifth_session *session) {
    const struct {
        const char *predicate;
        int kind;
        const char *text, *json;
    } all[] = {
        {"only", FIFTH_WRONG_FAILED, "main:only(2,", "\"error\":\"ReductionFailure\""},
        {"idle", FIFTH_WRONG_DEADLOCK, "main:stuck", "\"count\":1"},
        {"leave", FIFTH_WRONG_EXIT, "status 2", "\"status\":2"},
        {"nothing", FIFTH_WRONG_UNDEFINED, "main:nothing/2", "\"kind\":\"undefined\""},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        CHECK(!fifth_ask(session, "main", all[i].predicate, 1, (fifth_value *[]){fifth_integer(2)}));
        CHECK(fifth_error_kind() == all[i].kind && strstr(fifth_error(), all[i].text));
        CHECK(strstr(fifth_error_json(), all[i].json));
        CHECK(fifth_error_status() == (all[i].kind == FIFTH_WRONG_EXIT ? 2 : 0));
    }
    const char wrong[] = ":- module main.\nmain :- true | nowhere.\n";
    NONE(fifth_compile_text("wrong.kl1", wrong, strlen(wrong)), "wrong.kl1:2");
    CHECK(fifth_error_kind() == FIFTH_WRONG_TEXT && strstr(fifth_error_json(), "\"line\":2"));

    char written[100] = "";
    const char *arguments[] = {"given"};
    fifth_options options = {.workers = 1, .output = gather, .argument = written, .argument_count = 1, .arguments = arguments};
    CHECK(fifth_run(program, &options) == FIFTH_OK && strcmp(written, "given\n") == 0);
    options.output = refuse;
    FAILS(fifth_run(program, &options), "returned 1");
    options.workers = 1000000;
    FAILS(fifth_run(program, &options), "workers");
    options.workers = 1, options.address_space = 1;
    FAILS(fifth_run(program, &options), "address space");
    options.address_space = 0, options.argument_count = (size_t)-1;
    FAILS(fifth_run(program, &options), "at most");
    options.argument_count = 1, options.arguments = NULL;
    FAILS(fifth_run(program, &options), "NULL");

    fifth_options small = {.workers = 1, .heap_limit = 64 << 20};
    fifth_session *other = fifth_start(program, &small);
    fifth_value *deep = fifth_ask(other, "main", "deep", 1, (fifth_value *[]){fifth_integer(100000000)});
    CHECK(!deep && fifth_error_kind() == FIFTH_WRONG_FAILED && strstr(fifth_error_json(), "HeapLimit"));
    const char more[] = ":- module more.\ntwo(X) :- true | X = 2.\n";
    CHECK(fifth_define(other, "more.kl1", more, strlen(more)) == FIFTH_OK);
    int64_t integer = 0;
    fifth_value *two = fifth_ask(other, "more", "two", 0, NULL);
    CHECK(fifth_get_integer(two, &integer) == FIFTH_OK && integer == 2);
    fifth_free(two);

    fifth_call *call = fifth_call_new(other, "main", "loop");
    fifth_call_in(call, fifth_integer(0));
    fifth_call_out(call);
    CHECK(fifth_call_begin(call) == FIFTH_OK && fifth_call_wait(call, 0.01) == FIFTH_LATE);
    char *waiting = fifth_waiting(other);
    CHECK(waiting && strstr(waiting, "\"goals\""));
    fifth_text_free(waiting);
    int ended;
    do CHECK(fifth_interrupt(other) == FIFTH_OK);
    while ((ended = fifth_call_wait(call, 0.01)) == FIFTH_LATE);
    CHECK(ended == FIFTH_FAILED && strstr(fifth_error_json(), "Interrupted"));
    fifth_call_free(call);

    /* What a session leaves behind when it is ended. */
    call = fifth_call_new(other, "main", "squares");
    fifth_sender *sender = fifth_call_sender(call);
    fifth_receiver *receiver = fifth_call_receiver(call);
    CHECK(fifth_call_begin(call) == FIFTH_OK);
    fifth_end(other);
    FAILS(fifth_call_wait(call, FIFTH_FOR_EVER), "ended");
    FAILS(fifth_send(sender, fifth_integer(1), FIFTH_FOR_EVER), "ended");
    CHECK(fifth_error_kind() == FIFTH_WRONG_ENDED);
    fifth_value *item;
    CHECK(fifth_receive(receiver, FIFTH_FOR_EVER, &item) == FIFTH_END);
    NONE(fifth_call_sender(call), "ended");
    fifth_sender_close(sender);
    fifth_receiver_close(receiver);
    fifth_call_free(call);
}

/* A list that nobody reads yet: what is late stays the caller's. */
static void late(const fifth_session *session) {
    fifth_call *call = fifth_call_new(session, "main", "squares"), *busy = fifth_call_new(session, "main", "loop");
    fifth_call_in(busy, fifth_integer(0));
    fifth_call_out(busy);
    fifth_sender *sender = fifth_call_sender(call);
    fifth_receiver *receiver = fifth_call_receiver(call);
    CHECK(fifth_call_begin(call) == FIFTH_OK);
    int64_t sum = 0, square;
    fifth_value *item;
    for (int i = 0; i < 100000; i++) CHECK(fifth_send(sender, fifth_integer(i % 10), FIFTH_FOR_EVER) == FIFTH_OK);
    item = fifth_integer(3);
    int sent;
    while ((sent = fifth_send(sender, item, 0)) == FIFTH_LATE) CHECK(fifth_kind_of(item) == FIFTH_INTEGER);
    CHECK(sent == FIFTH_OK);
    fifth_sender_close(sender);
    while (fifth_receive(receiver, FIFTH_FOR_EVER, &item) == FIFTH_OK) {
        fifth_get_integer(item, &square);
        sum += square;
        fifth_free(item);
    }
    CHECK(sum == 285 * 10000 + 9);
    CHECK(fifth_call_wait(call, FIFTH_FOR_EVER) == FIFTH_OK);
    fifth_call_free(call);
    fifth_call_free(busy);
    fifth_receiver_close(receiver);
}

static void *ask(void *session) {
    for (int i = 0; i < 100; i++) {
        int64_t integer = -1;
        fifth_value *value = fifth_ask(session, "main", "same", 1, (fifth_value *[]){fifth_integer(i)});
        if (fifth_get_integer(value, &integer) != FIFTH_OK || integer != i) return session;
        fifth_free(value);
    }
    return NULL;
}

static void forked(fifth_session *session) {
    fifth_call *call = fifth_call_new(session, "main", "same");
    pid_t child = fork();
    if (child == 0) {
        int right = !fifth_ask(session, "main", "same", 1, (fifth_value *[]){fifth_integer(1)}) &&
                    strstr(fifth_error(), "fork") && fifth_call_begin(call) == FIFTH_FAILED;
        fifth_call_free(call);
        fifth_end(session);
        _exit(right ? 0 : 1);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    fifth_call_free(call);
}

int main(void) {
    struct sigaction before[SIGRTMIN], after;
    for (int number = 1; number < SIGRTMIN; number++) sigaction(number, NULL, &before[number]);
    CHECK(fifth_error_kind() == 0 && *fifth_error() == 0);
    fifth_program *program = fifth_compile_text("text.kl1", text, strlen(text));
    CHECK(program && fifth_warnings(program));
    if (!program) return 1;
    fifth_session *session = fifth_start(program, NULL);
    CHECK(session);
    null(session);
    values(session);
    endings(program, session);
    late(session);
    pthread_t threads[4];
    void *wrong;
    for (int i = 0; i < 4; i++) CHECK(pthread_create(&threads[i], NULL, ask, session) == 0);
    for (int i = 0; i < 4; i++) CHECK(pthread_join(threads[i], &wrong) == 0 && !wrong);
    forked(session);
    /* A program may be given back while sessions run it. */
    for (int i = 0; i < 100; i++) {
        fifth_session *other = fifth_start(program, &(fifth_options){.workers = 1});
        CHECK(!ask(other));
        fifth_end(other);
    }
    fifth_program_free(program);
    CHECK(!ask(session));
    fifth_end(session);
    /* The process is as it was. */
    for (int number = 1; number < SIGRTMIN; number++) {
        /* The C library keeps some for itself: nothing is known of them, before or after. */
        if (sigaction(number, NULL, &after)) continue;
        CHECK(after.sa_handler == before[number].sa_handler);
    }
    if (broken) return 1;
    printf("all %s\n", checks > 400 ? "checks passed" : "too few");
    return 0;
}
