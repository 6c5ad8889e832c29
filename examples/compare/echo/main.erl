-module(main).
-export([start/1]).
-define(MESSAGE, <<"hello, whoever is there\n">>).

start([Text]) ->
    Port = list_to_integer(Text),
    {ok, Socket} = gen_tcp:listen(Port, [binary, {active, false}, {ip, {127, 0, 0, 1}}, {backlog, 64}]),
    spawn(fun() -> accept(Socket) end),
    Main = self(),
    [spawn_link(fun() -> Main ! {sum, client(Port)} end) || _ <- lists:seq(1, 50)],
    io:format("~b~n", [lists:sum([receive {sum, S} -> S end || _ <- lists:seq(1, 50)])]).

accept(Socket) ->
    {ok, Client} = gen_tcp:accept(Socket),
    Server = spawn(fun() -> receive ready -> echo(Client) end end),
    ok = gen_tcp:controlling_process(Client, Server),
    Server ! ready,
    accept(Socket).

echo(Client) ->
    case gen_tcp:recv(Client, 0) of
        {ok, Text} -> ok = gen_tcp:send(Client, Text), echo(Client);
        {error, closed} -> gen_tcp:close(Client)
    end.

client(Port) ->
    {ok, Server} = gen_tcp:connect({127, 0, 0, 1}, Port, [binary, {active, false}]),
    Sum = send(200, Server, 0),
    gen_tcp:close(Server),
    Sum.

send(0, _, Sum) -> Sum;
send(N, Server, Sum) ->
    ok = gen_tcp:send(Server, ?MESSAGE),
    {ok, Text} = gen_tcp:recv(Server, byte_size(?MESSAGE)),
    send(N - 1, Server, Sum + byte_size(Text)).
