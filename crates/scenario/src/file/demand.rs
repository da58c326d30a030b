//! `[[demand]]`

use netflow_document::{ProblemKind, Section, Spanned, Words, table, words};

use netflow_units::{Bytes, PacketsPerSecond};

use super::{ByteSize, RateSetting, Sizes, Time, allowed};

/// What a call of voice sends.
pub(crate) const VOICE_PPS: f64 = 50.0;
pub(crate) const VOICE_PACKET: Bytes = Bytes(200.0);

/// Traffic from one node to another by how much it is, as in a matrix of traffic.
///
/// It is one connection of its name where it is carried as a rate. Transfers among packets have two, as users
/// have: `NAME/replies` carries them, `NAME/requests` asks for them.
#[table(name = "demand", called = override_name, check = check_key_combinations)]
pub struct Demand {
    /// Its name in results, unique among connections. Default: `FROM->TO`; of a kind that is not `tcp`
    /// `FROM->TO/KIND`.
    #[key(example = "backup")]
    pub name: Option<Spanned<String>>,
    /// The node that sends.
    #[key(example = "A")]
    pub from: Spanned<String>,
    /// The node that receives.
    #[key(example = "B")]
    pub to: Spanned<String>,
    /// The mean of what is sent, headers included (a call of 64 kbit/s G.711 is 80 kbit/s); with `users` for each of
    /// them. `demand-scale` of the simulation multiplies it. Default, with `users` only: of voice 80 kbit/s, of video
    /// what a viewer loads.
    #[key(allowed = allowed::RATE, example = "200 Mbit/s")]
    pub rate: Option<RateSetting>,
    /// So many times that rate. Default: 1.
    #[key(allowed = allowed::COUNT, example = 1000)]
    pub users: Option<Spanned<u64>>,
    /// The `[[day]]` that multiplies its rate at the `hour` of the simulation. Default: none, it is the same all day.
    #[key(example = "office")]
    pub day: Option<Spanned<String>>,
    /// What the traffic is. Default: tcp.
    #[key(example = "voice")]
    pub kind: Option<Spanned<DemandKind>>,
    /// tcp: sizes of the transfers, which begin at random moments (a Poisson process), as many as make the rate.
    /// Default: exponential with a mean of 1 MB, at most 20 MB.
    #[key(example = "{ constant = \"100 KB\" }")]
    pub size: Option<Spanned<Sizes>>,
    /// tcp: so many long connections instead of transfers that come and go; they share the rate, and send less
    /// where TCP gets less.
    #[key(allowed = allowed::COUNT, example = 20)]
    pub flows: Option<Spanned<u64>>,
    /// When it begins. Default: 0 s.
    #[key(allowed = allowed::MOMENT, example = "10 s")]
    pub start: Option<Time>,
    /// When it ends; transfers under way go on. Default: at the end of the run.
    #[key(allowed = allowed::MOMENT, example = "50 s")]
    pub stop: Option<Time>,
    /// Size of a full packet on the wire. Default: the simulation's; of voice 200 B.
    #[key(allowed = allowed::PACKET_SIZE, example = "1500 B")]
    pub packet_size: Option<ByteSize>,
    /// Nodes from sender to receiver, both included; then `ecmp` does not divide it. Default: the shortest path by
    /// delay, or by `metric`.
    #[key(allowed = allowed::PATH, example = "[\"A\", \"R1\", \"B\"]")]
    pub path: Option<Spanned<Vec<Spanned<String>>>>,
    /// Nodes from receiver to sender, both included: the way of acknowledgements, and of what asks for transfers.
    /// Default: the path reversed.
    #[key(allowed = allowed::PATH, example = "[\"B\", \"R2\", \"A\"]")]
    pub return_path: Option<Spanned<Vec<Spanned<String>>>>,
    /// The class of its packets, and of those that come back, which wait in a queue of their own on links with a
    /// `[[link.class]]` of this name. Default: none.
    #[key(example = "AF1")]
    pub class: Option<Spanned<String>>,
}

