//! `[[demand]]`

use netflow_document::{ProblemKind, Section, Spanned, Words, keyword_enum, table};

use netflow_units::{Bytes, PacketsPerSecond};

use super::{ByteSize, Paths, RateSetting, Sizes, Time, allowed};

/// What a call of voice sends.
pub(crate) const VOICE_PPS: f64 = 50.0;
pub(crate) const VOICE_PACKET: Bytes = Bytes(200.0);

/// Traffic from one node to another, given by its rate: an entry of a traffic matrix.
///
/// In the fluid model it is one connection of the same name. In the packet model transfers have two:
/// `NAME/replies` carries the data, `NAME/requests` the requests.
#[table(name = "demand", called = override_name, check = check_key_combinations)]
pub struct Demand {
    /// Name in results, unique among connections. Default: `FROM->TO`; `FROM->TO/KIND` if the kind is not `tcp`.
    #[key(example = "backup")]
    pub name: Option<Spanned<String>>,
    /// Sending node.
    #[key(example = "A")]
    pub from: Spanned<String>,
    /// Receiving node.
    #[key(example = "B")]
    pub to: Spanned<String>,
    /// Mean rate, headers included (a call of 64 kbit/s G.711 is 80 kbit/s). With `users`, it is the rate of each
    /// user. `demand-scale` of the simulation multiplies it. Default, with `users` only: 80 kbit/s for voice; the
    /// mean rate of a viewer for video.
    #[key(allowed = allowed::RATE, example = "200 Mbit/s")]
    pub rate: Option<RateSetting>,
    /// Number of users, by which `rate` is multiplied. Default: 1.
    #[key(allowed = allowed::COUNT, example = 1000)]
    pub users: Option<Spanned<u64>>,
    /// Name of a `[[day]]`, which multiplies the rate at the `hour` of the simulation. Default: none, the rate is
    /// constant over the day.
    #[key(example = "office")]
    pub day: Option<Spanned<String>>,
    /// Kind of traffic. Default: tcp.
    #[key(example = "voice")]
    pub kind: Option<Spanned<DemandKind>>,
    /// tcp: size distribution of the transfers. They start at random times (a Poisson process), as often as the
    /// rate requires. Default: exponential with a mean of 1 MB, at most 20 MB.
    #[key(example = "{ constant = \"100 KB\" }")]
    pub size: Option<Spanned<Sizes>>,
    /// tcp: number of long connections that replace finite transfers. They share the rate, and send less if TCP
    /// achieves less.
    #[key(allowed = allowed::COUNT, example = 20)]
    pub flows: Option<Spanned<u64>>,
    /// Start time. Default: 0 s.
    #[key(allowed = allowed::MOMENT, example = "10 s")]
    pub start: Option<Time>,
    /// End time; transfers in progress continue. Default: the end of the run.
    #[key(allowed = allowed::MOMENT, example = "50 s")]
    pub stop: Option<Time>,
    /// Size of a full packet on the wire. Default: `packet-size` of the simulation; 200 B for voice.
    #[key(allowed = allowed::PACKET_SIZE, example = "1500 B")]
    pub packet_size: Option<ByteSize>,
    /// Nodes from sender to receiver, both included. If given, `ecmp` does not divide the demand. Default: the
    /// shortest path by delay, or by `metric`.
    #[key(allowed = allowed::PATH, example = "[\"A\", \"R1\", \"B\"]")]
    pub path: Option<Spanned<Vec<Spanned<String>>>>,
    /// Explicit paths instead of `path`, the preferred one first: traffic takes the first one without a failed link, or
    /// the first one while all have failed. `"shortest"` as the last one is the shortest path then. With
    /// `{ nodes = [...], share = 0.7 }`, traffic is divided, and a share whose path has failed takes the first other
    /// path that works. Parts are called `NAME/1`, `NAME/2` and so on.
    #[key(example = "[[\"A\", \"R1\", \"B\"], [\"A\", \"R2\", \"B\"], \"shortest\"]")]
    pub paths: Option<Spanned<Paths>>,
    /// Nodes from receiver to sender, both included: the path of acknowledgements and requests. Default: the path
    /// reversed.
    #[key(allowed = allowed::PATH, example = "[\"B\", \"R2\", \"A\"]")]
    pub return_path: Option<Spanned<Vec<Spanned<String>>>>,
    /// Class of its packets and of their acknowledgements or requests. They have a queue of their own on links
    /// with a `[[link.class]]` of this name. Default: none.
    #[key(example = "AF1")]
    pub class: Option<Spanned<String>>,
}

/// Kind of traffic of a demand.
#[keyword_enum]
pub enum DemandKind {
    /// Finite TCP transfers, or long TCP connections.
    Tcp,
    /// Packets at equal intervals.
    Constant,
    /// Packets at random times (a Poisson process).
    Poisson,
    /// Voice calls: each sends 50 packets/s of 200 B (G.711 over RTP, UDP and IP, 80 kbit/s).
    Voice,
    /// Video viewers, who arrive at random times. Each loads two minutes of video at 2.5 Mbit/s in chunks of 4 s.
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
        let message = "`size` is for finite transfers, `flows` for long connections";
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
            "`rate` is less than one voice call: {} packets/s of {packet} instead of {VOICE_PPS}",
            (1e4 * pps).round() / 1e4
        );
        let help = format!(
            "rates include headers: write \"{of_call}\" for a call, or `users = 1` and no `rate`"
        );
        s.findings.warn_once(rate.place(), message, &help);
    }
}
