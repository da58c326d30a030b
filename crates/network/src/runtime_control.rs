//! Paths and rates of connections that can be set at run time.
//!
//! They are announced before the run, because engines size their state by the possible changes. A connection
//! with settable values is a class of its own.

use std::collections::BTreeMap;

use netflow_units::NonMaxU32;
use serde::{Deserialize, Serialize};

use crate::compiled::{Class, CompiledNetwork};
use crate::{
    BuildError, ConnectionId, ConnectionSpec, LinkId, Network, NetworkBuilder, NodeId, Source,
};

/// Settable paths and rates of one connection.
#[derive(Clone, Debug)]
pub struct ControllableConnection {
    /// Number of the connection.
    pub connection: u32,
    /// Allowed paths: first the default path while all links work, then the announced paths. Empty if none
    /// was announced.
    pub paths: Vec<Vec<NodeId>>,
    /// Lowest and highest rate in packets/s of each of its `count`, its initial rate included; `None` if none
    /// was announced.
    pub rates_pps: Option<(f64, f64)>,
}

/// Current overrides of a connection; none by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ControlState {
    /// Index into the allowed [paths](ControllableConnection::paths).
    pub path: Option<u32>,
    /// Rate of each of its `count`, in packets/s.
    pub rate_pps: Option<f64>,
}

/// Announced paths and rates of a connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct AllowedSettings {
    pub paths: Vec<Vec<NodeId>>,
    pub rates_pps: Vec<f64>,
}

/// Announcements by connection number.
pub(crate) type AllAllowedSettings = BTreeMap<u32, AllowedSettings>;

impl ControllableConnection {
    /// Returns the announcement that gives this value.
    pub(crate) fn allowed_settings(&self) -> AllowedSettings {
        let rates_pps = self.rates_pps.map(|(least, most)| vec![least, most]);
        AllowedSettings {
            paths: self.paths.iter().skip(1).cloned().collect(),
            rates_pps: rates_pps.unwrap_or_default(),
        }
    }
}

impl NetworkBuilder {
    /// Announces that the connection may be switched to this path at run time. It lists the nodes from sender
    /// to receiver, as in [`ConnectionSpec::path`]. Until the switch, nothing changes.
    pub fn allow_path(&mut self, connection: ConnectionId, path: Vec<NodeId>) {
        let nodes: Vec<_> = path.iter().map(|node| ("path", node.owner())).collect();
        self.check_owner(&nodes, |_| {
            format!("a path of connection {}", connection.index())
        });
        if self.check_connection_owner(connection) {
            self.allowed_settings_of(connection).paths.push(path);
        }
    }

    /// Announces that the connection may be set to this rate at run time, in packets/s of each of its
    /// `count`; 0 means silent. Only constant and Poisson sources allow this, because other sources control
    /// their rate themselves.
    pub fn allow_rate(&mut self, connection: ConnectionId, rate_pps: f64) {
        if self.check_connection_owner(connection) {
            self.allowed_settings_of(connection)
                .rates_pps
                .push(rate_pps);
        }
    }

    fn check_connection_owner(&mut self, connection: ConnectionId) -> bool {
        self.check_owner(&[("connection", connection.owner())], |_| {
            format!("settable values of connection {}", connection.index())
        })
    }

    fn allowed_settings_of(&mut self, connection: ConnectionId) -> &mut AllowedSettings {
        self.allowed_settings.entry(connection.0).or_default()
    }

    /// Adds errors for announced rates that are invalid or not settable.
    pub(crate) fn check_allowed_settings(&self, errors: &mut Vec<BuildError>) {
        for (&connection, announced) in &self.allowed_settings {
            let spec = self.spec_of(connection);
            let own_pps = own_rate_pps(spec);
            if own_pps.is_none() && !announced.rates_pps.is_empty() {
                errors.push(BuildError::NotSettable {
                    connection: spec.name.clone(),
                    reason: format!(
                        "{}; only the rates of constant and Poisson sources can be set",
                        own_rate_reason(&spec.source)
                    ),
                });
            }
            let wrong = |rate_pps: &&f64| !(rate_pps.is_finite() && **rate_pps >= 0.0);
            let wrong = announced.rates_pps.iter().find(wrong);
            errors.extend(wrong.map(|&value| BuildError::OutOfRange {
                subject: format!("connection {}", spec.name),
                field: "the settable rate",
                value,
                allowed: "zero or a positive number",
            }));
        }
    }

    /// Returns the settable paths and rates of each connection; `own_path` supplies its default path.
    pub(crate) fn controllable_connections(
        &self,
        own_path: impl Fn(u32) -> Vec<NodeId>,
    ) -> Vec<ControllableConnection> {
        let each = self.allowed_settings.iter();
        let settable = |(&connection, announced): (&u32, &AllowedSettings)| {
            let mut paths = announced.paths.clone();
            if !paths.is_empty() {
                paths.insert(0, own_path(connection));
            }
            let own_pps = own_rate_pps(self.spec_of(connection));
            let rates_pps = announced.rates_pps.iter();
            ControllableConnection {
                connection,
                paths,
                rates_pps: if announced.rates_pps.is_empty() {
                    None
                } else {
                    own_pps.map(|own_pps| {
                        rates_pps.fold((own_pps, own_pps), |(least, most), &pps| {
                            (least.min(pps), most.max(pps))
                        })
                    })
                },
            }
        };
        each.map(settable).collect()
    }
}

