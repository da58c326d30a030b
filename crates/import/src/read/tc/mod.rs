//! Reader of the queueing disciplines of a Linux interface: output of `tc qdisc show`, `tc class show` and
//! `tc filter show` (text, or JSON of `tc -j`), or the commands that create them (tc(8), tc-netem(8), tc-tbf(8), tc-htb(8)).
//!
//! The interface becomes a link from the node `host` to the node `peer`.

mod link;
mod netem;
mod objects;
mod options;
mod queues;
mod rates;
mod units;

use std::path::Path;

use crate::attributes::{LinkAttributes, StatedQuantity};
use crate::errors::{ImportError, ReadResult};
use crate::topology::LinkSettings;
use crate::topology_builder::TopologyBuilder;
use link::DescribedLink;
use objects::objects;

pub(super) fn read(draft: &mut TopologyBuilder<'_>) -> ReadResult<()> {
    let mut objects = objects(draft.text)?;
    let is_loopback = |it: &objects::Object| it.device.as_deref() == Some("lo");
    if objects
        .iter()
        .any(|it| it.device.is_some() && !is_loopback(it))
    {
        objects.retain(|it| !is_loopback(it));
    }
    let link = DescribedLink::of(&objects)?;
    let all = 0..draft.text.lines().next().map_or(0, str::len);
    let host = draft.node_or_new("host", all.clone())?;
    let peer = draft.node_or_new("peer", all.clone())?;
    // Each direction has settings of its own, which `reverse` of other formats does not have.
    draft.pairs = false;
    for text in link.assumptions {
        draft.assumptions.add_general(text);
    }
    let attributes = LinkAttributes {
        name: link.device,
        bandwidth: link
            .bandwidth_bps
            .map(|bps| (StatedQuantity::WithUnit(bps), all.clone())),
        delay: Some((StatedQuantity::WithUnit(link.delay_s), all.clone())),
        settings: link.settings,
        ..LinkAttributes::default()
    };
    check(&attributes.settings, &all)?;
    draft.add_link((host, peer), true, attributes, all.clone())?;
    let back = LinkAttributes {
        delay: Some((StatedQuantity::WithUnit(0.0), all.clone())),
        settings: link.back,
        ..LinkAttributes::default()
    };
    draft.add_link((peer, host), true, back, all)
}

/// Checks that a scenario accepts these settings.
fn check(settings: &LinkSettings, span: &std::ops::Range<usize>) -> ReadResult<()> {
    let link = "from = \"host\"\nto = \"peer\"\n";
    let mut text = format!(
        "[simulation]\nduration = \"1 s\"\nmodel = \"packet\"\n\n[[link]]\n{link}bandwidth = \"1 Gbit/s\"\n{}",
        settings.as_toml()
    );
    let source = "source = { constant = \"1 pkt/s\" }\n";
    text += &format!("\n[[connection]]\nname = \"all\"\n{link}{source}");
    for class in &settings.leaves {
        text +=
            &format!("\n[[connection]]\nname = \"{class}\"\nclass = \"{class}\"\n{link}{source}");
    }
    let checked = netflow_scenario::from_str("tc", &text, Path::new("/nonexistent"), &[]);
    match checked {
        Ok(_) => Ok(()),
        Err(problems) => {
            let first = problems.iter().next();
            let message = first.map_or_else(String::new, |it| it.message.clone());
            let message = format!("a link of a scenario cannot have these settings: {message}");
            Err(ImportError::value(span.clone(), message)
                .help("change the value, and set it in the scenario if it matters"))
        }
    }
}
