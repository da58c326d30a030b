//! Video viewers: waiting times compared with results that need no simulation of a player.

use netflow_simulation::*;
use netflow_tcpmodel::Stack;
use netflow_workload::{Application as Behaviour, Distribution, Playback, Video};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::comparison::NullRecorder;

const CHUNK_S: f64 = 2.0;
const LENGTH_S: f64 = 60.0;

/// Returns a run of 400 s with periodic viewers behind a link of the given bandwidth, with a few
/// downloads.
fn run_with_viewers(
    bitrate_bps: f64,
    ahead_s: f64,
    down_bps: f64,
    downloads: u32,
    viewers_per_s: f64,
) -> Simulation {
    let mut builder = NetworkBuilder::new();
    let (server, home) = (builder.node("server"), builder.node("home"));
    builder.link(netflow_problems::link(server, home, down_bps, 0.01, 100.0));
    builder.link(netflow_problems::link(home, server, 1e7, 0.01, 100.0));
    let linux = || Stack::builtin("linux-6").unwrap();
    if downloads > 0 {
        let source = Source::Tcp(linux().into());
        builder.connection(ConnectionSpec {
            count: downloads,
            packet_size_bytes: 1500.0,
            ..netflow_problems::connection("downloads", server, home, source)
        });
    }
    let playback = Playback {
        chunk_s: CHUNK_S,
        ahead_s,
    };
    builder.workload(WorkloadSpec {
        name: "viewers".to_owned(),
        application: Behaviour::Video(Video::new(
            bitrate_bps,
            Distribution::Constant(LENGTH_S),
            playback,
        )),
        users_per_s: viewers_per_s,
        clients: vec![home],
        servers: vec![server],
        start_s: 0.0,
        stop_s: Some(200.0),
        source: None,
        delayed_ack: true,
        packet_size_bytes: 1500.0,
        flow: None,
        path: None,
        return_path: None,
        class: None,
        stack: linux(),
    });
    let options = Options {
        model: Model::PACKETS,
        duration_s: 400.0,
        seed: 7,
    };
    let mut simulation = Simulation::new(builder.build().unwrap(), options).unwrap();
    simulation
        .run_until(400.0, &mut NullRecorder, || false)
        .unwrap();
    simulation
}

/// Returns the waiting times of one viewer, in order.
fn waits_of_viewer(experience: &UserStats, user: u64, kind: ResponseEvent) -> Vec<f64> {
    let waits = experience.waits.iter();
    let mine = waits.filter(|wait| wait.user == user && wait.kind == kind);
    mine.map(|wait| wait.wait_s).collect()
}

/// A viewer who loads continuously has stalled for as long as the latest chunk is late, counted from
/// the arrival of the first. There are 30 links with more and less bandwidth than the traffic needs.
#[test]
fn stall_time_equals_chunk_lateness() {
    let random = &mut ChaCha8Rng::seed_from_u64(netflow_problems::population_seed(1));
    let (mut stalled, mut smooth) = (0, 0);
    for _ in 0..30 {
        let bitrate_bps = random.random_range(0.5e6..3e6);
        let down_bps = random.random_range(0.6e6..8e6);
        let downloads = random.random_range(0..3);
        let simulation = run_with_viewers(bitrate_bps, 3600.0, down_bps, downloads, 0.01);
        let experience = &simulation.experiences(&|| false).unwrap()[0];
        for user in 0..experience.arrived {
            let files_s = waits_of_viewer(experience, user, ResponseEvent::File);
            let Some((first_s, more_s)) = files_s.split_first() else {
                continue;
            };
            assert_eq!(
                waits_of_viewer(experience, user, ResponseEvent::Play),
                [*first_s]
            );
            let (mut loaded_s, mut late_s) = (0.0, 0.0);
            for (i, file_s) in (1..).zip(more_s) {
                loaded_s += file_s;
                late_s = f64::max(late_s, loaded_s - f64::from(i) * CHUNK_S);
            }
            let stalls_s: f64 = waits_of_viewer(experience, user, ResponseEvent::Stall)
                .iter()
                .sum();
            assert!((stalls_s - late_s).abs() < 1e-6, "{stalls_s} {late_s}");
            stalled += usize::from(stalls_s > 0.0);
            smooth += usize::from(stalls_s == 0.0);
        }
    }
    assert!(stalled > 10 && smooth > 10, "{stalled} {smooth}");
}

/// A single video with sufficient bandwidth: no stall, a chunk every two seconds once it is 10 s
/// ahead, and the traffic is the video with its headers.
#[test]
fn video_with_enough_bandwidth_does_not_stall() {
    let simulation = run_with_viewers(2e6, 10.0, 20e6, 0, 0.01);
    let experience = &simulation.experiences(&|| false).unwrap()[0];
    assert!(experience.arrived > 0 && experience.arrived == experience.finished);
    let chunks = LENGTH_S / CHUNK_S;
    for user in 0..experience.arrived {
        let files_s = waits_of_viewer(experience, user, ResponseEvent::File);
        assert_eq!(files_s.len(), chunks as usize);
        assert!(waits_of_viewer(experience, user, ResponseEvent::Stall).is_empty());
        // 0.5 MB at 20 Mbit/s, after a round trip and the rounds of a slow start; twice that with a
        // second viewer.
        assert!(
            files_s.iter().all(|&s| (0.22..0.7).contains(&s)),
            "{files_s:?}"
        );
    }
    let link = simulation.network().links().next().unwrap();
    let bits = simulation.link_totals(link).utilization * 400.0 * 20e6;
    let video_bits = experience.arrived as f64 * LENGTH_S * 2e6 * 1500.0 / 1460.0;
    assert!(
        (bits / video_bits - 1.0).abs() < 0.01,
        "{bits} {video_bits}"
    );
}

/// On a link below the bitrate, viewers wait for the missing data.
#[test]
fn link_below_the_bitrate_causes_stalls() {
    let simulation = run_with_viewers(3e6, 20.0, 2e6, 0, 0.0004);
    let experience = &simulation.experiences(&|| false).unwrap()[0];
    assert_eq!(experience.arrived, 1);
    let stalls_s: f64 = waits_of_viewer(experience, 0, ResponseEvent::Stall)
        .iter()
        .sum();
    // The first chunk is loaded before playback.
    let loads_s = (LENGTH_S - CHUNK_S) * 3e6 * (1500.0 / 1460.0) / 2e6;
    let wanted_s = loads_s - (LENGTH_S - CHUNK_S) + CHUNK_S;
    assert!(
        (stalls_s / wanted_s - 1.0).abs() < 0.1,
        "{stalls_s} {wanted_s}"
    );
}
