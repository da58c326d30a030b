//! What makes packets: the clocks of applications and of sources without a window.

use netflow_network::{Application, Source};
use rand::RngExt;
use rand_pcg::Pcg32;

/// Makes packets, one at a time.
#[derive(Clone, Debug)]
pub(crate) struct PacketGenerator {
    rhythm: Rhythm,
    /// When the next packet is made; infinite if there is none.
    next_ns: f64,
    made: u64,
    random: Pcg32,
}

#[derive(Clone, Copy, Debug)]
enum Rhythm {
    Never,
    Constant {
        interval_ns: f64,
    },
    Poisson {
        interval_ns: f64,
    },
    /// As ns-2's exponential on/off source: bursts of a whole number of packets.
    OnOff {
        interval_ns: f64,
        burst_pkts: f64,
        off_ns: f64,
        /// Packets left of this burst.
        left: u32,
    },
}

impl PacketGenerator {
    /// That of an application whose connection starts at `start_ns`.
    pub fn of_application(
        application: Application,
        start_ns: u64,
        random: Pcg32,
    ) -> PacketGenerator {
        let rhythm = match application {
            Application::Bulk => Rhythm::Never,
            Application::Poisson { rate_pps } => Rhythm::Poisson {
                interval_ns: 1e9 / rate_pps,
            },
            Application::OnOff {
                rate_pps,
                on_s,
                off_s,
            } => Rhythm::OnOff {
                interval_ns: 1e9 / rate_pps,
                burst_pkts: on_s * rate_pps,
                off_ns: off_s * 1e9,
                left: 0,
            },
        };
        PacketGenerator::new(rhythm, start_ns, random)
    }

    /// That of a source; sources with feedback make nothing by themselves.
    pub fn of_source(source: &Source, start_ns: u64, random: Pcg32) -> PacketGenerator {
        let rhythm = match *source {
            Source::Constant { rate_pps } => Rhythm::Constant {
                interval_ns: 1e9 / rate_pps,
            },
            Source::Poisson { rate_pps } => Rhythm::Poisson {
                interval_ns: 1e9 / rate_pps,
            },
            Source::Profile(_) | Source::Window(_) | Source::Stack(_) | Source::Users(_) => {
                Rhythm::Never
            }
        };
        PacketGenerator::new(rhythm, start_ns, random)
    }

    fn new(rhythm: Rhythm, start_ns: u64, random: Pcg32) -> PacketGenerator {
        let mut generator = PacketGenerator {
            rhythm,
            next_ns: start_ns as f64,
            made: 0,
            random,
        };
        // A constant rate begins with a packet; others with a pause.
        if !matches!(rhythm, Rhythm::Constant { .. }) {
            generator.wait();
        }
        generator
    }

    /// When the next packet is made.
    #[inline]
    pub fn next_ns(&self) -> u64 {
        self.next_ns as u64
    }

    /// How many packets were made.
    pub fn made(&self) -> u64 {
        self.made
    }

    /// The next packet is made: goes on to the one after.
    pub fn advance(&mut self) {
        self.made += 1;
        self.wait();
    }

    fn wait(&mut self) {
        let random = &mut self.random;
        self.next_ns += match &mut self.rhythm {
            Rhythm::Never => f64::INFINITY,
            Rhythm::Constant { interval_ns } => *interval_ns,
            Rhythm::Poisson { interval_ns } => *interval_ns * exponential(random),
            Rhythm::OnOff {
                interval_ns,
                burst_pkts,
                off_ns,
                left,
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

    /// No more packets.
    pub fn stop(&mut self) {
        self.rhythm = Rhythm::Never;
        self.next_ns = f64::INFINITY;
    }
}

/// An exponentially distributed number with mean 1.
pub(crate) fn exponential(random: &mut Pcg32) -> f64 {
    -(1.0 - random.random::<f64>()).ln()
}
