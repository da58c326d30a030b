//! Families of random networks, similar to those of users.

use std::fmt::Write as _;
use std::path::Path;

use netflow_scenario::CompiledScenario;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Size of a data packet in bytes.
const PACKET_BYTES: f64 = 1000.0;

/// Topology of a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Family {
    /// Many pairs of hosts over one link, perhaps in both directions.
    Dumbbell,
    /// Long connections over several links, each shared with short ones.
    ParkingLot,
    /// Random routers with hosts.
    Random,
    /// A core with stubs of lower bandwidth.
    TransitStub,
    /// Hosts around one switch; each host's link is a bottleneck.
    Star,
}

impl Family {
    /// All families.
    pub const ALL: [Family; 5] = [
        Family::Dumbbell,
        Family::ParkingLot,
        Family::Random,
        Family::TransitStub,
        Family::Star,
    ];

    /// Returns the name in pages and files.
    pub fn name(self) -> &'static str {
        match self {
            Family::Dumbbell => "dumbbell",
            Family::ParkingLot => "parking-lot",
            Family::Random => "random",
            Family::TransitStub => "transit-stub",
            Family::Star => "star",
        }
    }
}

/// Which networks: those that constants were fitted to, or others. They share no random number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Set {
    /// Looked at while the model was made.
    Development,
    /// Only judged by.
    Test,
}

/// Link in one direction.
#[derive(Clone, Debug)]
struct Link {
    from: String,
    to: String,
    pps: f64,
    delay_s: f64,
    buffer_pkts: u32,
}

/// Source of a connection.
#[derive(Clone, Copy, Debug)]
enum Kind {
    /// TCP with its maximum window in packets.
    Tcp(u32),
    Poisson(f64),
    Constant(f64),
}

#[derive(Clone, Debug)]
struct Flow {
    kind: Kind,
    start_s: f64,
    stop_s: f64,
    from: String,
    to: String,
}

/// Random network of a family.
#[derive(Clone, Debug)]
pub struct Draw {
    /// Family.
    pub family: Family,
    /// `FAMILY-NUMBER`.
    pub name: String,
    /// Duration in seconds.
    pub duration_s: f64,
    /// Start of the measurement in seconds.
    pub warmup_s: f64,
    /// TCP variant of all windows.
    pub tcp: Tcp,
    links: Vec<Link>,
    flows: Vec<Flow>,
}

/// Which TCP all windows are of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Tcp {
    /// ns-2's Reno.
    #[default]
    NsReno,
    /// Linux's Reno.
    LinuxReno,
    /// Linux's CUBIC.
    LinuxCubic,
}

impl Tcp {
    /// Returns the source of a connection as scenario text.
    fn source(self, side: ModelKind) -> &'static str {
        match (side, self) {
            (ModelKind::Packets, Tcp::NsReno) => "window = \"reno\"",
            (ModelKind::Packets, Tcp::LinuxReno) => "stack = \"linux-6\", congestion = \"reno\"",
            (ModelKind::Packets, Tcp::LinuxCubic) => "stack = \"linux-6\", congestion = \"cubic\"",
            (_, Tcp::NsReno) => "profile = \"ns-reno\"",
            (_, Tcp::LinuxReno) => "profile = \"linux-reno\"",
            (_, Tcp::LinuxCubic) => "profile = \"linux-cubic\"",
        }
    }
}

/// Simulation engine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ModelKind {
    /// Fluid model with profiles.
    Fluid,
    /// Fluid model calibrated by packets, measured for the given seconds.
    Calibrated(f64),
    /// Packet model with congestion windows.
    Packets,
}

/// Returns a random number with a log-uniform distribution.
fn spread(r: &mut ChaCha8Rng, low: f64, high: f64) -> f64 {
    r.random_range(low.ln()..high.ln()).exp()
}

fn choice(r: &mut ChaCha8Rng, of: &[f64]) -> f64 {
    of[r.random_range(0..of.len())]
}

fn chance(r: &mut ChaCha8Rng, p: f64) -> bool {
    r.random_range(0.0..1.0) < p
}

