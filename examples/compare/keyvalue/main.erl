-module(main).
-export([start/1]).

start([]) ->
    Main = self(),
    Server = spawn_link(fun() -> server(#{}) end),
    [spawn_link(fun() -> Main ! {sum, client(0, N, Server, 0)} end) || N <- lists:seq(1, 1000)],
    io:format("~b~n", [lists:sum([receive {sum, S} -> S end || _ <- lists:seq(1, 1000)])]).

client(100, _, _, Sum) -> Sum;
client(I, N, Server, Sum) ->
    Key = N * 100 + I,
    Server ! {put, Key, N},
    Server ! {get, Key, self()},
    receive {value, V} -> client(I + 1, N, Server, Sum + V) end.

server(M) ->
    receive
        {put, K, V} -> server(M#{K => V});
        {get, K, Client} -> Client ! {value, maps:get(K, M)}, server(M)
    end.
