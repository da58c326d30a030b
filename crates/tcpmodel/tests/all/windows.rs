//! Window traces of every congestion control with chosen losses, one line per interval.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use netflow_tcpmodel::tcp::{Ack, NEVER, Receiver, Sender};
use netflow_tcpmodel::{CongestionControl, Stack};

const MS: u64 = 1_000_000;
/// The service time of a packet on the link, and the delay before and behind the link.
const SERVICE_NS: u64 = MS;
const DELAY_NS: u64 = 20 * MS;

/// Losses and marks of packets.
struct LossPattern {
    /// Transmissions with these numbers are lost.
    lost: &'static [u32],
    /// Packets that find at least this number before them are marked.
    marks_at: usize,
    /// The maximum number of segments to send.
    size: u32,
}

/// Simulates a sender over a link of 1000 packets/s with an infinite buffer and a delay of 40 ms in total.
/// Returns cwnd, ssthresh, packets in flight and pacing rate at the end of every 50 ms, with the losses and
/// repairs in between.
fn window_trace(congestion: CongestionControl, fate: &LossPattern, until_ns: u64) -> String {
    let mut stack = Stack {
        clock_s: 0.0,
        ecn: true,
        ..Stack::builtin("linux-6").unwrap()
    };
    stack.set_congestion(congestion);
    let mut sender = Sender::new(&stack, 1460, 10_000, [0.0, 0.0]);
    let mut receiver = Receiver::new(&stack, 1460, [0.0, 0.0]);
    let (mut data, mut acks) = (
        Vec::<(u64, u32, u64, bool)>::new(),
        Vec::<(u64, Ack)>::new(),
    );
    let (mut free_ns, mut number, mut out) = (0, 0, Vec::new());
    let mut left = std::collections::VecDeque::<u64>::new();
    let mut text = String::new();
    let (mut lost, mut again, mut highest) = (0, 0, 0);
    let mut line_ns = 50 * MS;
    sender.offer(fate.size);
    sender.measure(40 * MS, 0);
    sender.open(0, 10, None);
    sender.send(0, &mut out);
    let mut now_ns = 0;
    loop {
        for segment in out.drain(..) {
            if segment < highest {
                again += 1;
            }
            highest = highest.max(segment + 1);
            left.retain(|&left_ns| left_ns > now_ns);
            let marked = left.len() >= fate.marks_at;
            free_ns = now_ns.max(free_ns) + SERVICE_NS;
            left.push_back(free_ns);
            if fate.lost.contains(&number) {
                lost += 1
            } else {
                data.push((free_ns + DELAY_NS, segment, now_ns, marked))
            }
            number += 1;
        }
        let next_data = data.first().map_or(NEVER, |it| it.0);
        let next_ack = acks.first().map_or(NEVER, |it| it.0);
        let timers = sender.timer_ns().min(receiver.due_ns());
        let next_ns = next_data.min(next_ack).min(timers);
        while line_ns < next_ns.min(until_ns + 1) {
            let state = sender.state();
            let ssthresh = if state.ssthresh_pkts.is_finite() {
                state.ssthresh_pkts.to_string()
            } else {
                "-".to_owned()
            };
            let pacing = state
                .pacing_pps
                .map_or(String::new(), |pps| format!(" pacing {pps:.0}"));
            let repair = if state.in_recovery { " recovery" } else { "" };
            writeln!(
                text,
                "{:>5} ms  cwnd {:>4} ssthresh {ssthresh:>4} in flight {:>4} lost {lost} again {again}{pacing}{repair}",
                line_ns / MS,
                state.cwnd_pkts,
                state.in_flight,
            )
            .unwrap();
            (lost, again) = (0, 0);
            line_ns += 50 * MS;
        }
        if next_ns > until_ns {
            return text;
        }
        now_ns = next_ns;
        if next_data == now_ns {
            let (_, segment, sent_ns, marked) = data.remove(0);
            let rto_ns = 200 * MS;
            if receiver
                .receive(now_ns, segment, true, sent_ns, rto_ns, marked)
                .1
            {
                acks.push((now_ns + DELAY_NS, receiver.acknowledge(true)));
            }
        } else if next_ack == now_ns {
            let (_, ack) = acks.remove(0);
            sender.receive(now_ns, &ack, &mut out);
        } else if receiver.due_ns() == now_ns {
            acks.push((now_ns + DELAY_NS, receiver.acknowledge(true)));
        } else {
            sender.time_out(now_ns, &mut out);
        }
    }
}

/// Golden file: the reaction of each control to one loss, several losses in a window, a lost
/// retransmission, a lost window, marks, and no losses.
#[test]
fn windows_are_unchanged() {
    const NEVER_MARKS: usize = usize::MAX;
    let whole: &'static [u32] = &[
        70, 71, 72, 73, 74, 75, 76, 77, 78, 79, 80, 81, 82, 83, 84, 85, 86, 87, 88, 89, 90, 91, 92,
        93, 94, 95, 96, 97, 98, 99, 100, 101, 102, 103, 104, 105, 106, 107, 108, 109, 110, 111,
        112, 113, 114, 115, 116, 117, 118, 119, 120, 121, 122, 123, 124, 125, 126, 127, 128, 129,
        130, 131, 132, 133, 134, 135, 136, 137, 138, 139, 140, 141, 142, 143, 144, 145, 146, 147,
        148, 149, 150,
    ];
    let fates = [
        ("no loss", &[][..], NEVER_MARKS),
        ("packet 60 is lost", &[60][..], NEVER_MARKS),
        ("packets 60, 62 and 64 are lost", &[60, 62, 64], NEVER_MARKS),
        ("packets 70 to 150 are lost", whole, NEVER_MARKS),
        ("packets that find 30 before them are marked", &[], 30),
    ];
    let mut page = String::new();
    for congestion in CongestionControl::all() {
        for (what, lost, marks_at) in fates {
            let size = 100_000;
            let fate = LossPattern {
                lost,
                marks_at,
                size,
            };
            writeln!(page, "{congestion:?}: {what}").unwrap();
            page += &window_trace(congestion, &fate, 1000 * MS);
            page.push('\n');
        }
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/windows.txt");
    if std::env::var_os("NETFLOW_BLESS").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, &page).unwrap();
    }
    let golden = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        golden == page,
        "{} differs: NETFLOW_BLESS=1 writes it anew",
        path.display()
    );
}
