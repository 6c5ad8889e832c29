//! Address space that engines take: alone in a process of its own, because it is the process's that is measured.

use engine::{Hooks, Program, Session, Settings, Texts};

#[test]
fn an_engine_maps_no_more_than_it_may() {
    let mut files = Texts::default();
    files.add("main.kl1", ":- module main.\nmain :- true | true.\n");
    let program = Program::compile(&Settings::default(), &["main.kl1".into()], &files).expect("it is right");
    let mapped = || {
        let status = std::fs::read_to_string("/proc/self/statm").expect("Linux");
        let pages: usize = status.split(' ').next().and_then(|n| n.parse().ok()).expect("a number");
        pages * 4096
    };
    let before = mapped();
    let most = 1 << 40;
    let settings = Settings { address_space: Some(most), ..Settings::with_workers(1) };
    let session = Session::start(&program, &settings, Hooks::default()).expect("a session");
    let large = Settings { address_space: None, ..settings };
    let between = mapped();
    let usual = Session::start(&program, &large, Hooks::default()).expect("a session");
    let after = mapped();
    assert!(between.saturating_sub(before) <= most as usize + (1 << 39), "{before} {between}");
    assert!(after.saturating_sub(between) > 2 * most as usize - (1 << 39), "{between} {after}");
    drop((session, usual));
    let none = Settings { address_space: Some(1 << 20), ..settings };
    assert!(Session::start(&program, &none, Hooks::default()).is_err());
}
