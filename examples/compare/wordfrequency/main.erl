-module(main).
-export([start/1]).

start([File]) ->
    {ok, Text} = file:read_file(File),
    Words = binary:split(Text, [<<" ">>, <<"\n">>], [global, trim_all]),
    Counts = lists:foldl(fun(W, M) -> maps:update_with(W, fun(N) -> N + 1 end, 1, M) end, #{}, Words),
    Sorted = lists:sort([{-N, W} || {W, N} <- maps:to_list(Counts)]),
    [io:format("~8b ~s~n", [-N, W]) || {N, W} <- lists:sublist(Sorted, 10)].