impl Draw {
    /// Returns the network with this number.
    pub fn new(family: Family, set: Set, number: u64) -> Draw {
        let set = match set {
            Set::Development => 1,
            Set::Test => 2,
        };
        let mut r = ChaCha8Rng::seed_from_u64(1_000_000 * set + 10_000 * family as u64 + number);
        let mut draw = Draw {
            family,
            name: format!("{}-{number}", family.name()),
            duration_s: 90.0,
            warmup_s: 30.0,
            tcp: Tcp::default(),
            links: Vec::new(),
            flows: Vec::new(),
        };
        match family {
            Family::Dumbbell => draw.dumbbell(&mut r),
            Family::ParkingLot => draw.parking_lot(&mut r),
            Family::Random => draw.random(&mut r),
            Family::TransitStub => draw.transit_stub(&mut r),
            Family::Star => draw.star(&mut r),
        }
        if chance(&mut r, 0.3) {
            draw.churn(&mut r);
        }
        draw
    }

    /// Returns the same network with this TCP variant.
    pub fn with(self, tcp: Tcp) -> Draw {
        Draw { tcp, ..self }
    }

    /// Returns the same network with everything in packets multiplied by `factor`: bandwidths, buffers, maximum
    /// windows and rates. The run has the given duration, and all times of connections change with it.
    pub fn scaled(mut self, factor: u32, duration_s: f64) -> Draw {
        let of_time = duration_s / self.duration_s;
        let of_packets = f64::from(factor);
        for link in &mut self.links {
            link.pps *= of_packets;
            link.buffer_pkts *= factor;
        }
        for flow in &mut self.flows {
            flow.kind = match flow.kind {
                Kind::Tcp(window) => Kind::Tcp(window * factor),
                Kind::Poisson(pps) => Kind::Poisson(pps * of_packets),
                Kind::Constant(pps) => Kind::Constant(pps * of_packets),
            };
            flow.start_s *= of_time;
            flow.stop_s *= of_time;
        }
        Draw {
            name: format!("{}-x{factor}", self.name),
            duration_s,
            warmup_s: self.warmup_s * of_time,
            ..self
        }
    }

    /// Starts and stops connections at random, and measures the whole run.
    fn churn(&mut self, r: &mut ChaCha8Rng) {
        self.warmup_s = 0.0;
        for flow in &mut self.flows {
            if chance(r, 0.7) {
                flow.start_s = r.random_range(0.0..0.7 * self.duration_s);
                let stays_s = 3.0 - 25.0 * r.random_range(1e-9..1.0_f64).ln();
                flow.stop_s = (flow.start_s + stays_s).min(self.duration_s);
            }
        }
    }

    fn duplex(&mut self, a: &str, b: &str, pps: f64, delay_s: f64, buffer_pkts: f64) {
        for (from, to) in [(a, b), (b, a)] {
            self.links.push(Link {
                from: from.to_owned(),
                to: to.to_owned(),
                pps,
                delay_s: delay_s.max(2e-4),
                buffer_pkts: buffer_pkts.clamp(5.0, 2000.0) as u32,
            });
        }
    }

    fn flow(&mut self, r: &mut ChaCha8Rng, kind: Kind, (from, to): (String, String)) {
        self.flows.push(Flow {
            kind,
            start_s: r.random_range(0.0..5.0),
            stop_s: self.duration_s,
            from,
            to,
        });
    }

    /// Adds a constant or Poisson source of this rate.
    fn unresponsive(&mut self, r: &mut ChaCha8Rng, pps: f64, ends: (String, String)) {
        let kind = if chance(r, 0.5) {
            Kind::Poisson(pps)
        } else {
            Kind::Constant(pps)
        };
        self.flow(r, kind, ends);
    }

    /// Returns the maximum window of connections whose fair share is `fair_pkts` each; in most
    /// cases without effect.
    fn window(r: &mut ChaCha8Rng, fair_pkts: f64) -> u32 {
        if chance(r, 0.6) {
            10_000
        } else {
            (spread(r, 0.4, 3.0) * fair_pkts).max(2.0) as u32
        }
    }

