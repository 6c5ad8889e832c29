-module(main).
-export([start/1]).

%% Its standard library has no tables.
start([File]) ->
    {ok, Text} = file:read_file(File),
    M = rows(Text, #{}),
    io:format("~b groups, at most ~b~n", [maps:size(M), lists:max(maps:values(M))]).

rows(<<>>, M) -> M;
rows(Text, M) ->
    {_, <<",", T1/binary>>} = field(Text),
    {Key, <<",", T2/binary>>} = field(T1),
    {Number, <<"\n", T3/binary>>} = field(T2),
    rows(T3, maps:update_with(Key, fun(S) -> S + binary_to_integer(Number) end, binary_to_integer(Number), M)).

field(<<"\"", Text/binary>>) -> quoted(Text, []);
field(Text) ->
    {At, _} = binary:match(Text, [<<",">>, <<"\n">>]),
    split_binary(Text, At).

quoted(<<"\"\"", Text/binary>>, Codes) -> quoted(Text, [$" | Codes]);
quoted(<<"\"", Text/binary>>, Codes) -> {list_to_binary(lists:reverse(Codes)), Text};
quoted(<<C, Text/binary>>, Codes) -> quoted(Text, [C | Codes]).
