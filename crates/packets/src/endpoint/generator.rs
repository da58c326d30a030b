//! Packet generators: arrival processes of applications and of fixed-rate sources.

use netflow_network::{Application, Source};
use netflow_units::math::ln;
use rand::RngExt;
use rand_pcg::Pcg32;

/// Generator of packets, one at a time.
#[derive(Clone, Debug)]
pub(crate) struct PacketGenerator {
    process: ArrivalProcess,
    /// Start of the current wait in ns, its length in constant or mean intervals, and its end in ns; the end
    /// is infinite without a next packet.
    wait_start_ns: f64,
    intervals: f64,
    next_ns: f64,
    generated: u64,
    random: Pcg32,
}

#[derive(Clone, Copy, Debug)]
enum ArrivalProcess {
    Never,
    Constant {
        interval_ns: f64,
    },
    Poisson {
        interval_ns: f64,
    },
    /// Exponential on/off source of ns-2: bursts of a whole number of packets.
    OnOff {
        interval_ns: f64,
        burst_pkts: f64,
        off_ns: f64,
        /// Remaining packets of this burst.
        remaining_pkts: u32,
    },
}

impl PacketGenerator {
    /// Returns the generator of an application whose connection starts at `start_ns`.
    pub fn for_application(
        application: Application,
        start_ns: u64,
        random: Pcg32,
    ) -> PacketGenerator {
        let rhythm = match application {
            Application::Bulk => ArrivalProcess::Never,
            Application::Poisson { rate_pps } => ArrivalProcess::Poisson {
                interval_ns: 1e9 / rate_pps,
            },
            Application::OnOff {
                rate_pps,
                on_s,
                off_s,
            } => ArrivalProcess::OnOff {
                interval_ns: 1e9 / rate_pps,
                burst_pkts: on_s * rate_pps,
                off_ns: off_s * 1e9,
                remaining_pkts: 0,
            },
        };
        PacketGenerator::new(rhythm, start_ns, random)
    }

    /// Returns the generator of a source. It generates nothing for sources with feedback.
    pub fn for_source(source: &Source, start_ns: u64, random: Pcg32) -> PacketGenerator {
        let rhythm = match *source {
            Source::Constant { rate_pps } => ArrivalProcess::Constant {
                interval_ns: 1e9 / rate_pps,
            },
            Source::Poisson { rate_pps } => ArrivalProcess::Poisson {
                interval_ns: 1e9 / rate_pps,
            },
            Source::Profile(_) | Source::Ns2Tcp(_) | Source::Tcp(_) | Source::Users(_) => {
                ArrivalProcess::Never
            }
        };
        PacketGenerator::new(rhythm, start_ns, random)
    }

    fn new(rhythm: ArrivalProcess, start_ns: u64, random: Pcg32) -> PacketGenerator {
        let mut generator = PacketGenerator {
            process: rhythm,
            wait_start_ns: start_ns as f64,
            intervals: 0.0,
            next_ns: start_ns as f64,
            generated: 0,
            random,
        };
        generator.draw_interval();
        if let ArrivalProcess::Constant { interval_ns } = rhythm {
            // The phase is random, so that sources that start together do not send in lockstep.
            generator.intervals = 1.0 - generator.random.random::<f64>();
            generator.next_ns = generator.wait_start_ns + generator.intervals * interval_ns;
        }
        generator
    }

    /// Returns the time of the next packet in ns.
    #[inline]
    pub fn next_ns(&self) -> u64 {
        self.next_ns as u64
    }

    /// Returns the number of packets generated.
    pub fn generated(&self) -> u64 {
        self.generated
    }

    /// Generates the next packet, and schedules the one after it.
    pub fn advance(&mut self) {
        self.generated += 1;
        self.draw_interval();
    }

    fn draw_interval(&mut self) {
        let random = &mut self.random;
        self.wait_start_ns = self.next_ns;
        self.intervals = 1.0;
        self.next_ns += match &mut self.process {
            ArrivalProcess::Never => f64::INFINITY,
            ArrivalProcess::Constant { interval_ns } => *interval_ns,
            ArrivalProcess::Poisson { interval_ns } => {
                self.intervals = exponential(random);
                *interval_ns * self.intervals
            }
            ArrivalProcess::OnOff {
                interval_ns,
                burst_pkts,
                off_ns,
                remaining_pkts: left,
            } => {
                let mut wait_ns = *interval_ns;
                if *left == 0 {
                    *left = (*burst_pkts * exponential(random)).round().max(1.0) as u32;
                    wait_ns += *off_ns * exponential(random);
                }
                *left -= 1;
                wait_ns
            }
        };
    }

