//! Tests of the states and rules of BBR version 3, with the values of its source.

use super::*;
use crate::CongestionControl;
use crate::tcp::congestion::{Acked, Flight, NO_SSTHRESH};
use crate::tcp::sender::{Measured, RateSample};

const MS: u64 = 1_000_000;
const RTT_NS: u64 = 40 * MS;
/// The bandwidth-delay product of 100 packets per round trip: it is rounded up.
const BDP: u32 = 101;

/// A connection whose round trips are one acknowledgement each. ACK aggregation therefore adds the packets of a round
/// trip to the window.
struct Path {
    bbr: Bbr3,
    window: Window,
    now_ns: u64,
    delivered: u64,
    lost: u64,
    marked: u64,
}

/// One round trip: the packets delivered in it, and its other properties.
#[derive(Clone, Copy)]
struct Round {
    pkts: u32,
    rtt_ns: u64,
    in_flight: u32,
    newly_lost: u32,
    lost_in_flight: u32,
    marked: u32,
    recovery: RecoveryState,
    is_app_limited: bool,
}

impl Round {
    fn of(pkts: u32) -> Round {
        Round {
            pkts,
            rtt_ns: RTT_NS,
            in_flight: pkts,
            newly_lost: 0,
            lost_in_flight: 0,
            marked: 0,
            recovery: RecoveryState::Open,
            is_app_limited: false,
        }
    }
}

impl Path {
    fn new(rtt_ns: u64, ecn_low: bool) -> Path {
        let mut stack = Stack {
            ecn_low,
            ..Stack::builtin("linux-6").unwrap()
        };
        stack.set_congestion(CongestionControl::Bbr3);
        let mut bbr = Bbr3::new(&stack, Clock::new(&stack, 0.0), 0.3);
        let window = Window {
            cwnd: 10,
            ssthresh: NO_SSTHRESH,
        };
        bbr.open(0, window, rtt_ns);
        Path {
            bbr,
            window,
            now_ns: 0,
            delivered: 0,
            lost: 0,
            marked: 0,
        }
    }

    /// Returns a connection that cruises at 100 packets per 40 ms.
    fn cruising() -> Path {
        let mut path = Path::new(RTT_NS, false);
        for _ in 0..30 {
            path.round(Round::of(100));
        }
        assert_eq!(path.bbr.state, State::ProbeBwCruise);
        path
    }

    /// Returns a connection in ProbeBW_UP whose losses count.
    fn probing() -> Path {
        let mut path = Path::cruising();
        path.bbr.probe_wait_ns = 0;
        path.round(Round::of(100));
        assert_eq!(path.bbr.state, State::ProbeBwRefill);
        path.round(Round::of(100));
        assert_eq!(path.bbr.state, State::ProbeBwUp);
        path
    }

    fn round(&mut self, round: Round) {
        let delivery = self.delivery(round);
        self.bbr.on_delivery(&mut self.window, &delivery);
    }

    fn delivery(&mut self, round: Round) -> Delivery {
        let before = self.delivered;
        self.now_ns += round.rtt_ns;
        self.delivered += u64::from(round.pkts);
        self.lost += u64::from(round.newly_lost);
        self.marked += u64::from(round.marked);
        Delivery {
            rate: RateSample {
                delivered: self.delivered,
                lost: self.lost,
                marked: self.marked,
                at_ns: self.now_ns,
                may_be_delayed: false,
                measured: Some(Measured {
                    prior_delivered: before,
                    delivered: u64::from(round.pkts),
                    interval_ns: RTT_NS,
                    is_app_limited: round.is_app_limited,
                }),
                flight: Some(Flight {
                    in_flight: round.in_flight,
                    delivered: u64::from(round.pkts),
                    marked: round.marked,
                    lost: round.lost_in_flight,
                    is_app_limited: round.is_app_limited,
                }),
            },
            acked: Acked {
                now_ns: self.now_ns,
                delivered: round.pkts,
                may_grow: true,
                acknowledged: 0,
                next: 0,
                rtt_ns: Some(round.rtt_ns),
                marked: round.marked,
            },
            in_flight: round.in_flight,
            in_flight_before: round.in_flight,
            newly_lost: round.newly_lost,
            recovery: round.recovery,
            srtt_ns: round.rtt_ns,
            is_cwnd_limited: true,
            next_departure_ns: 0,
            acks_tail_probe: false,
        }
    }

