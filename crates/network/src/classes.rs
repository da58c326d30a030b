//! Grouping of identical connections into classes.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::compiled::Class;
use crate::runtime_control::AllAllowedSettings;
use crate::{Acks, Application, ConnectionSpec, Fallbacks, FlowHash, NodeId, Source};

/// All properties that make two connections behave differently.
#[derive(PartialEq, Eq, Hash)]
struct ClassKey<'a> {
    ends: (NodeId, NodeId),
    source: SourceKey,
    application: Option<[u64; 3]>,
    times: (u64, Option<u64>),
    size: Option<u64>,
    window: Option<u64>,
    packet_size: u64,
    paths: (Option<&'a [NodeId]>, Option<&'a [NodeId]>),
    fallbacks: Option<&'a Fallbacks>,
    flow: Option<FlowHash>,
    ecmp_share: Option<[u64; 2]>,
    /// Compared by identity of the object.
    transfers: Option<*const ()>,
    acks: Acks,
    marks: Marks<'a>,
    /// Own number of a connection with settable values, which makes its class unique.
    controlled_connection: Option<u32>,
}

/// Aggregate of a connection, and the traffic class of its packets.
type Marks<'a> = (Option<u32>, Option<&'a str>);

#[derive(PartialEq, Eq, Hash)]
enum SourceKey {
    /// Profiles, compared by identity of the object.
    Profile(*const ()),
    Constant(u64),
    Poisson(u64),
    Ns2Tcp(crate::TcpVariant, [u64; 8]),
    /// Debug output of the stack, which contains all its settings.
    Tcp(String),
    /// Compared by identity of the object.
    Users(*const ()),
}

fn class_key<'a>(
    c: &'a ConnectionSpec,
    fallbacks: Option<&'a Fallbacks>,
    marks: Marks<'a>,
    set_alone: Option<u32>,
) -> ClassKey<'a> {
    ClassKey {
        ends: (c.from, c.to),
        source: match &c.source {
            Source::Profile(p) => SourceKey::Profile(Arc::as_ptr(p).cast()),
            Source::Ns2Tcp(w) => SourceKey::Ns2Tcp(
                w.variant,
                [
                    w.initial_window_pkts,
                    w.initial_rto_s,
                    w.min_rto_s,
                    w.max_rto_s,
                    w.send_jitter_s.unwrap_or(f64::NAN),
                    w.vegas_alpha_pkts,
                    w.vegas_beta_pkts,
                    w.vegas_gamma_pkts,
                ]
                .map(f64::to_bits),
            ),
            Source::Tcp(stack) => SourceKey::Tcp(format!("{stack:?}")),
            Source::Users(traffic) => SourceKey::Users(Arc::as_ptr(traffic).cast()),
            Source::Constant { rate_pps } => SourceKey::Constant(rate_pps.to_bits()),
            Source::Poisson { rate_pps } => SourceKey::Poisson(rate_pps.to_bits()),
        },
        application: match c.application {
            Application::Bulk => None,
            Application::Poisson { rate_pps } => Some([rate_pps, 0.0, 0.0].map(f64::to_bits)),
            Application::OnOff {
                rate_pps,
                on_s,
                off_s,
            } => Some([rate_pps, on_s, off_s].map(f64::to_bits)),
        },
        times: (c.start_s.to_bits(), c.stop_s.map(f64::to_bits)),
        size: c.size_pkts.map(f64::to_bits),
        window: c.max_window_pkts.map(f64::to_bits),
        packet_size: c.packet_size_bytes.to_bits(),
        paths: (c.path.as_deref(), c.return_path.as_deref()),
        fallbacks,
        flow: c.flow,
        ecmp_share: (c.ecmp_share).map(|it| [it.from, it.until].map(f64::to_bits)),
        transfers: c.transfers.as_ref().map(|it| Arc::as_ptr(it).cast()),
        acks: c.acks,
        marks,
        controlled_connection: set_alone,
    }
}

/// Returns the class of every connection, and the classes in order of their first connection.
pub(super) fn group_into_classes(
    connections: &[ConnectionSpec],
    aggregate_of: &HashMap<u32, u32>,
    queue_class_of: &BTreeMap<u32, String>,
    fallbacks: &BTreeMap<u32, Fallbacks>,
    announced: &AllAllowedSettings,
) -> (Vec<u32>, Vec<Class>) {
    let mut classes: Vec<Class> = Vec::new();
    let mut known: HashMap<ClassKey<'_>, u32> = HashMap::with_capacity(connections.len());
    let mut class_of = Vec::with_capacity(connections.len());
    for (i, c) in connections.iter().enumerate() {
        let aggregate = aggregate_of.get(&(i as u32)).copied();
        let queue_class = queue_class_of.get(&(i as u32)).map(String::as_str);
        let set_alone = announced.contains_key(&(i as u32)).then_some(i as u32);
        let class = *known
            .entry(class_key(
                c,
                fallbacks.get(&(i as u32)),
                (aggregate, queue_class),
                set_alone,
            ))
            .or_insert_with(|| {
                classes.push(Class {
                    connection: i as u32,
                    weight: 0.0,
                    aggregate,
                });
                (classes.len() - 1) as u32
            });
        classes[class as usize].weight += f64::from(c.count);
        class_of.push(class);
    }
    (class_of, classes)
}
