-module(main).
-export([start/1]).

start([]) ->
    ok = io:setopts([{encoding, latin1}]),
    Points = << <<(point(0, 0, (X - 160) * 16777216 div 80, (Y - 80) * 16777216 div 64, 0))>> || Y <- lists:seq(0, 159), X <- lists:seq(0, 239)>>,
    ok = file:write(standard_io, [<<"P5\n240 160\n255\n">>, Points]).

point(A, B, _, _, N) when (A * A + B * B) bsr 24 > 67108864; N =:= 255 -> N;
point(A, B, Re, Im, N) -> point(((A * A - B * B) bsr 24) + Re, ((2 * A * B) bsr 24) + Im, Re, Im, N + 1).