    /// Sets a constant or mean rate from `now_ns` on, in packets/s; 0 pauses the generator. The remaining
    /// wait keeps its length in intervals.
    pub fn set_rate(&mut self, now_ns: u64, rate_pps: f64) {
        let (ArrivalProcess::Constant { interval_ns } | ArrivalProcess::Poisson { interval_ns }) =
            &mut self.process
        else {
            return;
        };
        let now_ns = now_ns as f64;
        if now_ns > self.wait_start_ns {
            // At rate 0, the wait does not progress.
            if interval_ns.is_finite() {
                self.intervals = ((self.next_ns - now_ns) / *interval_ns).max(0.0);
            }
            self.wait_start_ns = now_ns;
        }
        *interval_ns = 1e9 / rate_pps;
        self.next_ns = if interval_ns.is_finite() {
            self.wait_start_ns + *interval_ns * self.intervals
        } else {
            f64::INFINITY
        };
    }

    /// Stops the generator.
    pub fn stop(&mut self) {
        self.process = ArrivalProcess::Never;
        self.next_ns = f64::INFINITY;
    }
}

/// Returns an exponentially distributed number with mean 1.
pub(crate) fn exponential(random: &mut Pcg32) -> f64 {
    -ln(1.0 - random.random::<f64>())
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    fn of(source: Source, start_ns: u64) -> PacketGenerator {
        PacketGenerator::for_source(&source, start_ns, Pcg32::new(7, 1))
    }

    fn take(generator: &mut PacketGenerator, n: usize) -> Vec<u64> {
        let next = |_| {
            let next_ns = generator.next_ns();
            generator.advance();
            next_ns
        };
        (0..n).map(next).collect()
    }

    /// Rates set before the start are replaced by the last one, as if it had always been set.
    #[test]
    fn rate_before_start_replaces_the_source_rate() {
        let mut random = Pcg32::seed_from_u64(1);
        let sources = [
            |rate_pps| Source::Constant { rate_pps },
            |rate_pps| Source::Poisson { rate_pps },
        ];
        for case in 0..200 {
            let start_ns = random.random_range(0..10_000_000_000);
            let source = sources[case % 2];
            let mut set = of(source(5.0), start_ns);
            let mut rate_pps = 0.0;
            for _ in 0..random.random_range(1..6) {
                set.set_rate(random.random_range(0..=start_ns), rate_pps);
                rate_pps = random.random_range(0.1..1e5);
            }
            set.set_rate(start_ns, rate_pps);
            let wanted = take(&mut of(source(rate_pps), start_ns), 50);
            assert_eq!(take(&mut set, 50), wanted, "{case}");
        }
    }

    /// The remaining part of an interval is scaled with the rate, and stays the same while the rate is 0.
    #[test]
    fn remaining_wait_scales_with_the_rate() {
        let mut random = Pcg32::seed_from_u64(2);
        for _ in 0..200 {
            let (before_pps, after_pps): (f64, f64) =
                (random.random_range(1.0..1e4), random.random_range(1.0..1e4));
            let (part, pause_ns) = (
                random.random::<f64>(),
                random.random_range(0..1_000_000_000),
            );
            let source = Source::Constant {
                rate_pps: before_pps,
            };
            let mut generator = of(source, 0);
            let first_ns = generator.next_ns();
            generator.advance();
            let now_ns = first_ns + (part * 1e9 / before_pps) as u64;
            generator.set_rate(now_ns, 0.0);
            assert_eq!(generator.next_ns(), u64::MAX);
            generator.set_rate(now_ns + pause_ns, after_pps);
            let next_ns = generator.next_ns() as f64;
            let wanted_ns = (now_ns + pause_ns) as f64 + (1.0 - part) * 1e9 / after_pps;
            // The time of change is in whole nanoseconds.
            let slack_ns = 2.0 + 2.0 * before_pps / after_pps;
            assert!(
                (next_ns - wanted_ns).abs() <= slack_ns,
                "{next_ns} {wanted_ns}"
            );
        }
    }

    /// Among 100 calls that start together and send 50 packets/s, no two send together. Their first packets
    /// are at uniformly distributed times within 20 ms.
    #[test]
    fn simultaneous_constant_rate_sources_are_desynchronized() {
        let first = |number| {
            let random = Pcg32::new(7, number);
            let source = Source::Constant { rate_pps: 50.0 };
            let mut generator = PacketGenerator::for_source(&source, 3_000_000_000, random);
            let [first_ns, second_ns] = [0, 1].map(|_| take(&mut generator, 1)[0]);
            assert!((19_999_999..=20_000_001).contains(&(second_ns - first_ns)));
            first_ns - 3_000_000_000
        };
        let mut first: Vec<u64> = (0..100).map(first).collect();
        first.sort_unstable();
        assert!(first.windows(2).all(|pair| pair[0] < pair[1]));
        let mean_ns = first.iter().sum::<u64>() / 100;
        assert!(first[99] <= 20_000_000 && mean_ns.abs_diff(10_000_000) < 2_000_000);
    }

    /// A stopped source generates no more packets at any rate.
    #[test]
    fn rate_change_does_not_restart_a_stopped_source() {
        let mut generator = of(Source::Constant { rate_pps: 5.0 }, 0);
        generator.stop();
        generator.set_rate(10, 100.0);
        assert_eq!(generator.next_ns(), u64::MAX);
    }
}
