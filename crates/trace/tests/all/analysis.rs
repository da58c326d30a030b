//! Results of real traces against independent counts, and of generated traces against known results.

use std::collections::VecDeque;
use std::io::Cursor;
use std::path::{Path, PathBuf};

use netflow_trace::analysis::{Burstiness, Connections, LinkSeries, Links};
use netflow_trace::sender::Options;
use netflow_trace::{Link, Reader, from_reader, open};
use proptest::prelude::*;

fn sample(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/reference")
        .join(name)
}

fn links(mut trace: Reader, every_s: f64) -> Vec<LinkSeries> {
    let mut links = Links::new(every_s);
    while let Some(event) = trace.next().unwrap() {
        links.on_event(event);
    }
    assert_eq!(trace.faults().count, 0);
    links.finish()
}

/// The link from N5 to N7 (4 to 6) in the first 7 s of the four transfers:
///
/// ```text
/// zcat ex1_w10000_first7s_seed1.tr.gz | awk '$3==4 && $4==6 {
///   t=$2+0; if (t>last) { if (q>max) max=q; area+=q*(t-last); last=t }
///   if ($1=="+") {a++; q++; ab[int(t/0.5)]++}
///   if ($1=="-") {d++; q--}
///   if ($1=="d") {x++; q--; xb[int(t/0.5)]++} }
///   END { area+=q*(6.936944-last); print a,d,x,q,max,area/6.936944
///         for (i=0;i<14;i++) printf "%d/%d ", ab[i], xb[i] }'
/// ```
/// prints `5439 5182 257 0 99 22.4287` and `31/0 537/93 201/99 35/0 265/0 499/0 505/0 504/0 505/0 504/0
/// 505/0 510/0 561/2 277/63`.
#[test]
fn bottleneck_counts_match_exactly() {
    let trace = open(&sample("ns2/traces/ex1_w10000_first7s_seed1.tr.gz")).unwrap();
    let all = links(trace, 0.5);
    let link = Link { from: 4, to: 6 };
    let series = all.iter().find(|series| series.link == link).unwrap();
    let t = &series.totals;
    assert_eq!(
        (
            t.offered_pkts,
            t.departed_pkts,
            t.lost_pkts,
            t.queued_pkts,
            t.max_waiting_pkts
        ),
        (5439, 5182, 257, 0, 99)
    );
    assert_eq!(t.lost_on_link_pkts, 0);
    assert!(
        (t.mean_waiting_pkts - 22.4287).abs() < 5e-5,
        "{}",
        t.mean_waiting_pkts
    );
    let awk = [
        (31, 0),
        (537, 93),
        (201, 99),
        (35, 0),
        (265, 0),
        (499, 0),
        (505, 0),
        (504, 0),
        (505, 0),
        (504, 0),
        (505, 0),
        (510, 0),
        (561, 2),
        (277, 63),
    ];
    let bins: Vec<(u64, u64)> = series
        .bins
        .iter()
        .map(|b| (b.arrived_pkts, b.lost_pkts))
        .collect();
    assert_eq!(bins, awk);
    // 8 Mbit/s in the scenario; 5182 packets of 1000 B except two SYNs.
    assert!(
        (t.bandwidth_bps.unwrap() - 8e6).abs() < 1.0,
        "{:?}",
        t.bandwidth_bps
    );
    let busy_s = (5180.0 * 8000.0 + 2.0 * 320.0) / 8e6;
    assert!(
        (t.utilization.unwrap() - busy_s / 6.936944).abs() < 2e-4,
        "{:?}",
        t.utilization
    );
}

/// `zcat reno_p02_rtt100.tr.gz | awk '$1=="d"' | wc -l` prints 86. All of them were dequeued before, so
/// they were lost on the link, none in the queue.
#[test]
fn link_losses_are_not_queue_losses() {
    let trace = open(&sample("ns2/traces/reno_p02_rtt100.tr.gz")).unwrap();
    let all = links(trace, 1.0);
    let lost: u64 = all
        .iter()
        .map(|series| series.totals.lost_on_link_pkts)
        .sum();
    assert_eq!(lost, 86);
    assert!(all.iter().all(|series| series.totals.lost_pkts == 0));
}

/// `zcat ex1_w10000_first7s_seed1.tr.gz | awk '$5=="tcp" && (($1=="+" && $3==int($9)) || ($1=="r" &&
/// $4==int($10)) || $1=="d") {n[$1 " " $9]++} END {for (k in n) print k, n[k]}'` prints `+ 0.0 5169, r
/// 0.0 4961, d 0.0 208, + 2.0 270, r 2.0 221, d 2.0 49`.
#[test]
fn connection_counts_match_exactly() {
    let mut trace = open(&sample("ns2/traces/ex1_w10000_first7s_seed1.tr.gz")).unwrap();
    let mut connections = Connections::new(0.5, Options::default());
    while let Some(event) = trace.next().unwrap() {
        connections.on_event(event);
    }
    let found: Vec<_> = connections
        .finish()
        .iter()
        .map(|series| {
            let t = series.totals;
            (
                series.name(trace.names()),
                t.sent_pkts,
                t.delivered_pkts,
                t.lost_pkts,
            )
        })
        .collect();
    let awk = [("0.0->6.0", 5169, 4961, 208), ("2.0->6.1", 270, 221, 49)];
    let awk: Vec<_> = awk
        .iter()
        .map(|&(n, s, r, d)| (n.to_owned(), s, r, d))
        .collect();
    assert_eq!(found, awk);
}

