-module(main).
-export([start/1]).

start([]) -> io:format("~b~n", [search(gb_sets:singleton({0, 0, 0}), #{})]).

cost(I, J) -> (I * 7919 + J * 104729 + I * J * 31) rem 97 + 1.

search(Open, Done) ->
    case gb_sets:take_smallest(Open) of
        {{D, 149, 149}, _} -> D;
        {{_, I, J}, Rest} when is_map_key({I, J}, Done) -> search(Rest, Done);
        {{D, I, J}, Rest} ->
            Next = [{D + cost(A, B), A, B} || {A, B} <- [{I - 1, J}, {I + 1, J}, {I, J - 1}, {I, J + 1}],
                                              A >= 0, A < 150, B >= 0, B < 150],
            search(lists:foldl(fun gb_sets:add_element/2, Rest, Next), Done#{{I, J} => true})
    end.
