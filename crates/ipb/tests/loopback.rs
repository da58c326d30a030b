//! Whole runs over loopback: the requests match the workload and the server's counts.

mod common;

use common::{http, serve_while, telnet};
use netflow_ipb::{DropReason, RunOptions, ServerOptions, StopCondition};
use netflow_workload::{Session, UserKind, Workload};

/// Sums over sessions: turns, exchanges, request bytes, reply bytes.
fn sums(sessions: &[Session]) -> [u64; 4] {
    let mut sums = [0; 4];
    for turn in sessions.iter().flat_map(|session| &session.turns) {
        sums[0] += 1;
        for exchange in &turn.exchanges {
            sums[1] += 1;
            sums[2] += u64::from(exchange.request_bytes);
            sums[3] += u64::from(exchange.reply_bytes);
        }
    }
    sums
}

/// Returns the first `users` sessions of both loads in arrival order, by kind.
fn first(users: usize, loads: [(&Workload, f64); 2]) -> [Vec<Session>; 2] {
    let mut all: Vec<Session> = loads
        .iter()
        .flat_map(|(workload, rate)| workload.sessions(*rate).unwrap().take(users))
        .collect();
    all.sort_by(|a, b| a.start_s.total_cmp(&b.start_s));
    all.truncate(users);
    let of = |kind| all.iter().filter(|s| s.kind == kind).cloned().collect();
    [of(UserKind::Http), of(UserKind::Telnet)]
}

#[test]
fn users_match_the_workload() {
    let loads = vec![http(7, 200.0), telnet(8, 100.0)];
    let users = 60;
    let expected = first(
        users,
        [
            (&loads[0].workload, loads[0].users_per_s),
            (&loads[1].workload, loads[1].users_per_s),
        ],
    );
    assert!(expected.iter().all(|sessions| sessions.len() > 10));

    let (measured, served) = serve_while(ServerOptions::default(), |server| {
        let options = RunOptions {
            until: StopCondition::Users(users as u64),
            think_scale: 1e-5,
            ..RunOptions::new(server, loads.clone())
        };
        netflow_ipb::run(&options, &mut |_| true).unwrap()
    });

    assert_eq!(served.accepted, users as u64);
    assert_eq!(served.drops().next(), None);
    for (i, traffic) in [served.http, served.telnet].iter().enumerate() {
        let users = &measured.users[i];
        let [turns, exchanges, request_bytes, reply_bytes] = sums(&expected[i]);
        let sessions = expected[i].len() as u64;
        assert_eq!((users.come, users.finished), (sessions, sessions));
        assert_eq!(
            (users.failed(), users.left, users.padded_messages),
            (0, 0, 0)
        );
        assert_eq!(traffic.connections, sessions);
        assert_eq!((users.requests, traffic.requests), (exchanges, exchanges));
        assert_eq!(users.request_bytes, request_bytes);
        assert_eq!(traffic.request_bytes, request_bytes);
        assert_eq!(users.reply_bytes, reply_bytes);
        assert_eq!(traffic.reply_bytes, reply_bytes);
        assert_eq!(users.script_bytes, traffic.script_bytes);
        let waits = &users.waits;
        assert_eq!(waits.connect_s.len() as u64, sessions);
        let expected = match users.kind {
            UserKind::Http => [exchanges, turns, 0],
            UserKind::Telnet => [0, 0, exchanges],
            UserKind::Video => [exchanges, 0, 0],
        };
        let found = [&waits.file_s, &waits.page_s, &waits.echo_s].map(|w| w.len() as u64);
        assert_eq!(found, expected);
    }
    assert_eq!(served.dropped(DropReason::Stopped), 0);
}