/// Arrivals at 4->6 in 70 intervals of 0.1 s: the awk program above with int(t/0.1) and `END {for
/// (i=0;i<70;i++) {m+=b[i]; s+=b[i]^2}; m/=70; print sqrt(s/70-m^2)/m}` prints 0.62037639.
#[test]
fn bottleneck_burstiness_matches_reference() {
    let mut trace = open(&sample("ns2/traces/ex1_w10000_first7s_seed1.tr.gz")).unwrap();
    let mut burstiness = Burstiness::new(0.1, 0.0, None);
    while let Some(event) = trace.next().unwrap() {
        burstiness.on_event(event);
    }
    let spreads = burstiness.finish();
    let link = Some(Link { from: 4, to: 6 });
    let spread = spreads.iter().find(|spread| spread.link == link).unwrap();
    assert_eq!((spread.intervals, spread.packets), (70, 5439));
    assert!((spread.cov - COV).abs() < 1e-6, "{}", spread.cov);
    assert!((spread.poisson_cov - (70.0_f64 / 5439.0).sqrt()).abs() < 1e-12);
}

const COV: f64 = 0.62037639;

/// Returns the trace of a FIFO queue with `room` packets, packet in service included, and the expected
/// results of its link.
fn fifo(arrivals: &[(u64, u32)], buffer_pkts: usize, bps: u64) -> (String, Expected) {
    let mut text = String::new();
    let mut lines: Vec<(u64, u32, String)> = Vec::new();
    let mut departures: VecDeque<u64> = VecDeque::new();
    let (mut free_us, mut now_us) = (0, 0);
    let mut known = Expected::default();
    for (id, &(gap_us, bytes)) in arrivals.iter().enumerate() {
        now_us += gap_us;
        while departures.front().is_some_and(|&t| t <= now_us) {
            departures.pop_front();
        }
        let rest = |kind: &str| format!("{kind} {{}} 0 1 cbr {bytes} ------- 7 0.0 1.0 {id} {id}");
        let line = |kind: &str, us: u64| {
            rest(kind).replace("{}", &format!("{}.{:06}", us / 1_000_000, us % 1_000_000))
        };
        lines.push((now_us, 2, line("+", now_us)));
        known.offered += 1;
        if departures.len() >= buffer_pkts {
            known.lost += 1;
            lines.push((now_us, 3, line("d", now_us)));
            continue;
        }
        let begins_us = free_us.max(now_us);
        let service_us = u64::from(bytes) * 8 * 1_000_000 / bps;
        free_us = begins_us + service_us;
        departures.push_back(free_us);
        known.waiting_time_us += begins_us - now_us;
        known.busy_us += service_us;
        lines.push((
            begins_us,
            if begins_us == now_us { 2 } else { 0 },
            line("-", begins_us),
        ));
        lines.push((free_us + 1000, 1, line("r", free_us + 1000)));
    }
    lines.sort_by_key(|&(time, rank, _)| (time, rank));
    known.end_us = lines.iter().map(|&(time, ..)| time).max().unwrap_or(0);
    for (_, _, line) in lines {
        text += &line;
        text.push('\n');
    }
    (text, known)
}

#[derive(Default, Debug)]
struct Expected {
    offered: u64,
    lost: u64,
    waiting_time_us: u64,
    busy_us: u64,
    end_us: u64,
}

