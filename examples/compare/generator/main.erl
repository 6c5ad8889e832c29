-module(main).
-export([start/1]).

%% A process that answers each question with the next one.
start([]) ->
    Primes = spawn_link(fun() -> primes(2, []) end),
    io:format("~b~n", [lists:sum([next(Primes) || _ <- lists:seq(1, 3000)])]).

next(Primes) -> Primes ! {next, self()}, receive {prime, P} -> P end.

primes(N, Known) ->
    case divided(lists:reverse(Known), N) of
        true -> primes(N + 1, Known);
        false -> receive {next, From} -> From ! {prime, N}, primes(N + 1, [N | Known]) end
    end.

divided([P | Ps], N) when P * P =< N -> N rem P =:= 0 orelse divided(Ps, N);
divided(_, _) -> false.
