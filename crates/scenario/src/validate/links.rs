//! Validation of nodes and links.

use std::collections::BTreeMap;

use netflow_document::{FileId, ProblemKind, SourceSpan, Spanned};
use netflow_network::{
    Aqm, Buffer, BufferTime, Calibration, ConnectionId, DropPolicy, Dscp, LinkElement, LinkId,
    LinkSpec, MultiQueueLink, Network, NodeId, Overhead, QueueClass, Red as FluidRed, Scheduler,
    SeriesColumns, Source, Tins, TokenBucketSpec,
};
use netflow_queues::{DelayLine, Jitter, LinkLoss};
use netflow_units::{BufferSize, Bytes, Rate, Size};

use super::aqm::aqm;
use super::traces::LinkTrace;
use super::{PlacedLink, Validator};
use crate::compiled_scenario::{LinkPlaces, NodeAnnotation};
use crate::file::{
    BandwidthSetting, BufferSetting, Cake, CoDel, Link, Node, QueueSetting, Red, Srlg,
    TokenBucketSetting,
};

/// Default probability at a RED queue's upper threshold.
const DEFAULT_RED_MAX_P: f64 = 0.1;
/// Default weight of a packet in a RED queue's average.
pub(super) const DEFAULT_RED_WEIGHT: f64 = 0.002;

/// Returns the places of a direction of a link.
fn places(link: &Link, from: SourceSpan) -> LinkPlaces {
    LinkPlaces {
        from,
        bandwidth: link.bandwidth.place(),
        metric: link.metric.as_ref().map(Spanned::place),
    }
}

/// Returns the words that distinguish bytes on the wire from IP bytes.
fn on_wire(overhead: Overhead) -> &'static str {
    if overhead.is_none() {
        ""
    } else {
        " on the wire"
    }
}

