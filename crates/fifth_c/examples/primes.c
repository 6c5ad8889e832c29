/* Sends numbers to a KL1 program and prints those that come back: primes up to a limit.
 *
 *     cargo build --release -p fifth_c
 *     cc -O2 -I crates/fifth_c/include crates/fifth_c/examples/primes.c target/release/libfifth_c.a -lm -o primes
 *     ./primes 100 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fifth.h"

static const char text[] =
    ":- module main.\n"
    "primes([], Out) :- true | Out = [].\n"
    "primes([P|Xs], Out) :- true | Out = [P|Rest], sift(P, Xs, Ys), primes(Ys, Rest).\n"
    "sift(_, [], Ys) :- true | Ys = [].\n"
    "sift(P, [X|Xs], Ys) :- X mod P =\\= 0 | Ys = [X|Rest], sift(P, Xs, Rest).\n"
    "sift(P, [X|Xs], Ys) :- X mod P =:= 0 | sift(P, Xs, Ys).\n";

static int fail(void) {
    fprintf(stderr, "%s\n", fifth_error());
    return 1;
}

int main(int count, char **arguments) {
    int64_t limit = count > 1 ? atoll(arguments[1]) : 100;
    fifth_program *program = fifth_compile_text("primes.kl1", text, strlen(text));
    if (!program) return fail();
    fifth_session *session = fifth_start(program, NULL);
    if (!session) return fail();
    fifth_call *call = fifth_call_new(session, "main", "primes");
    fifth_sender *numbers = fifth_call_sender(call);
    fifth_receiver *primes = fifth_call_receiver(call);
    if (fifth_call_begin(call) != FIFTH_OK) return fail();

    for (int64_t number = 2; number <= limit; number++)
        if (fifth_send(numbers, fifth_integer(number), FIFTH_FOR_EVER) != FIFTH_OK) return fail();
    fifth_sender_close(numbers);

    fifth_value *prime;
    int64_t integer;
    while (fifth_receive(primes, FIFTH_FOR_EVER, &prime) == FIFTH_OK) {
        if (fifth_get_integer(prime, &integer) == FIFTH_OK) printf("%" PRId64 "\n", integer);
        fifth_free(prime);
    }
    if (fifth_call_wait(call, FIFTH_FOR_EVER) != FIFTH_OK) return fail();
    fifth_receiver_close(primes);
    fifth_call_free(call);
    fifth_end(session);
    fifth_program_free(program);
    return 0;
}
