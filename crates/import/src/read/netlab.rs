//! Reader of the lab topologies of netlab (netlab.tools, formerly netsim-tools).

use netflow_document::ProblemKind;

use super::yaml::{self, Yaml};
use crate::Subject;
use crate::attributes::{
    self, Attribute, LinkAttributes, StatedQuantity, single_line, truncate_text,
};
use crate::errors::{ImportError, ReadResult};
use crate::topology_builder::TopologyBuilder;

/// Unit of `bandwidth` and `tc.rate`, in bit/s.
const RATE_UNIT_BPS: f64 = 1e3;

/// Attributes of links that do not change the network, and of modules, which may follow after a point.
const IGNORED: [&str; 32] = [
    "bfd",
    "bgp",
    "bridge",
    "dhcp",
    "eigrp",
    "evpn",
    "gateway",
    "group",
    "interfaces",
    "isis",
    "lag",
    "linkindex",
    "members",
    "mpls",
    "mtu",
    "name",
    "ospf",
    "pool",
    "prefix",
    "ra",
    "ripv2",
    "role",
    "routing",
    "sr",
    "srv6",
    "stp",
    "tc",
    "type",
    "unnumbered",
    "vlan",
    "vrf",
    "vxlan",
];
/// Attributes of `tc` without a counterpart.
const IMPAIRMENTS: [&str; 4] = ["tc.jitter", "tc.corrupt", "tc.duplicate", "tc.reorder"];

pub(super) fn read(draft: &mut TopologyBuilder<'_>) -> ReadResult<()> {
    draft.rate_unit = Some(RATE_UNIT_BPS);
    let root = yaml::parse(draft.text)?;
    draft.name = root.get("name").and_then(Yaml::text).map(single_line);
    let nodes = root.required("nodes")?;
    if let Some(nodes) = nodes.map() {
        for (name, node) in nodes {
            add_node(draft, name.text(), name, node)?;
        }
    } else {
        for node in nodes.list().ok_or_else(|| nodes.wrong_type("nodes"))? {
            let name = node.text().or_else(|| node.get("name")?.text());
            add_node(draft, name, node, node)?;
        }
    }
    add_links(draft, root.required("links")?, &[])
}

fn add_node(
    draft: &mut TopologyBuilder<'_>,
    name: Option<&str>,
    at: &Yaml<'_>,
    node: &Yaml<'_>,
) -> ReadResult<()> {
    let name = name.ok_or_else(|| at.wrong_type("the name of a node"))?;
    if node.get("include").is_some() {
        let message = format!("node `{}` includes a component", truncate_text(name));
        let help = "run `netlab create -o yaml` and import its output";
        let wrong = ImportError::new(ProblemKind::NotAvailable, at.span.clone(), message);
        return Err(wrong.help(help));
    }
    draft.add_node(name, &[], at.span.clone()).map(drop)
}