proptest! {
    #[test]
    fn links_match_fifo_simulation(
        arrivals in prop::collection::vec((0_u64..3000, prop::sample::select(vec![125_u32, 500, 1000])), 1..200),
        room in 1_usize..12,
        every_ms in 1_u32..400,
    ) {
        let (text, known) = fifo(&arrivals, room, 8_000_000);
        let every_s = f64::from(every_ms) * 1e-3;
        let mut trace = from_reader("made", Cursor::new(text.into_bytes())).unwrap();
        let mut counting = Links::new(every_s);
        counting.set_bandwidth(Link { from: 0, to: 1 }, 8e6);
        while let Some(event) = trace.next().unwrap() {
            counting.on_event(event);
        }
        let all = counting.finish();
        let (series, end_s) = (&all[0], known.end_us as f64 * 1e-6);
        let t = &series.totals;
        prop_assert_eq!((t.offered_pkts, t.lost_pkts), (known.offered, known.lost));
        prop_assert_eq!(t.offered_pkts, t.departed_pkts + t.lost_pkts + t.queued_pkts);
        prop_assert!(t.max_waiting_pkts < room as u64);
        let waiting = known.waiting_time_us as f64 * 1e-6 / end_s;
        prop_assert!((t.mean_waiting_pkts - waiting).abs() < 1e-6 * (1.0 + waiting));
        let busy = known.busy_us as f64 * 1e-6 / end_s;
        prop_assert!((t.utilization.unwrap() - busy).abs() < 1e-6, "{} {}", t.utilization.unwrap(), busy);
        // Intervals add up to the whole.
        let sum = |of: &dyn Fn(&netflow_trace::analysis::LinkTraceInterval) -> f64| series.bins.iter().map(of).sum::<f64>();
        prop_assert_eq!(sum(&|b| b.arrived_pkts as f64), t.offered_pkts as f64);
        prop_assert_eq!(sum(&|b| b.lost_pkts as f64), t.lost_pkts as f64);
        prop_assert!((sum(&|b| b.waiting_pkts * b.length_s) - waiting * end_s).abs() < 1e-6);
        prop_assert!((sum(&|b| b.length_s) - end_s).abs() < 1e-9);
        for bin in &series.bins {
            prop_assert!((0.0..=1.0 + 1e-9).contains(&bin.utilization.unwrap()));
        }
    }

    #[test]
    fn bandwidth_is_estimated(
        bytes in prop::collection::vec(prop::sample::select(vec![125_u32, 500, 1000]), 3..50),
    ) {
        // All packets arrive at once, so they are transmitted back to back.
        let arrivals: Vec<(u64, u32)> = bytes.iter().map(|&bytes| (0, bytes)).collect();
        let (text, _) = fifo(&arrivals, 100, 8_000_000);
        let all = links(from_reader("made", Cursor::new(text.into_bytes())).unwrap(), 0.1);
        let bps = all[0].totals.bandwidth_bps.unwrap();
        prop_assert!((bps - 8e6).abs() < 1.0, "{}", bps);
    }
}

/// An event centuries later does not allocate intervals for centuries.
#[test]
fn events_beyond_max_intervals_are_omitted() {
    let line = |time: &str| format!("+ {time} 0 1 tcp 1000 ------- 1 0.0 1.0 5 7\n");
    let text = line("0.5") + &line("9000000000") + &line("0.7");
    let mut trace = from_reader("made", Cursor::new(text.into_bytes())).unwrap();
    let mut links = Links::new(0.5);
    let mut connections = Connections::new(0.5, Options::default());
    let mut burstiness = Burstiness::new(0.1, 0.0, None);
    while let Some(event) = trace.next().unwrap() {
        links.on_event(event);
        connections.on_event(event);
        burstiness.on_event(event);
    }
    assert_eq!(
        (
            links.omitted_events(),
            connections.omitted_events(),
            burstiness.omitted_events()
        ),
        (1, 1, 1)
    );
    assert_eq!(links.finish()[0].bins.len(), 2);
    assert_eq!(connections.finish()[0].bins.len(), 2);
    assert_eq!(burstiness.finish()[0].intervals, 8);
}

/// With intervals of decades and a time of centuries, the ends of intervals exceed the range of
/// nanoseconds.
#[test]
fn last_interval_may_exceed_time_range() {
    for every_s in [1e9, 9e9, f64::INFINITY] {
        let line = |time: &str| format!("+ {time} 0 1 tcp 1000 ------- 1 0.0 1.0 5 7\n");
        let text = line("0.5") + &line("9223372035.999999999");
        let mut trace = from_reader("made", Cursor::new(text.into_bytes())).unwrap();
        let mut links = Links::new(every_s);
        let mut connections = Connections::new(every_s, Options::default());
        let mut burstiness = Burstiness::new(every_s, 0.0, None);
        while let Some(event) = trace.next().unwrap() {
            links.on_event(event);
            connections.on_event(event);
            burstiness.on_event(event);
        }
        let last_s = links.finish()[0].bins.last().unwrap().time_s;
        assert!((last_s - 9_223_372_036.0).abs() < 1.0, "{last_s}");
        let last_s = connections.finish()[0].bins.last().unwrap().time_s;
        assert!((last_s - 9_223_372_036.0).abs() < 1.0, "{last_s}");
        assert_eq!(burstiness.finish()[0].packets, 2);
    }
}

/// The last event starts another interval, which is a nanosecond long.
#[test]
fn link_busy_time_is_within_trace() {
    let text = "- 0 0 1 cbr 5 ------- 0 0.0 1.0 0 0\n- 0.4 0 1 cbr 10 ------- 0 0.0 1.0 0 2\n\
                + 0.5 0 1 cbr 10 ------- 0 0.0 1.0 0 3\n";
    let mut trace = from_reader("made", Cursor::new(text)).unwrap();
    let mut links = Links::new(0.5);
    links.set_bandwidth(Link { from: 0, to: 1 }, 80.0);
    while let Some(event) = trace.next().unwrap() {
        links.on_event(event);
    }
    let series = &links.finish()[0];
    assert_eq!(
        (series.bins.len(), series.totals.utilization),
        (2, Some(1.0))
    );
}