    fn dumbbell(&mut self, r: &mut ChaCha8Rng) {
        let (pps, round_trip_s, n, buffer) = loop {
            let (pps, round_trip_s) = (spread(r, 150.0, 4000.0), spread(r, 0.02, 0.3));
            let product = pps * round_trip_s;
            let buffer = spread(r, 0.25, 3.0) * product;
            let n = spread(r, 1.0, 150.0).round();
            let window = (product + buffer) / n;
            if (5.0..1000.0).contains(&buffer) && (1.5..200.0).contains(&window) {
                break (pps, round_trip_s, n as usize, buffer);
            }
        };
        let uneven = choice(r, &[1.0, 1.0, 2.0, 4.0]);
        let window = Self::window(r, (pps * round_trip_s + buffer) / n as f64);
        let access = choice(r, &[1.5, 3.0, 10.0]);
        let own_s = 0.1 * round_trip_s;
        self.duplex("A", "B", pps, own_s, buffer);
        let places = n.min(20);
        for i in 0..places {
            let mine_s = 0.5 * round_trip_s * uneven.powf(r.random_range(-0.5..0.5));
            let rest_s = 0.5 * (mine_s - own_s);
            self.duplex(&format!("S{i}"), "A", access * pps, rest_s, 2000.0);
            self.duplex("B", &format!("D{i}"), access * pps, rest_s, 2000.0);
        }
        let there = |i: usize| (format!("S{}", i % places), format!("D{}", i % places));
        for i in 0..n {
            self.flow(r, Kind::Tcp(window), there(i));
        }
        if chance(r, 0.3) {
            let back = (n as f64 * choice(r, &[0.2, 0.5, 1.0])).ceil() as usize;
            for i in 0..back {
                let (from, to) = there(i);
                self.flow(r, Kind::Tcp(window), (to, from));
            }
        }
        if chance(r, 0.25) {
            let part = r.random_range(0.05..0.5);
            self.unresponsive(r, part * pps, there(0));
        }
    }

    fn parking_lot(&mut self, r: &mut ChaCha8Rng) {
        let hops = r.random_range(2..=5);
        let base = spread(r, 200.0, 3000.0);
        for i in 0..hops {
            let pps = base * choice(r, &[0.7, 1.0, 1.0, 1.3]);
            let buffer = spread(r, 0.25, 3.0) * pps * 0.12;
            let delay_s = spread(r, 0.004, 0.04);
            self.duplex(
                &format!("R{i}"),
                &format!("R{}", i + 1),
                pps,
                delay_s,
                buffer,
            );
        }
        let window = choice(r, &[1e4, 1e4, 20.0, 64.0, 128.0]) as u32;
        for _ in 0..r.random_range(1..=6) {
            let ends = self.between(r, base, 0, hops);
            self.flow(r, Kind::Tcp(window), ends);
        }
        for i in 0..hops {
            for _ in 0..r.random_range(0..=8) {
                let ends = self.between(r, base, i, i + 1);
                self.flow(r, Kind::Tcp(window), ends);
            }
        }
        if chance(r, 0.4) {
            for _ in 0..r.random_range(1..=6) {
                let from = r.random_range(1..=hops);
                let to = r.random_range(0..from);
                let ends = self.between(r, base, from, to);
                self.flow(r, Kind::Tcp(window), ends);
            }
        }
        if chance(r, 0.3) {
            let i = r.random_range(0..hops);
            let ends = self.between(r, base, i, i + 1);
            let part = r.random_range(0.05..0.4);
            self.unresponsive(r, part * base, ends);
        }
    }

    /// Adds a host at this router.
    fn attach(&mut self, r: &mut ChaCha8Rng, base: f64, router: usize) -> String {
        let name = format!("H{}", self.links.len());
        let pps = base * choice(r, &[2.0, 5.0]);
        let delay_s = spread(r, 0.005, 0.05);
        self.duplex(&name, &format!("R{router}"), pps, delay_s, 1000.0);
        name
    }