    fn lose(&mut self, lost: u32, in_flight: u32) {
        self.lost += 1;
        let lost = Lost {
            now_ns: self.now_ns,
            delivered: self.delivered,
            flight: Flight {
                in_flight,
                delivered: 0,
                marked: 0,
                lost,
                is_app_limited: false,
            },
        };
        self.bbr.on_lost(self.window, &lost);
    }

    /// Returns the pacing rate in packets per round trip of 40 ms.
    fn paced(&self) -> f64 {
        self.bbr.pacing * RTT_NS as f64
    }
}

fn is_near(value: f64, expected: f64) -> bool {
    (value - expected).abs() < 1e-6 * expected
}

/// `bbr_startup_pacing_gain` and the others are multiples of 1/256.
#[test]
fn fractions_are_those_of_linux() {
    assert_eq!(STARTUP_PACING_GAIN, Fraction(710));
    assert_eq!(DRAIN_PACING_GAIN, Fraction(88));
    assert_eq!(DOWN_PACING_GAIN, Fraction(232));
    assert_eq!(UP_PACING_GAIN, Fraction(320));
    assert_eq!((LOSS_THRESHOLD, BETA), (Fraction(5), Fraction(76)));
    assert_eq!((HEADROOM, ECN_FACTOR), (Fraction(38), Fraction(85)));
    assert_eq!(UP_CWND_GAIN, 2.25);
}

/// Startup paces at 2.77 times the bandwidth, with a window of two bandwidth-delay products. It ends after three round
/// trips with less than 25 % growth. Drain paces at 0.34 times the bandwidth.
#[test]
fn startup_ends_when_bandwidth_stops_growing() {
    let mut path = Path::new(RTT_NS, false);
    assert!(is_near(path.paced(), 710.0 / 256.0 * 0.99 * 10.0));
    for pkts in [10, 20, 40, 80, 100, 100, 100] {
        path.round(Round::of(pkts));
        assert_eq!(path.bbr.state, State::Startup);
    }
    assert!(is_near(path.paced(), 710.0 / 256.0 * 0.99 * 100.0));
    assert!(path.window.cwnd >= 200, "{}", path.window.cwnd);
    path.round(Round {
        in_flight: 250,
        ..Round::of(100)
    });
    assert_eq!(path.bbr.state, State::Drain);
    assert_eq!(path.window.ssthresh, BDP);
    assert!(is_near(path.paced(), 88.0 / 256.0 * 0.99 * 100.0));
    path.round(Round {
        in_flight: BDP + 1,
        ..Round::of(100)
    });
    assert_eq!(path.bbr.state, State::Drain);
    // Down ends at once, because there is no queue.
    path.round(Round::of(100));
    assert_eq!(path.bbr.state, State::ProbeBwCruise);
    assert!(is_near(path.paced(), 0.99 * 100.0));
}

/// Six acknowledgements with losses in a round trip of recovery, at more than 2 %, end Startup. The upper bound is the
/// volume delivered in the round trip.
#[test]
fn startup_ends_by_losses() {
    for (losses, lost_in_flight, ends) in [(6, 10, true), (5, 10, false), (6, 3, false)] {
        let mut path = Path::new(RTT_NS, false);
        for pkts in [10, 20, 40, 80] {
            path.round(Round::of(pkts));
        }
        let lossy = Round {
            newly_lost: 1,
            lost_in_flight,
            recovery: RecoveryState::Recovery,
            ..Round::of(160)
        };
        let end = path.delivered + 160;
        for i in 0..losses {
            let mut delivery = path.delivery(lossy);
            // All but the last acknowledge packets of the same round trip.
            let measured = delivery.rate.measured.as_mut().unwrap();
            measured.prior_delivered = if i + 1 < losses { 0 } else { end };
            path.bbr.on_delivery(&mut path.window, &delivery);
        }
        assert_eq!(path.bbr.full_bw_reached, ends, "{losses}, {lost_in_flight}");
        if ends {
            assert_eq!(path.bbr.bounds.inflight_hi, 160);
        }
    }
}

