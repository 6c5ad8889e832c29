//! `fifth new`: a folder to begin with.

use anyhow::{Context, bail};
use std::path::Path;

/// The program: NAME is its name.
const PROGRAM: &str = "\
%% Counts words.

:- module main.

main :- count([the,cat,and,the,dog],the,N), io:outstream([print(N),nl]).

%% count(+Words,+Word,-N)
%% How often a list has a word.
%%
%%     ?- count([a,b,a],a,N). %= N = 2
count(Words,Word,N) :- count(Words,Word,0,N).

count([],_,N0,N) :- N = N0.
count([Word|Words],Word,N0,N) :- count(Words,Word,~(N0+1),N).
otherwise.
count([_|Words],Word,N0,N) :- count(Words,Word,N0,N).
";

/// Its tests.
const TESTS: &str = "\
%% The tests of main: `fifth test` runs them.

:- module main_tests.

test_counts_words(R) :- main:count([a,b,a],a,N), expect(2,N,R).

test_a_list_without_words_has_none(R) :- main:count([],a,N), expect(0,N,R).

expect(X,X,R) :- R = ok.
otherwise.
expect(X,Y,R) :- R = failed(expected(X,found(Y))).
";

/// What it is.
const README: &str = "\
# NAME

A program in KL1.

```sh
fifth run main.kl1
fifth test
fifth build main.kl1 -o NAME
fifth fmt *.kl1
```
";

/// Makes the folder; gives the exit code.
pub(crate) fn run(name: &str) -> anyhow::Result<u8> {
    let is_name = name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    if !is_name {
        bail!("`{name}` is no name: a lower-case letter, then lower-case letters, digits and `_`");
    }
    let folder = Path::new(name);
    std::fs::create_dir(folder).with_context(|| format!("cannot make the folder {name}"))?;
    for (file, text) in [("main.kl1", PROGRAM), ("main_tests.kl1", TESTS), ("README.md", README)] {
        let path = folder.join(file);
        std::fs::write(&path, text.replace("NAME", name))
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    crate::output::line(&format!(
        "{name}: `cd {name} && fifth test` runs its tests, `fifth run main.kl1` the program"
    ))?;
    Ok(0)
}