    /// Adds hosts at two routers of a chain.
    fn between(
        &mut self,
        r: &mut ChaCha8Rng,
        base: f64,
        from: usize,
        to: usize,
    ) -> (String, String) {
        (self.attach(r, base, from), self.attach(r, base, to))
    }

    /// Adds connections between hosts over shortest paths by delay, and a few unresponsive sources.
    fn connect(
        &mut self,
        r: &mut ChaCha8Rng,
        hosts: &[String],
        count: usize,
        window: u32,
        base: f64,
    ) {
        for _ in 0..count {
            let a = r.random_range(0..hosts.len());
            let b = (a + r.random_range(1..hosts.len())) % hosts.len();
            let ends = (hosts[a].clone(), hosts[b].clone());
            self.flow(r, Kind::Tcp(window), ends);
        }
        if chance(r, 0.3) {
            for _ in 0..r.random_range(1..=4) {
                let a = r.random_range(0..hosts.len());
                let b = (a + r.random_range(1..hosts.len())) % hosts.len();
                let ends = (hosts[a].clone(), hosts[b].clone());
                let part = r.random_range(0.03..0.3);
                self.unresponsive(r, part * base, ends);
            }
        }
    }

    fn random(&mut self, r: &mut ChaCha8Rng) {
        let routers = r.random_range(5..=14);
        let base = spread(r, 300.0, 2500.0);
        let places: Vec<(f64, f64)> = (0..routers)
            .map(|_| (r.random_range(0.0..1.0), r.random_range(0.0..1.0)))
            .collect();
        let apart = |i: usize, j: usize| {
            let ((a, b), (c, d)): ((f64, f64), (f64, f64)) = (places[i], places[j]);
            (a - c).hypot(b - d)
        };
        let mut pairs: Vec<(usize, usize)> = Vec::new();
        for i in 1..routers {
            let near = (0..i).min_by(|&a, &b| apart(i, a).total_cmp(&apart(i, b)));
            pairs.push((near.unwrap_or(0), i));
        }
        for _ in 0..routers / 2 {
            let (i, j) = (r.random_range(0..routers), r.random_range(0..routers));
            let pair = (i.min(j), i.max(j));
            if i != j && !pairs.contains(&pair) {
                pairs.push(pair);
            }
        }
        let across_s = spread(r, 0.015, 0.08);
        for (i, j) in pairs {
            let pps = base * choice(r, &[0.5, 1.0, 1.0, 2.0]);
            let buffer = spread(r, 0.25, 3.0) * pps * 0.1;
            let delay_s = apart(i, j) * across_s;
            self.duplex(&format!("R{i}"), &format!("R{j}"), pps, delay_s, buffer);
        }
        let hosts: Vec<String> = (0..r.random_range(8..=30))
            .map(|i| format!("H{i}"))
            .collect();
        for host in &hosts {
            let at = r.random_range(0..routers);
            let (pps, buffer) = (
                base * choice(r, &[1.0, 2.0, 4.0]),
                choice(r, &[50.0, 100.0, 200.0, 500.0]),
            );
            let delay_s = spread(r, 0.002, 0.02);
            self.duplex(host, &format!("R{at}"), pps, delay_s, buffer);
        }
        let count = spread(r, 8.0, 120.0) as usize;
        let window = choice(r, &[1e4, 1e4, 20.0, 64.0, 64.0, 128.0]) as u32;
        self.connect(r, &hosts, count, window, base);
    }