/// Returns the rate of a constant or Poisson source in packets/s.
fn own_rate_pps(spec: &ConnectionSpec) -> Option<f64> {
    match spec.source {
        Source::Constant { rate_pps } | Source::Poisson { rate_pps } => Some(rate_pps),
        Source::Profile(_) | Source::Ns2Tcp(_) | Source::Tcp(_) | Source::Users(_) => None,
    }
}

fn own_rate_reason(source: &Source) -> &'static str {
    match source {
        Source::Users(_) => "users control their own traffic",
        _ => "TCP controls its own rate",
    }
}

impl Network {
    /// Returns the paths that the connection can be set to at run time. They are its default path while all
    /// links work and the [announced](NetworkBuilder::allow_path) ones; empty if none was announced.
    pub fn paths(&self, id: ConnectionId) -> &[Vec<NodeId>] {
        self.controllable_connection(id).map_or(&[], |it| &it.paths)
    }

    /// Returns the lowest and the highest rate in packets/s to which each of the connection's `count` can be
    /// set. The range includes its initial rate and the [announced](NetworkBuilder::allow_rate) ones. `None` if
    /// the source controls its rate.
    pub fn rates_pps(&self, id: ConnectionId) -> Option<(f64, f64)> {
        let announced = self.controllable_connection(id).and_then(|it| it.rates_pps);
        announced.or_else(|| own_rate_pps(self.connection_spec(id)).map(|pps| (pps, pps)))
    }

    /// Returns the initial rate of each of the connection's `count`, in packets/s.
    ///
    /// # Errors
    /// For TCP and users: the reason, as text.
    pub fn own_rate_pps(&self, id: ConnectionId) -> Result<f64, &'static str> {
        let spec = self.connection_spec(id);
        own_rate_pps(spec).ok_or_else(|| own_rate_reason(&spec.source))
    }

    fn controllable_connection(&self, id: ConnectionId) -> Option<&ControllableConnection> {
        let connection = id.within(self.inner.owner) as u32;
        let place = self.inner.control_index(connection)?;
        self.inner.controllable.get(place)
    }
}

impl CompiledNetwork {
    /// Returns the index of a connection among the settable ones.
    pub fn control_index(&self, connection: u32) -> Option<usize> {
        control_index_of(&self.controllable, connection)
    }

    /// Returns the current overrides of `connection`; `set` has one entry per settable connection.
    pub fn control_state_of(&self, connection: u32, set: &[ControlState]) -> ControlState {
        let place = self.control_index(connection);
        let set = place.and_then(|place| set.get(place));
        set.copied().unwrap_or_default()
    }

    /// Returns the links of a branch's data path; empty without a branch.
    pub fn links_of(&self, branch: Option<u32>) -> Vec<LinkId> {
        let links = branch.map_or(&[][..], |branch| self.data_path(branch));
        links.iter().map(|&l| LinkId(l, self.owner)).collect()
    }

    /// Returns whether each branch carries traffic at any time, if settable connections use these of [their
    /// paths](ControllableConnection::paths) from the start.
    pub fn used_class_paths(&self, paths: &[Option<u32>]) -> Vec<bool> {
        if self.controllable.is_empty() {
            return vec![true; self.class_paths.len()];
        }
        let mut used = vec![false; self.class_paths.len()];
        for epoch in 0..self.epochs.len() {
            for (number, class) in (0..).zip(&self.classes) {
                let place = self.control_index(class.connection);
                let path = place.and_then(|place| paths.get(place).copied().flatten());
                if let Some(first) = self.class_path_of(epoch, number, path) {
                    let lanes = class.aggregate.map_or(1, |_| 3);
                    used[first as usize..first as usize + lanes].fill(true);
                }
            }
        }
        used
    }

    /// Returns the branch of a class in an epoch, if it has a route. `path` is an index into the allowed
    /// [paths](ControllableConnection::paths) of its connection; `None` selects the network's routes.
    pub fn class_path_of(&self, epoch: usize, class: u32, path: Option<u32>) -> Option<u32> {
        let epoch = &self.epochs[epoch];
        let own = epoch.class_path_of[class as usize];
        let class_path = path.map_or(own, |path| {
            let connection = self.classes[class as usize].connection;
            let place = self.control_index(connection);
            let set = place.and_then(|place| epoch.control_paths[place].get(path as usize));
            set.copied().unwrap_or(own)
        });
        class_path.map(NonMaxU32::get)
    }
}

/// Returns the index of the class's connection among the settable ones.
pub(crate) fn control_index_of_class(
    settable: &[ControllableConnection],
    class: &Class,
) -> Option<usize> {
    control_index_of(settable, class.connection)
}

fn control_index_of(settable: &[ControllableConnection], connection: u32) -> Option<usize> {
    settable
        .binary_search_by_key(&connection, |it| it.connection)
        .ok()
}