/// Adds a list of links, or a mapping of names to such lists. `groups` are the groups that contain them, the
/// innermost last.
fn add_links(
    draft: &mut TopologyBuilder<'_>,
    links: &Yaml<'_>,
    groups: &[&Yaml<'_>],
) -> ReadResult<()> {
    if let Some(parts) = links.map() {
        return parts
            .iter()
            .try_for_each(|(_, part)| add_links(draft, part, groups));
    }
    let list = links
        .list()
        .ok_or_else(|| links.wrong_type("a list of links"))?;
    list.iter()
        .try_for_each(|link| add_link(draft, link, groups))
}

/// Adds a link: `a-b`, `[a, b]`, `{a: , b: , bandwidth: 1000}` or `{interfaces: [{node: a}, b]}`.
fn add_link(
    draft: &mut TopologyBuilder<'_>,
    link: &Yaml<'_>,
    groups: &[&Yaml<'_>],
) -> ReadResult<()> {
    for key in ["members", "lag.members"] {
        if let Some(members) = dotted(link, key) {
            let groups: Vec<&Yaml<'_>> = groups.iter().copied().chain([link]).collect();
            return add_links(draft, members, &groups);
        }
    }
    let mut ends: Vec<(usize, Option<&Yaml<'_>>)> = Vec::new();
    let end = |draft: &TopologyBuilder<'_>, name: &str, at: &Yaml<'_>| {
        draft.existing_node(name, at.span.clone())
    };
    if let Some(text) = link.text() {
        // A node without a link has its name only, which may contain hyphens.
        let names = if draft.has_node(text) {
            vec![text]
        } else {
            text.split('-').collect()
        };
        for name in names {
            ends.push((end(draft, name.trim(), link)?, None));
        }
    } else if let Some(list) = link.list().or_else(|| link.get("interfaces")?.list()) {
        for node in list {
            let name = node.text().or_else(|| node.get("node")?.text());
            let name = name.ok_or_else(|| node.wrong_type("the name of a node"))?;
            ends.push((end(draft, name, node)?, Some(node)));
        }
    } else {
        for (key, value) in link.map().ok_or_else(|| link.wrong_type("a link"))? {
            let name = key.text().unwrap_or_default();
            if draft.has_node(name) {
                ends.push((end(draft, name, key)?, Some(value)));
            } else if !is_attribute(name) {
                let text = format!(
                    "`{}` is not a node or a known attribute of links: ignored",
                    truncate_text(name)
                );
                let about = Subject::Other(String::new(), draft.line(&key.span));
                draft.assumptions.add(text, about);
            }
        }
    }
    let about = Subject::Other(String::new(), draft.line(&link.span));
    let tables: Vec<&Yaml<'_>> = [link]
        .into_iter()
        .chain(groups.iter().rev().copied())
        .collect();
    let text_of = |key: &str| tables.iter().find_map(|table| dotted(table, key)?.text());
    let ignored = match (text_of("disable"), text_of("type")) {
        (Some("true" | "True"), _) => Some("a disabled link is ignored".to_owned()),
        (_, Some(kind @ ("loopback" | "tunnel" | "vlan_member"))) => {
            Some(format!("a link of type `{kind}` is ignored"))
        }
        _ if ends.len() < 2 => Some("a link with one node is ignored".to_owned()),
        _ => None,
    };
    if let Some(text) = ignored {
        draft.assumptions.add(text, about);
        return Ok(());
    }
    for key in IMPAIRMENTS.into_iter().chain(["mtu"]) {
        if text_of(key).is_some() {
            draft
                .assumptions
                .add(format!("`{key}` of a link is ignored"), about.clone());
        }
    }
    let mut members = Vec::with_capacity(ends.len());
    for (node, own) in ends {
        if own.is_some_and(|own| dotted(own, "tc.loss").is_some()) {
            draft
                .assumptions
                .add("`tc.loss` of an interface is ignored", about.clone());
        }
        let tables: Vec<&Yaml<'_>> = own.into_iter().chain(tables.iter().copied()).collect();
        members.push((node, link_attributes(&tables)?));
    }
    let loss = tables.iter().find_map(|table| dotted(table, "tc.loss"));
    if let Some((percent, at)) = number("tc.loss", loss)?.filter(|(percent, _)| *percent > 0.0) {
        if percent >= 100.0 {
            return Err(ImportError::value(
                at.span.clone(),
                "`tc.loss` is not below 100 %",
            ));
        }
        match &mut members[..] {
            [(_, first), _] => first
                .settings
                .keys
                .push(("loss", (percent / 100.0).to_string())),
            _ => draft
                .assumptions
                .add("`tc.loss` of a LAN is ignored", about),
        }
    }
    let name =
        text_of("name").map_or_else(|| format!("lan-{}", draft.line(&link.span)), single_line);
    draft.add_lan(&name, members, link.span.clone())
}

/// Returns whether a key is an attribute of links.
fn is_attribute(key: &str) -> bool {
    let first = key.split('.').next().unwrap_or_default();
    matches!(key, "bandwidth" | "disable" | "<<") || IGNORED.contains(&first)
}

/// Returns the value of a key such as `tc.rate`, which may also be written as `tc: {rate: }`.
fn dotted<'y, 't>(table: &'y Yaml<'t>, key: &str) -> Option<&'y Yaml<'t>> {
    table.get(key).or_else(|| {
        let (first, rest) = key.split_once('.')?;
        dotted(table.get(first)?, rest)
    })
}

/// Returns the number of a key, which is not negative.
fn number<'y, 't>(
    key: &str,
    value: Option<&'y Yaml<'t>>,
) -> ReadResult<Option<(f64, &'y Yaml<'t>)>> {
    let Some(value) = value else { return Ok(None) };
    let text = value.text().ok_or_else(|| value.wrong_type("a number"))?;
    let number = super::sndlib_native::number(text, &value.span)?;
    if number < 0.0 {
        return Err(ImportError::value(
            value.span.clone(),
            format!("`{key}` is negative"),
        ));
    }
    Ok(Some((number, value)))
}

/// Returns the attributes of a direction. The first table that has a key counts.
fn link_attributes(tables: &[&Yaml<'_>]) -> ReadResult<LinkAttributes> {
    let value = |key: &str| tables.iter().find_map(|table| dotted(table, key));
    let mut said = Vec::new();
    for (key, name) in [
        ("tc.delay", "delay"),
        ("ospf.cost", "metric"),
        ("isis.metric", "metric"),
    ] {
        if let Some(value) = value(key)
            && !said.iter().any(|it: &Attribute<'_>| it.name == name)
        {
            let text = value.text().ok_or_else(|| value.wrong_type("a value"))?;
            said.push(Attribute::new(name, text, value.span.clone()));
        }
    }
    let mut says = attributes::parse_link(&said)?;
    // `tc.rate` limits the link, `bandwidth` only informs the devices.
    let [rate, bandwidth] = ["tc.rate", "bandwidth"].map(|key| number(key, value(key)));
    let (rate, bandwidth) = (rate?, bandwidth?);
    if let (Some((rate, _)), Some((bandwidth, _))) = (rate, bandwidth)
        && rate != bandwidth
    {
        let text = "`bandwidth` contradicts `tc.rate`: `tc.rate` is used";
        says.contradictions.push(text.to_owned());
    }
    if let Some((rate, at)) = rate.or(bandwidth) {
        says.bandwidth = Some((StatedQuantity::WithoutUnit(rate), at.span.clone()));
    }
    Ok(says)
}