/// What the traffic of a demand is.
#[words]
pub enum DemandKind {
    /// Transfers of files, which come and go; or long connections.
    Tcp,
    /// Packets at equal intervals.
    Constant,
    /// Packets at random moments.
    Poisson,
    /// Calls: each 50 packets/s of 200 B (G.711 over RTP, UDP and IP, 80 kbit/s).
    Voice,
    /// Viewers, who come at random moments: each of two minutes of video of 2.5 Mbit/s, in chunks of 4 s.
    Video,
}

impl Demand {
    /// What it is.
    pub(crate) fn kind(&self) -> DemandKind {
        self.kind.as_deref().copied().unwrap_or(DemandKind::Tcp)
    }

    /// What it is called.
    pub(crate) fn display_name(&self) -> String {
        match &self.name {
            Some(name) => name.to_string(),
            None => Demand::default_name(&self.from, &self.to, self.kind()),
        }
    }

    /// What it is called unless the file says it.
    fn default_name(from: &str, to: &str, kind: DemandKind) -> String {
        match kind {
            DemandKind::Tcp => format!("{from}->{to}"),
            _ => format!("{from}->{to}/{}", kind.name()),
        }
    }
}

fn override_name(section: &Section<'_, '_>) -> Option<String> {
    if let Some(name) = section.text("name") {
        return Some(format!("demand.{name}"));
    }
    let kind = section.text("kind");
    let kind = kind.and_then(DemandKind::named);
    let (from, to) = (section.text("from")?, section.text("to")?);
    let name = Demand::default_name(from, to, kind.unwrap_or(DemandKind::Tcp));
    Some(format!("demand.{name}"))
}

/// Refuses keys that this kind has not, and misses a rate that it needs.
fn check_key_combinations(demand: &mut Demand, s: &mut Section<'_, '_>) {
    if demand.kind.as_ref().is_some_and(|kind| !kind.is_valid()) {
        return;
    }
    if demand.kind() != DemandKind::Tcp {
        s.reject(&["size", "flows"], "the kind is not \"tcp\"");
    }
    if let (Some(size), Some(_)) = (&demand.size, &demand.flows) {
        let message = "transfers that come and go have a `size`, long connections have not";
        let finding = s
            .findings
            .error(ProblemKind::Conflict, size.place(), message);
        finding.set_help("leave out `size` or `flows`");
    }
    let of_users = match demand.kind() {
        DemandKind::Voice | DemandKind::Video => demand.users.is_some(),
        DemandKind::Tcp | DemandKind::Constant | DemandKind::Poisson => false,
    };
    if demand.rate.is_none() && !of_users && s.is_valid() {
        s.report_missing("rate", "\"200 Mbit/s\"");
    }
    if demand.kind() == DemandKind::Voice && s.is_valid() {
        warn_of_rate_below_one_call(demand, s);
    }
}

/// Warns of a rate that is less than a call takes: nearly always that of the codec, without headers.
fn warn_of_rate_below_one_call(demand: &Demand, s: &mut Section<'_, '_>) {
    let Some(rate) = &demand.rate else { return };
    let packet = demand.packet_size.as_ref();
    let packet = packet.map_or(VOICE_PACKET, |packet| packet.0);
    let pps = rate.packets_per_second(packet).get();
    if pps < VOICE_PPS * (1.0 - 1e-9) {
        let of_call = PacketsPerSecond(VOICE_PPS).in_bits(packet);
        let message = format!(
            "`rate` is less than a call of voice: {} packets/s of {packet} instead of {VOICE_PPS}",
            (1e4 * pps).round() / 1e4
        );
        let help = format!(
            "rates are those on the wire, headers included: write \"{of_call}\" for a call, or `users = 1` and no `rate`"
        );
        s.findings.warn_once(rate.place(), message, &help);
    }
}
