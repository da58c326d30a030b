//! Options that select failures.

use clap::Args;
use netflow::simulation::Network;
use netflow::steady::FailureOptions;

use crate::failure::Failure;

/// Kinds of elements that fail.
#[derive(Args)]
pub(crate) struct FailureKinds {
    /// Evaluate failures of links; without --links, --nodes and --srlgs, all kinds are evaluated
    #[arg(long)]
    links: bool,

    /// Evaluate failures of nodes
    #[arg(long)]
    nodes: bool,

    /// Evaluate failures of shared-risk groups
    #[arg(long)]
    srlgs: bool,

    /// Evaluate simultaneous failures of every two of these, instead of single failures
    #[arg(long)]
    pairs: bool,
}

impl FailureKinds {
    /// Returns the options of all cases, or an error if no element of a kind exists.
    pub fn options(&self, network: &Network) -> Result<FailureOptions, Failure> {
        if self.srlgs && network.risk_groups().len() == 0 {
            return Err(Failure::Usage {
                message: "the scenario has no shared-risk groups".to_owned(),
                help: Some("write `srlg = \"conduit-1\"` in links that fail together".to_owned()),
            });
        }
        let all = !(self.links || self.nodes || self.srlgs);
        Ok(FailureOptions {
            links: all || self.links,
            nodes: all || self.nodes,
            groups: all || self.srlgs,
            pairs: self.pairs,
            ..FailureOptions::default()
        })
    }
}