/// Cruise lasts until 2 to 3 s after the start of Down, refill one round trip. Up ends after three round trips without
/// growth.
#[test]
fn cycle_has_four_phases() {
    let mut path = Path::cruising();
    let wait_ns = path.bbr.probe_wait_ns;
    assert!((2_000 * MS..3_000 * MS).contains(&wait_ns), "{wait_ns}");
    assert!(is_near(path.paced(), 0.99 * 100.0));
    let until_ns = path.bbr.cycle_at_ns + wait_ns;
    while path.bbr.state == State::ProbeBwCruise {
        path.round(Round::of(100));
        // Without this, 63 round trips would come first.
        path.bbr.rounds_since_probe = 0;
    }
    assert_eq!(path.bbr.state, State::ProbeBwRefill);
    assert!((1..=RTT_NS).contains(&(path.now_ns - until_ns)));
    path.round(Round::of(100));
    assert_eq!(path.bbr.state, State::ProbeBwUp);
    assert!(is_near(path.paced(), 1.25 * 0.99 * 100.0));
    for _ in 0..2 {
        path.round(Round::of(100));
        assert_eq!(path.bbr.state, State::ProbeBwUp);
    }
    // 2.25 bandwidth-delay products, rounded up, the 100 packets of an acknowledgement, and two packets.
    assert_eq!(path.window.cwnd, 226 + 100 + 2);
    path.round(Round {
        in_flight: 125,
        ..Round::of(100)
    });
    assert_eq!(path.bbr.state, State::ProbeBwDown);
    assert!(is_near(path.paced(), 232.0 / 256.0 * 0.99 * 100.0));
    path.round(Round {
        in_flight: BDP + 1,
        ..Round::of(100)
    });
    assert_eq!(path.bbr.state, State::ProbeBwDown);
    path.round(Round::of(100));
    assert_eq!(path.bbr.state, State::ProbeBwCruise);
}

/// A probe starts after as many round trips as the bandwidth-delay product has packets, at most 63.
#[test]
fn probes_coexist_with_reno() {
    for (pkts, most) in [(20, 20), (100, 63)] {
        let mut path = Path::new(RTT_NS / 100, false);
        for _ in 0..12 {
            path.round(Round {
                rtt_ns: RTT_NS,
                ..Round::of(pkts)
            });
        }
        path.bbr.min_rtt.ns = RTT_NS;
        path.bbr.probe_rtt_min.ns = RTT_NS;
        path.bbr.state = State::ProbeBwCruise;
        path.bbr.rounds_since_probe = 0;
        path.bbr.cycle_at_ns = u64::MAX / 2;
        let mut rounds = 0;
        while path.bbr.state == State::ProbeBwCruise {
            path.round(Round::of(pkts));
            rounds += 1;
        }
        assert_eq!(rounds, most, "{pkts}");
    }
}

/// A loss while it cruises reduces the lower bounds to 180/256, not below the last round trip. The next probe removes
/// them.
#[test]
fn losses_reduce_lower_bounds() {
    let mut path = Path::cruising();
    let cwnd = path.window.cwnd;
    path.bbr.bw_latest = 0.0;
    path.bbr.inflight_latest = 0;
    path.lose(1, 100);
    path.round(Round {
        newly_lost: 1,
        recovery: RecoveryState::Recovery,
        ..Round::of(20)
    });
    assert_eq!(path.bbr.bounds.inflight_lo, cwnd * 180 / 256);
    let bw_lo = path.bbr.bounds.bw_lo * RTT_NS as f64;
    assert!(is_near(bw_lo, 100.0 * 180.0 / 256.0), "{bw_lo}");
    assert_eq!(path.bbr.bounds.inflight_hi, NO_BOUND);
    // The bounds are not below the 90 packets delivered in a round trip.
    path.bbr.bw_latest = 0.0;
    path.bbr.inflight_latest = 0;
    path.round(Round {
        newly_lost: 1,
        recovery: RecoveryState::Recovery,
        ..Round::of(90)
    });
    let bw_lo = path.bbr.bounds.bw_lo * RTT_NS as f64;
    assert!(is_near(bw_lo, 90.0), "{bw_lo}");
    path.bbr.probe_wait_ns = 0;
    path.round(Round::of(100));
    assert_eq!(path.bbr.state, State::ProbeBwRefill);
    assert_eq!(path.bbr.bounds.inflight_lo, NO_BOUND);
    assert_eq!(path.bbr.bounds.bw_lo, f64::INFINITY);
}