    fn transit_stub(&mut self, r: &mut ChaCha8Rng) {
        let core = r.random_range(3..=6);
        let base = spread(r, 500.0, 2500.0);
        for i in 0..core {
            let delay_s = spread(r, 0.005, 0.03);
            let next = format!("T{}", (i + 1) % core);
            self.duplex(&format!("T{i}"), &next, 2.0 * base, delay_s, 0.2 * base);
        }
        let mut hosts = Vec::new();
        for i in 0..core {
            for s in 0..r.random_range(1..=3) {
                let stub = format!("S{i}x{s}");
                let pps = base * choice(r, &[0.25, 0.5, 1.0]);
                let buffer = spread(r, 0.25, 3.0) * pps * 0.08;
                let delay_s = spread(r, 0.002, 0.015);
                self.duplex(&stub, &format!("T{i}"), pps, delay_s, buffer);
                for h in 0..r.random_range(2..=5) {
                    let host = format!("H{i}x{s}x{h}");
                    let (pps, delay_s) =
                        (base * choice(r, &[0.5, 1.0, 2.0]), spread(r, 0.0005, 0.01));
                    let buffer = choice(r, &[30.0, 100.0, 300.0]);
                    self.duplex(&host, &stub, pps, delay_s, buffer);
                    hosts.push(host);
                }
            }
        }
        let count = spread(r, 10.0, 120.0) as usize;
        let window = choice(r, &[1e4, 1e4, 20.0, 32.0, 64.0, 128.0]) as u32;
        self.connect(r, &hosts, count, window, 0.3 * base);
    }

    fn star(&mut self, r: &mut ChaCha8Rng) {
        let base = spread(r, 300.0, 4000.0);
        let hosts: Vec<String> = (0..r.random_range(4..=16))
            .map(|i| format!("H{i}"))
            .collect();
        for host in &hosts {
            let pps = base * choice(r, &[0.5, 1.0, 2.0]);
            let delay_s = spread(r, 0.002, 0.05);
            let buffer = spread(r, 0.25, 3.0) * pps * 0.08;
            self.duplex(host, "hub", pps, delay_s, buffer);
        }
        let count = spread(r, 3.0, 100.0) as usize;
        let window = choice(r, &[1e4, 1e4, 1e4, 20.0, 64.0]) as u32;
        self.connect(r, &hosts, count, window, base);
    }

    /// Returns the scenario, ready to run.
    ///
    /// # Panics
    /// If it is invalid, which would be an error of its family.
    pub fn prepared(&self, side: ModelKind) -> CompiledScenario {
        let text = self.text(side);
        netflow_scenario::from_str(&self.name, &text, Path::new(""), &[])
            .unwrap_or_else(|problems| panic!("{}: {problems:?}", self.name))
    }

    /// Returns the scenario as a text.
    pub fn text(&self, side: ModelKind) -> String {
        let mut text = format!(
            "[simulation]\nduration = \"{} s\"\npacket-size = \"{PACKET_BYTES} B\"\n",
            self.duration_s
        );
        if let ModelKind::Calibrated(watched_s) = side {
            let _ = writeln!(text, "calibrate = \"{watched_s} s\"");
        }
        let mut line = |it: std::fmt::Arguments<'_>| {
            let _ = text.write_fmt(it);
        };
        for link in &self.links {
            line(format_args!(
                "[[link]]\nfrom = \"{}\"\nto = \"{}\"\nbandwidth = \"{:.0} bit/s\"\ndelay = \"{:.3} ms\"\nbuffer = \"{} pkt\"\nduplex = false\n",
                link.from,
                link.to,
                8.0 * PACKET_BYTES * link.pps,
                1e3 * link.delay_s,
                link.buffer_pkts,
            ));
        }
        for (i, flow) in self.flows.iter().enumerate() {
            let bps = |pps: f64| 8.0 * PACKET_BYTES * pps;
            line(format_args!(
                "[[connection]]\nname = \"c{i}\"\nfrom = \"{}\"\nto = \"{}\"\nstart = \"{:.3} s\"\nstop = \"{:.3} s\"\n",
                flow.from, flow.to, flow.start_s, flow.stop_s,
            ));
            match (flow.kind, side) {
                (Kind::Tcp(window), side) => {
                    let source = self.tcp.source(side);
                    line(format_args!(
                        "source = {{ {source} }}\nmax-window = \"{window} pkt\"\n"
                    ));
                }
                (Kind::Poisson(pps), _) => {
                    line(format_args!(
                        "source = {{ poisson = \"{:.0} bit/s\" }}\n",
                        bps(pps)
                    ));
                }
                (Kind::Constant(pps), _) => {
                    line(format_args!(
                        "source = {{ constant = \"{:.0} bit/s\" }}\n",
                        bps(pps)
                    ));
                }
            }
        }
        text
    }
}
