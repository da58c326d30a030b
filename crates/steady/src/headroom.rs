//! Headroom: the factor by which demands can grow within bounds.

use netflow_network::{ConnectionId, LinkId, Network};
use serde::Serialize;

use crate::solver::{ConnectionSelection, Solver, check};
use crate::{ConnectionSteady, LinkSteady, Steady, SteadyError, SteadyOptions};

/// Upper bounds for all links and connections; infinity means no bound.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// Load of a link: demand over bandwidth ([`LinkSteady::load`](crate::LinkSteady::load)).
    pub utilization: f64,
    /// Mean one-way delay of a connection's packets, in seconds.
    pub delay_s: f64,
    /// Loss probability of a connection.
    pub loss: f64,
}

impl Default for Bounds {
    fn default() -> Self {
        Bounds {
            utilization: f64::INFINITY,
            delay_s: f64::INFINITY,
            loss: f64::INFINITY,
        }
    }
}

/// Bound that is reached first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binding {
    /// The utilization of a link.
    Utilization(LinkId),
    /// The delay of a connection.
    Delay(ConnectionId),
    /// The loss of a connection.
    Loss(ConnectionId),
}

/// Result of a headroom computation.
#[derive(Clone, Debug, PartialEq)]
pub struct Headroom {
    /// Largest admissible factor of the demands; `None` if bounds are broken at any factor.
    pub factor: Option<f64>,
    /// Bound that is reached there first; `None` if none is reached up to the largest factor tried.
    pub binding: Option<Binding>,
    /// Steady state at that factor, or at the smallest one tried.
    pub steady: Steady,
}

/// Range of factors tried.
const FACTOR_RANGE: (f64, f64) = (1e-6, 1e6);
/// Ratio of successive factors tried. A bound that is broken and kept again within one step is
/// missed.
const STEP: f64 = 1.25;
/// Relative accuracy of the factor.
const FACTOR_TOLERANCE: f64 = 1e-9;

/// Largest value relative to its bound, and which bound.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BoundUsage {
    pub fraction: f64,
    binding: Option<Binding>,
}

/// Returns the largest use of a bound in this state of the network.
pub(crate) fn bound_usage(
    network: &Network,
    links: &[LinkSteady],
    connections: &[ConnectionSteady],
    bounds: &Bounds,
) -> BoundUsage {
    let mut near = BoundUsage {
        fraction: 0.0,
        binding: None,
    };
    let mut look = |is: f64, bound: f64, binding: Binding| {
        let part = is / bound;
        if part > near.fraction {
            near = BoundUsage {
                fraction: part,
                binding: Some(binding),
            };
        }
    };
    for (id, link) in network.links().zip(links) {
        look(link.load, bounds.utilization, Binding::Utilization(id));
    }
    for (id, it) in network.connections().zip(connections) {
        if it.sending {
            look(it.delay_s, bounds.delay_s, Binding::Delay(id));
            look(it.loss_probability, bounds.loss, Binding::Loss(id));
        }
    }
    near
}

/// Rejects bounds that are not positive.
pub(crate) fn check_bounds(bounds: &Bounds) -> Result<(), SteadyError> {
    for (name, bound) in [
        ("max-utilization", bounds.utilization),
        ("max-delay", bounds.delay_s),
        ("max-loss", bounds.loss),
    ] {
        if bound.is_nan() || bound <= 0.0 {
            check(name, bound, false, "positive")?;
        }
    }
    Ok(())
}

impl Solver {
    /// Computes the largest factor of demands up to which all bounds hold. Fixed-rate sources have
    /// demands, and so has TCP whose application has a rate; other TCP takes the available
    /// capacity.
    ///
    /// # Errors
    /// As [`Solver::solve`]; [`SteadyError::NothingToScale`] if no demand is scaled;
    /// [`SteadyError::BadOption`] for a bound that is not positive.
    pub fn headroom(
        &mut self,
        bounds: &Bounds,
        scale: ConnectionSelection<'_>,
        options: &SteadyOptions,
    ) -> Result<Headroom, SteadyError> {
        check_bounds(bounds)?;
        if self.scale(scale, 1.0)? == 0 {
            return Err(SteadyError::NothingToScale);
        }
        let found = self.search(bounds, scale, options);
        self.scale(scale, 1.0)?;
        found
    }

    fn search(
        &mut self,
        bounds: &Bounds,
        scale: ConnectionSelection<'_>,
        options: &SteadyOptions,
    ) -> Result<Headroom, SteadyError> {
        let mut at = self.solve(options)?;
        let mut near = self.bound_usage(&at, bounds);
        let (mut low, mut high) = (1.0_f64, 1.0_f64);
        if near.fraction > 1.0 {
            while near.fraction > 1.0 {
                if low <= FACTOR_RANGE.0 {
                    return Ok(Headroom {
                        factor: None,
                        binding: near.binding,
                        steady: at,
                    });
                }
                (high, low) = (low, low / STEP);
                (at, near) = self.solve_at_factor(bounds, scale, low, &at, options)?;
            }
        } else {
            while near.fraction <= 1.0 {
                if high >= FACTOR_RANGE.1 {
                    let factor = Some(high);
                    return Ok(Headroom {
                        factor,
                        binding: None,
                        steady: at,
                    });
                }
                (low, high) = (high, high * STEP);
                (at, near) = self.solve_at_factor(bounds, scale, high, &at, options)?;
            }
        }
        let mut binding = near.binding;
        while high / low > 1.0 + FACTOR_TOLERANCE {
            let middle = (low * high).sqrt();
            (at, near) = self.solve_at_factor(bounds, scale, middle, &at, options)?;
            if near.fraction > 1.0 {
                (high, binding) = (middle, near.binding);
            } else {
                low = middle;
            }
        }
        let (at, near) = self.solve_at_factor(bounds, scale, low, &at, options)?;
        Ok(Headroom {
            factor: Some(low),
            binding: near.binding.or(binding),
            steady: at,
        })
    }

    fn solve_at_factor(
        &mut self,
        bounds: &Bounds,
        scale: ConnectionSelection<'_>,
        factor: f64,
        from: &Steady,
        options: &SteadyOptions,
    ) -> Result<(Steady, BoundUsage), SteadyError> {
        self.scale(scale, factor)?;
        let at = self.solve_from(from, options)?;
        let near = self.bound_usage(&at, bounds);
        Ok((at, near))
    }

    fn bound_usage(&self, at: &Steady, bounds: &Bounds) -> BoundUsage {
        bound_usage(self.network(), &at.links, &at.connections, bounds)
    }
}

impl Binding {
    /// Returns the kind of the bound.
    pub fn kind(&self) -> BindingKind {
        match self {
            Binding::Utilization(_) => BindingKind::Utilization,
            Binding::Delay(_) => BindingKind::Delay,
            Binding::Loss(_) => BindingKind::Loss,
        }
    }

    /// Returns the name of its link or connection.
    pub fn name<'a>(&self, network: &'a Network) -> &'a str {
        match *self {
            Binding::Utilization(id) => network.link_name(id),
            Binding::Delay(id) | Binding::Loss(id) => network.connection_name(id),
        }
    }
}

/// Kind of a bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum BindingKind {
    /// A link's utilization.
    Utilization,
    /// A connection's delay.
    Delay,
    /// A connection's loss.
    Loss,
}

impl BindingKind {
    /// Returns its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            BindingKind::Utilization => "utilization",
            BindingKind::Delay => "delay",
            BindingKind::Loss => "loss",
        }
    }
}
