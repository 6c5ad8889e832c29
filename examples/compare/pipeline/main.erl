-module(main).
-export([start/1]).

%% A stage may have 64 elements on the way to the next one, which gives leave for more.
start([]) ->
    Main = self(),
    Squares = spawn_link(fun() -> receive {from, P} -> allow(P), square(P, Main, 0) end end),
    spawn_link(fun() -> Squares ! {from, self()}, produce(0, Squares, 0) end),
    io:format("~b~n", [sum(0)]).

allow(Producer) -> [Producer ! slot || _ <- lists:seq(1, 64)].

produce(200000, Next, _) -> Next ! done;
produce(N, Next, 0) -> receive slot -> produce(N, Next, 1) end;
produce(N, Next, Slots) -> Next ! {item, N}, produce(N + 1, Next, Slots - 1).

square(Producer, Main, Ahead) when Ahead >= 64 ->
    receive slot -> square(Producer, Main, Ahead - 1) end;
square(Producer, Main, Ahead) ->
    receive
        slot -> square(Producer, Main, Ahead - 1);
        {item, N} -> Producer ! slot, Main ! {item, N * N rem 1009, self()}, square(Producer, Main, Ahead + 1);
        done -> Main ! done
    end.

sum(Sum) ->
    receive
        {item, N, From} -> From ! slot, sum(Sum + N);
        done -> Sum
    end.