impl Validator<'_> {
    pub(super) fn rate_bps(&mut self, rate: Rate) -> f64 {
        match rate {
            Rate::BitsPerSecond(rate) => rate.get(),
            Rate::PacketsPerSecond(rate) => rate.in_bits(self.settings.packet_size).get(),
        }
    }

    /// Returns the bandwidth of a link; packets per second are those of the default size.
    pub(super) fn link_bps(&mut self, rate: Rate, overhead: Overhead) -> f64 {
        match rate {
            Rate::BitsPerSecond(rate) => rate.get(),
            Rate::PacketsPerSecond(rate) => rate.in_bits(self.wire_size(overhead)).get(),
        }
    }

    /// Returns the overhead of a link.
    pub(super) fn overhead(&mut self, link: &Link) -> Overhead {
        match &link.overhead {
            Some(overhead) => overhead.to_overhead(),
            None => {
                self.settings.overhead_used = true;
                self.settings.overhead
            }
        }
    }

    /// Returns the bytes on the wire of a packet of the default size.
    fn wire_size(&mut self, overhead: Overhead) -> Bytes {
        Bytes(overhead.wire_bytes(self.settings.packet_size.get()))
    }

    /// Converts a size to packets of the default size on a link with this overhead.
    pub(super) fn packets(&mut self, size: Size, overhead: Overhead) -> f64 {
        match size {
            Size::Packets(packets) => packets.get(),
            Size::Bytes(bytes) => bytes.in_packets(self.wire_size(overhead)).get(),
        }
    }

    /// Adds a link, or the members of a bundle.
    pub(super) fn add_link(&mut self, link: &Link) {
        let members = link.members.as_deref().copied().unwrap_or(1);
        self.check_bundle(link, members);
        if members == 1 {
            self.add_circuit(link);
            return;
        }
        let mut bundle = Vec::new();
        for number in 1..=members {
            let circuit = match &link.circuit {
                None => number.to_string(),
                Some(circuit) => format!("{}.{number}", **circuit),
            };
            let member = |link: &Link| Link {
                circuit: Some(Spanned::new(circuit.clone(), link.from.place())),
                ..link.clone()
            };
            let back = link.back.as_deref().map(|back| Box::new(member(back)));
            bundle.push(self.add_circuit(&Link {
                back,
                ..member(link)
            }));
        }
        let min_links = link.min_links.as_deref().copied().unwrap_or(1) as u32;
        for direction in 0..2 {
            let links: Vec<LinkId> = bundle.iter().filter_map(|it| it[direction]).collect();
            if links.len() as u64 == members && u64::from(min_links) <= members {
                self.builder.bundle(&links, min_links);
                let spec = &self.link_list[links[0].index()];
                let circuit = link.circuit.as_ref().map(|it| it.to_string());
                self.bundles.insert((spec.from, spec.to, circuit), links);
            }
        }
    }

    /// Rejects a bundle whose members would not be used, and one that can never work.
    fn check_bundle(&mut self, link: &Link, members: u64) {
        if let Some(min_links) = &link.min_links
            && **min_links > members
        {
            let message = format!(
                "`min-links` is {}, but the link has {members} members",
                **min_links
            );
            let help = "set `members` to the number of links in the bundle";
            self.error(ProblemKind::OutOfRange, min_links.place(), message, help);
        }
        if let Some(place) = link.members.as_ref().map(Spanned::place)
            && members > 1
            && self.settings.ecmp.is_none()
        {
            let message =
                "`members` need `ecmp`: without it, all traffic takes one link".to_owned();
            let help = "set `ecmp = true` in [simulation], or write one link with the sum of the bandwidths";
            self.error(ProblemKind::Conflict, place, message, help);
        }
    }

    /// Adds a link and returns its directions.
    fn add_circuit(&mut self, link: &Link) -> [Option<LinkId>; 2] {
        let circuit_is_sound = link.circuit.as_ref().is_none_or(Spanned::is_valid);
        if !link.from.is_valid() || !link.to.is_valid() || !circuit_is_sound {
            self.is_incomplete = true;
            return [None; 2];
        }
        if *link.from == *link.to {
            let message = format!("a link runs from `{}` to itself", *link.from);
            self.error(
                ProblemKind::Conflict,
                link.to.place(),
                message,
                "a link needs two different ends",
            );
            return [None; 2];
        }
        let (from, to) = (self.node(&link.from), self.node(&link.to));
        let spec = self.direction(link, from, to);
        let classes = self.classes(link);
        let place = link.from.place();
        let back = match &link.back {
            None => LinkSpec {
                from: to,
                to: from,
                ..spec.clone()
            },
            Some(back) => self.direction(back, to, from),
        };
        if classes.is_some() {
            self.warn_of_weights(link);
        }
        let back_classes = match &link.back {
            None => classes.clone(),
            Some(back) => self.classes(back),
        };
        let there = self.add_direction(spec, places(link, place), false, classes.as_ref());
        // A duplicate link is reported for one direction only.
        let Some(there) = there else { return [None; 2] };
        self.add_to_risk_groups(link, there);
        if let Some(value) = link.unavailability().value() {
            self.builder.link_unavailability(there, value);
        }
        if !link.is_duplex() {
            return [Some(there), None];
        }
        let of_back = link.back.as_deref().unwrap_or(link);
        let of_direction = places(of_back, place);
        let back = self.add_direction(back, of_direction, true, back_classes.as_ref());
        if let Some(id) = back {
            self.add_to_risk_groups(of_back, id);
            self.builder.duplex(there, id);
        }
        self.check_common_failures(link);
        [Some(there), back]
    }

    /// Rejects another unavailability of the other direction, which fails together with this one.
    fn check_common_failures(&mut self, link: &Link) {
        let Some(back) = &link.back else { return };
        let (own, other) = (link.unavailability(), back.unavailability());
        if own.value() == other.value() {
            return;
        }
        let times = [&back.mtbf, &back.mttr].into_iter().flatten();
        let places = times
            .map(Spanned::place)
            .chain(back.unavailability.as_ref().map(Spanned::place));
        let place = places.into_iter().find(|place| !place.is_unknown());
        let names = format!("`{}->{}`", *link.from, *link.to);
        self.error(
            ProblemKind::Conflict,
            place.unwrap_or(link.from.place()),
            "both directions of a duplex link fail together and have one unavailability".to_owned(),
            &format!("set it for {names}, or write two links with `duplex = false`"),
        );
    }

    fn direction(&mut self, link: &Link, from: NodeId, to: NodeId) -> LinkSpec {
        // Exhaustive, so that every new key must be converted here.
        let Link {
            from: _,
            to: _,
            circuit,
            bandwidth,
            delay,
            overhead: _, // with its default
            metric,
            buffer,
            duplex: _,
            members: _,
            min_links: _, // in `add_bundle`
            reverse: _,
            queue,
            policer,
            shaper,
            loss,
            jitter: _,
            reordering: _,
            duplication: _,
            in_flight_limit: _,
            slots: _, // all in `delay_line`
            srlg: _,
            mtbf: _,
            mttr: _,
            unavailability: _,
            classes: _,
            back: _,
        } = link;
        let overhead = self.overhead(link);
        let (bandwidth_bps, trace) = self.bandwidth(bandwidth, overhead);
        let (trace, series) = match trace {
            None => (None, None),
            Some(LinkTrace::Delivery(trace)) => (Some(trace), None),
            Some(LinkTrace::Series(series)) => (None, Some(series)),
        };
        if let Some(series) = &series {
            self.check_traced_keys(link, series);
        }
        let mean_of = |column: fn(&SeriesColumns) -> &Option<Vec<f64>>| {
            let series = &series.as_ref()?.series;
            Some(series.mean(column(series.columns()).as_ref()?))
        };
        let buffer = self.buffer(buffer.as_ref(), overhead);
        let queue = self.queue(queue.as_ref(), buffer, bandwidth_bps, overhead);
        if let DropPolicy::Managed(Aqm::Cake(cake)) = queue
            && cake.tins != Tins::BestEffort
        {
            // These classes select a tin.
            self.class_names.extend(Dscp::names().map(str::to_owned));
        }
        LinkSpec {
            from,
            to,
            circuit: circuit.as_ref().map(|name| name.as_str().into()),
            bandwidth_bps,
            delay_s: mean_of(|it| &it.delays_s)
                .unwrap_or(delay.as_ref().map_or(0.0, |delay| delay.get())),
            overhead,
            metric: metric.as_deref().copied(),
            buffer,
            queue,
            policer: (policer.as_ref())
                .and_then(|setting| self.token_bucket(LinkElement::Policer, setting, overhead)),
            shaper: self.shaper(shaper.as_ref(), bandwidth_bps, overhead),
            loss: match mean_of(|it| &it.losses) {
                Some(loss) => LinkLoss::from(loss),
                None => (loss.as_ref())
                    .map(|loss| loss.to_link_loss())
                    .unwrap_or_default(),
            },
            trace,
            series,
            delay_line: self.delay_line(link),
            // Not a key: calibration is computed by the packet model.
            calibration: Calibration::default(),
        }
    }

    /// Returns the bandwidth of a link, and its trace, of which it is the mean.
    pub(super) fn bandwidth(
        &mut self,
        setting: &BandwidthSetting,
        overhead: Overhead,
    ) -> (f64, Option<LinkTrace>) {
        match setting {
            BandwidthSetting::Rate(rate) => (self.link_bps(rate.0, overhead), None),
            BandwidthSetting::Trace(settings) => {
                let trace = self.link_trace(settings, overhead);
                // Without a valid trace, no network is built.
                (trace.as_ref().map_or(1e6, LinkTrace::mean_bps), trace)
            }
        }
    }

    /// Returns the jitter, reordering, duplication, limit and slots of a link.
    fn delay_line(&mut self, link: &Link) -> DelayLine {
        let jitter = link.jitter.as_ref().map(|it| (it.place(), it.to_jitter()));
        let reordering = link
            .reordering
            .as_ref()
            .map(|it| (it.place(), it.to_reordering()));
        let limit = link.in_flight_limit.as_ref();
        let line = DelayLine {
            jitter: jitter.clone().and_then(|(_, jitter)| jitter),
            reordering: reordering.and_then(|(_, reordering)| reordering),
            duplication: link.duplication.as_deref().copied().unwrap_or(0.0),
            limit_pkts: limit.map(|limit| limit.get().floor() as u64),
            slots: link.slots.as_ref().map(|slots| slots.to_slots()),
        };
        let slots = link.slots.as_ref();
        for (key, place, is_set, element) in [
            (
                "jitter",
                jitter.as_ref().map(|it| it.0),
                line.jitter.is_some(),
                LinkElement::Jitter,
            ),
            (
                "reordering",
                reordering.map(|it| it.0),
                line.reordering.is_some(),
                LinkElement::Reordering,
            ),
            (
                "duplication",
                link.duplication.as_ref().map(Spanned::place),
                line.duplication > 0.0,
                LinkElement::Duplication,
            ),
            (
                "in-flight-limit",
                limit.map(Spanned::place),
                true,
                LinkElement::InFlightLimit,
            ),
            ("slots", slots.map(Spanned::place), true, LinkElement::Slots),
        ] {
            if let Some(place) = place.filter(|_| is_set) {
                self.requires_packet_model.get_or_insert((
                    place,
                    format!("`{key}`"),
                    Some(element),
                ));
            }
        }
        if let Some(limit) = limit.filter(|limit| limit.get().fract() > 0.0) {
            self.fractional_packets
                .push((limit.place(), "in-flight-limit", ***limit));
        }
        if let (Some(slots), Some(Jitter { reorders: true, .. })) = (slots, &line.jitter) {
            self.error(
                ProblemKind::Conflict,
                slots.place(),
                "`slots` keep the order of packets, but `jitter` reorders them".to_owned(),
                "remove `reorders` of `jitter`, or `slots`",
            );
        }
        line
    }

    /// Adds a direction to the risk groups of its link.
    fn add_to_risk_groups(&mut self, link: &Link, id: LinkId) {
        let names = link.srlg.iter().flat_map(|groups| groups.names());
        for name in names.filter(|name| name.is_valid()) {
            self.builder.risk_group(name, id);
            let links = self.risk_groups.entry(name.to_string()).or_default();
            if links.last() != Some(&id) {
                links.push(id);
            }
        }
    }

    /// Adds a link, unless it exists already.
    fn add_direction(
        &mut self,
        spec: LinkSpec,
        places: LinkPlaces,
        reverse: bool,
        classes: Option<&(Scheduler, Vec<QueueClass>)>,
    ) -> Option<LinkId> {
        let ends = (spec.from, spec.to);
        let circuit = spec.circuit.clone();
        if let Some(first) = self.link_between(ends, circuit.as_deref()) {
            let first = &self.link_list[first.index()];
            let name = self.link_name(first);
            let mut help = self.first_definition_help(first.places.from);
            if reverse || first.reverse {
                help += "; a link is bidirectional unless it has `duplex = false`";
            }
            help += "; if they are two links, give one of them `circuit = \"2\"`";
            let message = format!("link `{name}` exists twice");
            self.error(ProblemKind::Duplicate, places.from, message, &help);
            return None;
        }
        let (bandwidth_bps, overhead) = (spec.bandwidth_bps, spec.overhead);
        let has_metric = spec.metric.is_some();
        let id = self.builder.link(spec);
        if let Some((scheduler, classes)) = classes {
            self.builder.schedule(MultiQueueLink {
                link: id,
                scheduler: scheduler.clone(),
                classes: classes.clone(),
            });
        }
        self.links.entry(ends).or_default().push(id);
        self.link_list.push(PlacedLink {
            from: ends.0,
            to: ends.1,
            circuit,
            bandwidth_bps,
            overhead,
            has_metric,
            places,
            reverse,
        });
        Some(id)
    }

    /// Returns the link between two nodes with this circuit.
    pub(super) fn link_between(
        &self,
        ends: (NodeId, NodeId),
        circuit: Option<&str>,
    ) -> Option<LinkId> {
        let links = self.links.get(&ends)?.iter();
        let is = |id: &&LinkId| self.link_list[id.index()].circuit.as_deref() == circuit;
        links.copied().find(|id| is(&id))
    }

    /// Returns the node at a link's end, which is created if new.
    fn node(&mut self, name: &str) -> NodeId {
        if let Some(&node) = self.nodes.get(name) {
            return node;
        }
        let node = self.builder.node(name);
        self.nodes.insert(name.to_owned(), node);
        self.node_names.push(name.to_owned());
        node
    }

    /// Returns the node named by a connection, path or event, if it exists.
    pub(super) fn known_node(&mut self, name: &Spanned<String>) -> Option<NodeId> {
        if !name.is_valid() {
            return None;
        }
        let node = self.nodes.get(name.as_str()).copied();
        if node.is_none() && !self.is_incomplete {
            self.unknown_node(name, name.place());
        }
        node
    }

    pub(super) fn unknown_node(&mut self, name: &str, place: SourceSpan) {
        if self.node_names.is_empty() {
            return; // a scenario without links has another problem
        }
        let message = format!("unknown node `{name}`: no link begins or ends there");
        let names = self.node_names.iter().map(String::as_str);
        let help = self.findings.given_names_help(name, "nodes", names);
        self.error(ProblemKind::UnknownName, place, message, &help);
    }

    pub(super) fn queue(
        &mut self,
        setting: Option<&Spanned<QueueSetting>>,
        buffer: Buffer,
        bandwidth_bps: f64,
        overhead: Overhead,
    ) -> DropPolicy {
        let Some(setting) = setting else {
            return DropPolicy::DropTail;
        };
        match &**setting {
            QueueSetting::Red(red) => self.red(red, buffer, bandwidth_bps, overhead),
            QueueSetting::Rio(rio) => self.rio(rio, setting.place(), overhead),
            QueueSetting::Plain(_) => DropPolicy::DropTail,
            QueueSetting::CoDel(_)
            | QueueSetting::Pie(_)
            | QueueSetting::DualPi2(_)
            | QueueSetting::Cake(_) => {
                let what = format!("the queue discipline \"{}\"", setting.discipline());
                let place = setting.place();
                if let QueueSetting::Pie(_) = **setting {
                    self.prefers_packet_model.get_or_insert((place, what));
                } else {
                    self.requires_packet_model
                        .get_or_insert((place, what, None));
                }
                if let Buffer::Packets(pkts) = buffer
                    && pkts < 2.0
                {
                    let discipline = setting.discipline();
                    let message = format!(
                        "\"{discipline}\" needs a buffer of at least 2 pkt, not {pkts} pkt"
                    );
                    let help = "it needs space for the packet in service and one waiting packet; make `buffer` larger";
                    self.error(ProblemKind::OutOfRange, setting.place(), message, help);
                }
                let shaper_bps = match &**setting {
                    QueueSetting::Cake(cake) => self.shaper_bps(cake, bandwidth_bps, overhead),
                    _ => None,
                };
                let managed = aqm(setting, shaper_bps);
                if let (QueueSetting::CoDel(codel), Some(aqm)) = (&**setting, &managed) {
                    self.check_ce_threshold(codel, aqm);
                }
                managed.map_or(DropPolicy::DropTail, DropPolicy::Managed)
            }
        }
    }

    /// Returns the bandwidth of CAKE's shaper, if it has one. Warns if the link is not faster.
    fn shaper_bps(&mut self, cake: &Cake, bandwidth_bps: f64, overhead: Overhead) -> Option<f64> {
        let setting = cake.bandwidth.as_ref()?;
        let shaper_bps = self.link_bps(setting.0, overhead);
        let help = "write 95 % of the link's bandwidth, or remove `bandwidth`";
        self.check_shaper(shaper_bps, bandwidth_bps, setting.place(), help);
        Some(shaper_bps)
    }

    /// Warns about a shaper with a link that is not faster.
    fn check_shaper(&mut self, shaper_bps: f64, bandwidth_bps: f64, place: SourceSpan, help: &str) {
        if shaper_bps >= bandwidth_bps {
            let message = "the shaper does not limit the link, which is not faster".to_owned();
            self.warning(ProblemKind::WithoutEffect, place, message, help);
        }
    }

    /// Returns the shaper of a link.
    fn shaper(
        &mut self,
        setting: Option<&Spanned<TokenBucketSetting>>,
        bandwidth_bps: f64,
        overhead: Overhead,
    ) -> Option<TokenBucketSpec> {
        let setting = setting?;
        let bucket = self.token_bucket(LinkElement::Shaper, setting, overhead)?;
        let help = "lower its `rate`, or remove `shaper`";
        self.check_shaper(bucket.rate_bps, bandwidth_bps, setting.place(), help);
        Some(bucket)
    }

    /// Returns the policer or shaper of a link.
    pub(super) fn token_bucket(
        &mut self,
        element: LinkElement,
        setting: &Spanned<TokenBucketSetting>,
        overhead: Overhead,
    ) -> Option<TokenBucketSpec> {
        let bucket = setting.bucket()?;
        let needs = (setting.place(), format!("`{element}`"), Some(element));
        self.requires_packet_model.get_or_insert(needs);
        let packet = Bytes(overhead.wire_bytes(self.settings.packet_size.get()));
        let burst_bytes = bucket.burst.get();
        if bucket.burst.is_valid() && burst_bytes < packet.get() {
            let message = format!(
                "`burst` is too small for one packet: {}, and a packet is {packet}{}",
                Bytes(burst_bytes),
                on_wire(overhead)
            );
            let help = "make `burst` larger, or the simulation's `packet-size` smaller";
            self.error(ProblemKind::OutOfRange, setting.place(), message, help);
        }
        Some(TokenBucketSpec {
            rate_bps: self.link_bps(bucket.rate.0, overhead),
            burst_bytes,
        })
    }

    /// Warns about a queue that drops before it marks.
    fn check_ce_threshold(&mut self, setting: &CoDel, aqm: &Aqm) {
        let codel = match aqm {
            Aqm::CoDel(codel) => codel,
            Aqm::FqCoDel(queues) => &queues.codel,
            Aqm::Cake(_) | Aqm::Pie(_) | Aqm::DualPi2(_) => return,
        };
        let (Some(ce_threshold), Some(ce_threshold_ns)) =
            (&setting.ce_threshold, codel.ce_threshold_ns)
        else {
            return;
        };
        if !codel.ecn && ce_threshold_ns >= codel.target_ns {
            let message =
                "the queue drops before it marks, because `ce-threshold` is not below `target`";
            let help = "raise `target`, or set `ecn = true`";
            let place = ce_threshold.place();
            self.warning(ProblemKind::WithoutEffect, place, message.to_owned(), help);
        }
    }

    /// Returns the buffer of a link or class.
    pub(super) fn buffer(&mut self, setting: Option<&BufferSetting>, overhead: Overhead) -> Buffer {
        let packet = Bytes(overhead.wire_bytes(self.settings.packet_size.get()));
        match setting.map(|buffer| buffer.0) {
            None => Buffer::BandwidthDelay,
            Some(BufferSize::Time(time)) => Buffer::Time(BufferTime {
                s: time.get(),
                least_bytes: packet.get(),
            }),
            Some(BufferSize::Size(Size::Packets(packets))) => {
                if let Some(setting) = setting.filter(|_| packets.get().fract() > 0.0) {
                    self.fractional_packets
                        .push((setting.place(), "buffer", packets));
                }
                Buffer::Packets(packets.get())
            }
            Some(BufferSize::Size(Size::Bytes(bytes))) => {
                if let Some(setting) = setting.filter(|_| bytes.get() < packet.get()) {
                    let message = format!(
                        "`buffer` is too small for one packet: {bytes}, and a packet is {packet}{}",
                        on_wire(overhead)
                    );
                    let help = "the packet in service counts too; make `buffer` larger, or the \
                        simulation's `packet-size` smaller";
                    self.error(ProblemKind::OutOfRange, setting.place(), message, help);
                }
                Buffer::Bytes(bytes.get())
            }
        }
    }

    /// Rejects buffers in bytes that are too small for a packet of a connection on the link.
    /// Packets of the simulation's default size are checked with the buffer itself.
    pub(super) fn reject_too_small_buffers(&mut self, network: &Network) {
        let slowest = network.links().map(|id| network.bandwidths_bps(id).0);
        let slowest: Vec<f64> = slowest.collect();
        // The smallest space on a link for a packet, and its key.
        let smallest = |link: LinkId| -> (f64, &str) {
            let spec = network.link_spec(link);
            let slowest_bps = slowest[link.index()].min(spec.sustained_bps());
            let bursts = [
                ("policer.burst", spec.policer),
                ("shaper.burst", spec.shaper),
            ];
            let bursts = bursts
                .iter()
                .filter_map(|(key, it)| it.map(|it| (it.burst_bytes, *key)));
            let buffer = spec
                .buffer
                .bytes(slowest_bps)
                .map(|bytes| (bytes, "buffer"));
            let all = buffer.into_iter().chain(bursts);
            all.min_by(|a, b| a.0.total_cmp(&b.0))
                .unwrap_or((f64::INFINITY, "buffer"))
        };
        let room = |link: LinkId| smallest(link).0;
        let least = network.links().map(room).fold(f64::INFINITY, f64::min);
        let default = self.settings.packet_size.get();
        let overhead = |link| network.link_spec(link).overhead;
        let mut overheads: Vec<Overhead> = network.links().map(overhead).collect();
        overheads.dedup();
        let most = |bytes| {
            let sizes = overheads.iter().map(|it| it.wire_bytes(bytes));
            sizes.fold(0.0, f64::max)
        };
        let mut times_s: Vec<f64> = network.events().map(|event| event.at_s).collect();
        times_s.dedup();
        let mut largest: BTreeMap<LinkId, (f64, ConnectionId)> = BTreeMap::new();
        for id in network.connections() {
            let spec = network.connection_spec(id);
            let bytes = match &spec.source {
                // In most replies all packets but the last are full; requests are mostly one
                // packet.
                Source::Users(traffic) if traffic.replies => traffic.workload.packet_size_bytes,
                _ => spec.packet_size_bytes,
            };
            if bytes <= default || most(bytes) <= least {
                continue;
            }
            let changes_s = times_s.iter().filter(|&&at_s| at_s > spec.start_s);
            let ways = std::iter::once(&spec.start_s).chain(changes_s);
            let crossed = ways.flat_map(|&at_s| network.path_at(id, at_s));
            for link in crossed.filter(|&link| overhead(link).wire_bytes(bytes) > room(link)) {
                let known = largest.entry(link).or_insert((bytes, id));
                if bytes > known.0 {
                    *known = (bytes, id);
                }
            }
        }
        for (link, (bytes, id)) in largest {
            let placed = self.link_list.get(link.index());
            let place = placed.map_or(SourceSpan::new(FileId::FIRST, 0..0), |it| it.places.from);
            let message = format!(
                "`{}` of `{}` is too small for a packet of `{}`: {}, and its packets are {}{}",
                smallest(link).1,
                network.link_name(link),
                network.connection_name(id),
                Bytes(room(link)),
                // The packet size of transfers is a mean.
                Bytes(overhead(link).wire_bytes(bytes).round()),
                on_wire(overhead(link))
            );
            let help = match smallest(link).1 {
                "buffer" => {
                    "the packet in service counts too; make `buffer` larger, or `packet-size` smaller"
                }
                _ => "make `burst` larger, or `packet-size` smaller",
            };
            self.error(ProblemKind::OutOfRange, place, message, help);
        }
    }

    fn red(
        &mut self,
        red: &Red,
        buffer: Buffer,
        bandwidth_bps: f64,
        overhead: Overhead,
    ) -> DropPolicy {
        let min_pkts = self.packets(red.min.0, overhead);
        let max_pkts = self.packets(red.max.0, overhead);
        if max_pkts < min_pkts {
            if red.min.is_valid() && red.max.is_valid() {
                let message = format!(
                    "`max` is {}, below `min`, which is {}",
                    **red.max, **red.min
                );
                let help = "the probability rises from 0 at `min` to `max-p` at `max`";
                self.error(ProblemKind::OutOfRange, red.max.place(), message, help);
            }
            return DropPolicy::DropTail;
        }
        let room = match buffer {
            Buffer::Packets(packets) => packets,
            Buffer::Bytes(_) | Buffer::Time(_) => {
                let bytes = buffer.bytes(bandwidth_bps).unwrap_or(f64::INFINITY);
                bytes / overhead.wire_bytes(self.settings.packet_size.get())
            }
            // The buffer is derived from its thresholds.
            Buffer::BandwidthDelay => f64::INFINITY,
        };
        if max_pkts > room {
            let message = format!("`max` is {}, above the buffer, {room} pkt", **red.max);
            let help = "the average never reaches `max`: the buffer is full first";
            self.warning(ProblemKind::WithoutEffect, red.max.place(), message, help);
        }
        let policy = FluidRed {
            min_pkts,
            max_pkts,
            max_p: red.max_p.as_deref().copied().unwrap_or(DEFAULT_RED_MAX_P),
            weight: red.weight.as_deref().copied().unwrap_or(DEFAULT_RED_WEIGHT),
            gentle: red.gentle.as_deref().copied().unwrap_or(false),
            ecn: red.ecn.as_deref().copied().unwrap_or(false),
            hard_drop: red.hard_drop.as_deref().copied().unwrap_or(true),
        };
        // RED marks at averages between the thresholds. If the last packet has the full weight,
        // averages are integers.
        let between = if policy.weight < 1.0 {
            max_pkts > min_pkts
        } else {
            min_pkts.floor() + 1.0 < max_pkts
        };
        let marks = between || policy.gentle || !policy.hard_drop;
        if let Some(ecn) = red.ecn.as_ref().filter(|_| policy.ecn && !marks) {
            let message =
                "`ecn` has no effect: no average queue is between `min` and `max`".to_owned();
            let help =
                "above `max` all packets are dropped: write `hard-drop = false` to mark them";
            self.warning(ProblemKind::WithoutEffect, ecn.place(), message, help);
        }
        DropPolicy::Red(policy)
    }

    /// Adds the annotations of a `[[node]]`.
    pub(super) fn annotate_node(&mut self, node: &Node) {
        if !node.name.is_valid() {
            return;
        }
        let name = node.name.as_str();
        if !self.annotated_nodes.insert(name.to_owned()) {
            let message = format!("node `{name}` exists twice");
            self.error(ProblemKind::Duplicate, node.name.place(), message, "");
            return;
        }
        for (one, other, key) in [(&node.x, &node.y, "y"), (&node.y, &node.x, "x")] {
            if let (Some(one), None) = (one, other) {
                let message = format!("a position needs x and y; `{key}` is missing");
                self.error(
                    ProblemKind::Missing,
                    one.place(),
                    message,
                    &format!("add `{key} = 0`"),
                );
            }
        }
        let Some(&id) = self.nodes.get(name) else {
            if !self.is_incomplete {
                let message = format!("node `{name}` has no links");
                let names = self.node_names.iter().map(String::as_str);
                let help = match self.findings.nearest_name(name, names) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => String::new(),
                };
                self.warning(
                    ProblemKind::WithoutEffect,
                    node.name.place(),
                    message,
                    &help,
                );
            }
            return;
        };
        if let Some(value) = node.unavailability().value() {
            self.builder.node_unavailability(id, value);
        }
        let position = node.x.as_deref().copied().zip(node.y.as_deref().copied());
        self.node_annotations.push(NodeAnnotation {
            node: id,
            label: node.label.as_deref().cloned(),
            position,
            population: node.population.as_deref().copied(),
        });
    }

    /// Adds the unavailability of an `[[srlg]]`.
    pub(super) fn add_srlg(&mut self, group: &Srlg) {
        let name = &group.name;
        if !name.is_valid() || self.risk_group(name).is_none() {
            return;
        }
        if !self.annotated_groups.insert(name.to_string()) {
            let message = format!("shared-risk group `{}` exists twice", **name);
            self.error(ProblemKind::Duplicate, name.place(), message, "");
            return;
        }
        if let Some(value) = group.unavailability().value() {
            self.builder.group_unavailability(name, value);
        }
    }
}