/// More than 2 % lost while it probes set the upper bound to the packets in flight at 2 %, and end the probe. Further
/// losses of the same probe have no effect.
#[test]
fn losses_of_a_probe_set_the_upper_bound() {
    assert_eq!(inflight_at_loss_threshold(3, 100), 99);
    assert_eq!(inflight_at_loss_threshold(2, 100), 100);
    assert!(is_loss_too_high(2, 100) && !is_loss_too_high(1, 100));
    let mut path = Path::probing();
    path.lose(1, 150);
    path.lose(2, 150);
    assert_eq!(path.bbr.state, State::ProbeBwUp);
    path.lose(3, 150);
    assert_eq!(path.bbr.state, State::ProbeBwDown);
    // (149 · 5 + 255) / 256 = 3 losses are within 2 %, and two were before the last: (1 · 256) / 251 = 1.
    assert_eq!(path.bbr.bounds.inflight_hi, 150);
    assert!(path.bbr.prev_probe_too_high);
    path.lose(30, 120);
    assert_eq!(path.bbr.bounds.inflight_hi, 150);
    // Down has the bound, cruise 15 % (38/256) less.
    assert_eq!(path.bbr.inflight_with_headroom(), 150 - 22);
}

/// The bound is at least 180/256 of the bandwidth-delay product.
#[test]
fn upper_bound_is_not_far_below_the_bdp() {
    let mut path = Path::probing();
    path.lose(5, 20);
    // The target has two packets more in this state.
    assert_eq!(path.bbr.bounds.inflight_hi, (BDP + 2) * 180 / 256);
}

/// After a probe that was too high, the next one stops at the upper bound. Without new losses, another follows at once
/// and raises the bound by 1, 2, 4 … packets per round trip.
#[test]
fn upper_bound_grows_exponentially() {
    let mut path = Path::probing();
    path.lose(3, 150);
    let bound = path.bbr.bounds.inflight_hi;
    path.round(Round::of(100));
    path.bbr.probe_wait_ns = 0;
    path.round(Round::of(100));
    assert_eq!(path.bbr.state, State::ProbeBwRefill);
    path.round(Round::of(100));
    assert_eq!(path.bbr.state, State::ProbeBwUp);
    path.round(Round {
        in_flight: bound,
        ..Round::of(100)
    });
    assert_eq!(path.bbr.state, State::ProbeBwDown);
    assert!(path.bbr.stopped_risky_probe);
    path.round(Round::of(100));
    assert_eq!(path.bbr.state, State::ProbeBwRefill);
    path.round(Round::of(100));
    assert_eq!(path.bbr.state, State::ProbeBwUp);
    let mut bounds = Vec::new();
    for _ in 0..3 {
        path.window.cwnd = path.bbr.bounds.inflight_hi;
        let before = path.bbr.bounds.inflight_hi;
        path.round(Round::of(before));
        bounds.push(path.bbr.bounds.inflight_hi - before);
    }
    assert_eq!(bounds, [1, 2, 4]);
}

/// After 5 s without a smaller round-trip time, the window is half the bandwidth-delay product for 200 ms. The minimum
/// changes after 10 s only.
#[test]
fn probe_rtt_halves_the_window() {
    let mut path = Path::cruising();
    let longer = Round {
        rtt_ns: RTT_NS + 2 * MS,
        ..Round::of(100)
    };
    while path.bbr.state != State::ProbeRtt {
        path.round(longer);
    }
    let since_ns = path.now_ns - path.bbr.min_rtt.at_ns;
    assert!((5_000 * MS..5_100 * MS).contains(&since_ns), "{since_ns}");
    assert_eq!(path.bbr.min_rtt.ns, RTT_NS);
    assert_eq!(path.window.cwnd, BDP.div_ceil(2));
    assert!(path.bbr.is_probing_rtt());
    let before = path.bbr.prior_cwnd;
    let drained = Round {
        in_flight: 50,
        ..longer
    };
    let start_ns = path.now_ns;
    while path.bbr.state == State::ProbeRtt {
        path.round(drained);
    }
    assert!((200 * MS..300 * MS).contains(&(path.now_ns - start_ns)));
    assert_eq!(path.bbr.state, State::ProbeBwCruise);
    assert_eq!(path.window.cwnd, before);
}

