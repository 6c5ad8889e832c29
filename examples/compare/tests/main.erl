-module(main).
-export([start/1]).

start([]) -> bytes(), kilobytes(), no_number(), no_unit().

size_of(Text) ->
    case string:lexemes(Text, " ") of
        [Number, Unit] ->
            case {string:to_integer(Number), unit(Unit)} of
                {{N, ""}, {ok, U}} -> {ok, N * U};
                _ -> {error, part}
            end;
        _ -> {error, form}
    end.

unit("B") -> {ok, 1};
unit("KB") -> {ok, 1000};
unit("MB") -> {ok, 1000000};
unit(_) -> error.

bytes() -> {ok, 17} = size_of("17 B").
kilobytes() -> {ok, 3000} = size_of(" 3  KB ").
no_number() -> {error, part} = size_of("x MB").
no_unit() -> {error, form} = size_of("3").
