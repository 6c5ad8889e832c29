-module(main).
-export([start/1]).

matrix(Seed) -> [[(I * 31 + J * 17 + Seed) rem 101 || J <- lists:seq(0, 199)] || I <- lists:seq(0, 199)].

transposed([[] | _]) -> [];
transposed(Rows) -> [[hd(R) || R <- Rows] | transposed([tl(R) || R <- Rows])].

dot([], [], S) -> S;
dot([X | Xs], [Y | Ys], S) -> dot(Xs, Ys, S + X * Y).

start([]) ->
    Columns = transposed(matrix(2)),
    C = [[dot(Row, Column, 0) || Column <- Columns] || Row <- matrix(1)],
    io:format("~b~n", [lists:sum([lists:nth(I, Row) || {I, Row} <- lists:zip(lists:seq(1, 200), C)])]).