/// α starts at 1 and has the weight 1/16. Marks reduce the lower bound by a third of α.
#[test]
fn marks_reduce_the_lower_bound() {
    let mut path = Path::new(RTT_NS / 10, true);
    for pkts in [100; 12] {
        path.round(Round {
            rtt_ns: RTT_NS / 10,
            ..Round::of(pkts)
        });
    }
    assert!(path.bbr.is_ecn_eligible);
    path.bbr.state = State::ProbeBwCruise;
    path.bbr.bounds = Bounds::NONE;
    path.bbr.ecn_alpha = Fraction::ONE;
    path.bbr.rounds_since_probe = 0;
    path.bbr.probe_wait_ns = 2_000 * MS;
    let cwnd = path.window.cwnd;
    path.round(Round {
        rtt_ns: RTT_NS / 10,
        marked: 100,
        ..Round::of(100)
    });
    assert_eq!(path.bbr.ecn_alpha, Fraction::ONE);
    assert_eq!(path.bbr.bounds.inflight_lo, cwnd * (256 - 85) / 256);
    assert_eq!(path.bbr.bounds.bw_lo, f64::INFINITY);
    // A round trip without marks: 240/256, and another probe at once.
    path.round(Round {
        rtt_ns: RTT_NS / 10,
        ..Round::of(100)
    });
    assert_eq!(path.bbr.ecn_alpha, Fraction(240));
    assert_eq!(path.bbr.state, State::ProbeBwRefill);
}

/// Marks have no effect without `ecn_low`, and with a minimum round-trip time above 5 ms.
#[test]
fn marks_need_ecn_low_and_a_short_rtt() {
    for (rtt_ns, ecn_low) in [(RTT_NS / 10, false), (6 * MS, true)] {
        let mut path = Path::new(rtt_ns, ecn_low);
        for _ in 0..12 {
            path.round(Round {
                rtt_ns,
                marked: 100,
                ..Round::of(100)
            });
        }
        assert!(!path.bbr.is_ecn_eligible);
        assert_eq!(path.bbr.bounds.inflight_lo, NO_BOUND);
        assert_eq!(path.bbr.ecn_alpha, Fraction::ONE);
    }
}

/// Two round trips with half of the packets marked end Startup.
#[test]
fn startup_ends_by_marks() {
    let mut path = Path::new(RTT_NS / 10, true);
    for (pkts, marked, ends) in [(10, 4, false), (20, 10, false), (40, 20, true)] {
        path.round(Round {
            rtt_ns: RTT_NS / 10,
            marked,
            ..Round::of(pkts)
        });
        assert_eq!(path.bbr.full_bw_reached, ends, "{pkts}");
    }
}

/// A spurious timeout restores the bounds and the window.
#[test]
fn spurious_timeouts_are_undone() {
    let mut path = Path::cruising();
    let before = path.window.cwnd;
    path.bbr.on_congestion_event(path.window, false);
    path.bbr.on_rto(path.window, 0);
    // The timeout sets the lower bound to the window before it.
    assert_eq!(path.bbr.bounds.inflight_lo, before);
    path.window.cwnd = 1;
    path.bbr.bounds.bw_lo = 0.0;
    path.bbr.undo(&mut path.window);
    assert_eq!(path.window.cwnd, before);
    assert_eq!(path.bbr.bounds.inflight_lo, NO_BOUND);
    assert_eq!(path.bbr.bounds.bw_lo, f64::INFINITY);
}

/// The first acknowledgement after recovery from a timeout restores the window.
#[test]
fn window_returns_after_a_timeout() {
    let mut path = Path::cruising();
    let before = path.window.cwnd;
    path.bbr.on_congestion_event(path.window, false);
    path.bbr.on_rto(path.window, 0);
    path.window.cwnd = 1;
    path.round(Round {
        recovery: RecoveryState::Loss,
        ..Round::of(4)
    });
    assert!(path.window.cwnd < 10);
    path.round(Round::of(4));
    assert_eq!(path.window.cwnd, before + 4);
}

/// After an idle period without data, it paces at the bandwidth, and round-trip times do not start ProbeRTT.
#[test]
fn idle_restart_paces_at_the_bandwidth() {
    let mut path = Path::probing();
    path.now_ns += 6_000 * MS;
    let mut idle = IdlePeriod {
        now_ns: path.now_ns,
        idle_ns: 6_000 * MS,
        is_app_limited: false,
    };
    path.bbr.on_idle_restart(&mut path.window, &idle);
    assert!(!path.bbr.is_idle_restart);
    idle.is_app_limited = true;
    path.bbr.on_idle_restart(&mut path.window, &idle);
    assert!(is_near(path.paced(), 0.99 * 100.0));
    path.round(Round {
        is_app_limited: true,
        ..Round::of(10)
    });
    assert_ne!(path.bbr.state, State::ProbeRtt);
    assert!(!path.bbr.is_idle_restart);
}

/// Samples of an application with little data do not lower the bandwidth.
#[test]
fn application_limited_samples_do_not_lower_the_bandwidth() {
    let mut path = Path::cruising();
    let (cwnd, bandwidth) = (path.window.cwnd, path.bbr.bw());
    for _ in 0..50 {
        path.round(Round {
            is_app_limited: true,
            ..Round::of(5)
        });
    }
    assert!(path.bbr.bw() >= bandwidth);
    assert!(path.window.cwnd >= cwnd);
}

/// A burst has the packets of 1/1024 s, and 64 KiB for short round-trip times, which halve every 512 µs.
#[test]
fn bursts_are_larger_with_short_round_trips() {
    let mut path = Path::new(RTT_NS, false);
    path.bbr.pacing = 1e-9 * 1024.0 * 10.5;
    for (rtt_ns, pkts) in [(RTT_NS, 10), (513_000, 32), (1_025_000, 21), (0, 44)] {
        path.bbr.min_rtt.ns = rtt_ns;
        assert_eq!(path.bbr.burst_pkts(), pkts, "{rtt_ns}");
    }
    path.bbr.pacing = 0.0;
    path.bbr.min_rtt.ns = RTT_NS;
    assert_eq!(path.bbr.burst_pkts(), MIN_BURST_PKTS);
}

/// A loss that a tail loss probe repaired counts as one packet of the last round trip. Acknowledgements of the probe do not
/// start another round trip.
#[test]
fn tail_losses_count_as_losses_of_a_probe() {
    let mut path = Path::probing();
    path.bbr.inflight_latest = 20;
    let lost = Lost {
        now_ns: path.now_ns,
        delivered: path.delivered,
        flight: Flight {
            in_flight: 0,
            delivered: 0,
            marked: 0,
            lost: 0,
            is_app_limited: false,
        },
    };
    path.bbr.on_tail_loss(path.window, &lost);
    assert_eq!(path.bbr.state, State::ProbeBwDown);
    assert!(path.bbr.prev_probe_too_high);
    assert_eq!(path.bbr.bounds.inflight_hi, (BDP + 2) * 180 / 256);
    let mut delivery = path.delivery(Round::of(10));
    delivery.acks_tail_probe = true;
    path.bbr.inflight_latest = 90;
    path.bbr.on_delivery(&mut path.window, &delivery);
    assert_eq!(path.bbr.inflight_latest, 90);
    path.round(Round::of(10));
    assert_eq!(path.bbr.inflight_latest, 10);
}

/// Until the pacer allows the next burst, packets leave the network at the bandwidth; while it probes, the burst counts.
#[test]
fn packets_in_flight_are_those_at_departure() {
    let mut path = Path::cruising();
    let mut delivery = path.delivery(Round::of(100));
    delivery.next_departure_ns = path.now_ns + RTT_NS / 10;
    assert_eq!(path.bbr.in_flight_at_departure(50, &delivery), 40);
    path.bbr.pacing_gain = UP_PACING_GAIN;
    path.bbr.pacing = 1e-9 * 1024.0 * 10.5;
    assert_eq!(path.bbr.in_flight_at_departure(50, &delivery), 50);
    assert_eq!(path.bbr.in_flight_at_departure(0, &delivery), 0);
}
