//! Examples at the end of the help of every subcommand.

use clap::Command;

/// Examples by subcommand, each with its purpose. A test parses every line. `tests/examples.rs` runs
/// those that need only a scenario.
pub const EXAMPLES: &[(&str, &[(&str, &str)])] = &[
    (
        "demo",
        &[(
            "netflow demo",
            "a home gateway with a long queue, and commands to try next",
        )],
    ),
    (
        "run",
        &[
            (
                "netflow run topology.toml -o results",
                "print tables, and write series for a report",
            ),
            (
                "netflow run topology.toml --set \"link.N5->N7.bandwidth=10 Mbit/s\"",
                "change the bandwidth of a link",
            ),
            (
                "netflow run topology.toml --set \"connection.*.source={ ns2-tcp = 'reno' }\" --seeds 5",
                "use the packet model with five seeds",
            ),
        ],
    ),
    (
        "check",
        &[(
            "netflow check topology.toml",
            "report all errors and warnings",
        )],
    ),
    (
        "explain",
        &[(
            "netflow explain topology.toml c4 --at 30s",
            "show the limit of connection c4 after 30 s",
        )],
    ),
    (
        "compare",
        &[
            (
                "netflow compare topology.toml --with linux",
                "compare with TCP of this machine's kernel",
            ),
            (
                "netflow compare topology.toml --with ns2 --seeds 3",
                "compare with ns-2",
            ),
        ],
    ),
    (
        "report",
        &[
            ("netflow report results", "write a page, report.html"),
            (
                "netflow report results --figure links --only \"N5->*\" -o links.pdf",
                "draw a figure for a paper",
            ),
        ],
    ),
    (
        "export",
        &[
            (
                "netflow export topology.toml --to ns2 -o topology.tcl",
                "write a script for `ns`",
            ),
            (
                "netflow export topology.toml --to ns3 -o topology.cc",
                "write a program for ns-3, with build instructions at its top",
            ),
            (
                "netflow export topology.toml --to graphml -o topology.graphml",
                "write the network for other programs",
            ),
            (
                "netflow export topology.toml --to tc -o links.sh",
                "write a shell script that makes the links on interfaces of Linux",
            ),
        ],
    ),
    (
        "schema",
        &[("netflow schema", "for editors with completion of keys")],
    ),
    (
        "completions",
        &[(
            "netflow completions bash",
            "print a script for the shell to source",
        )],
    ),
    (
        "man",
        &[("netflow man -o man1", "write a page for every command")],
    ),
    (
        "new",
        &[(
            "netflow new random --nodes 30 --connections 50 --seed 7 -o random.toml",
            "generate a network for experiments",
        )],
    ),
    (
        "import",
        &[
            (
                "netflow import Abilene.graphml -o abilene.toml",
                "import from the Topology Zoo, and list every assumption",
            ),
            (
                "netflow import geant.txt matrix.csv -o geant.toml",
                "import with demands from a table",
            ),
            (
                "netflow import eth0.tc -o eth0.toml",
                "import a Linux interface: the output of `tc -d qdisc show dev eth0`",
            ),
        ],
    ),
    (
        "demands",
        &[
            (
                "netflow demands backbone.toml --loads loads.csv -o demands.csv",
                "estimate a traffic matrix from a table `link,load`",
            ),
            (
                "netflow demands backbone.toml --loads counters.csv --totals nodes.csv",
                "use octet counters `link,time_s,octets`, and totals `node,in,out`",
            ),
        ],
    ),
    (
        "solve",
        &[
            (
                "netflow solve topology.toml --sensitivity",
                "find the best link to upgrade",
            ),
            (
                "netflow solve abilene.toml --headroom --max-utilization 90%",
                "find the largest growth of demands",
            ),
        ],
    ),
    (
        "failures",
        &[
            (
                "netflow failures topology.toml --top 5",
                "show the five worst failures of links, nodes and groups",
            ),
            (
                "netflow failures topology.toml --links --pairs -o failures.html",
                "write a page on failures of every two links",
            ),
        ],
    ),
    (
        "availability",
        &[
            (
                "netflow availability topology.toml --set \"link.*.mtbf=200 d\" --set \"link.*.mttr=12 h\"",
                "show the availability of each connection if links fail every 200 days for 12 hours",
            ),
            (
                "netflow availability topology.toml --set \"link.*.unavailability=0.1 %\" --slo 99.95%",
                "list the connections that are not served for 99.95 % of the time",
            ),
        ],
    ),
    (
        "plan",
        &[(
            "netflow plan topology.toml --modules modules.csv --growth 1.5 --max-utilization 90% -o plan.toml",
            "find the cheapest upgrades for 50 % more traffic and any failure",
        )],
    ),
    (
        "weights",
        &[(
            "netflow weights topology.toml --set simulation.ecmp=true --links --max-changes 3 -o better.toml",
            "lower the largest load after any link failure with at most three changed metrics",
        )],
    ),
    (
        "sweep",
        &[(
            "netflow sweep topology.toml --vary \"link.N5->N7.buffer=20 pkt,50 pkt,100 pkt\" -o buffers",
            "write tables of three cases",
        )],
    ),
    (
        "profile list",
        &[("netflow profile list", "list the names for `profile =`")],
    ),
    (
        "profile show",
        &[(
            "netflow profile show ns-reno --loss 1%,5% --rtt 50ms,200ms",
            "show throughput in packets/s at four points",
        )],
    ),
    (
        "profile fit",
        &[(
            "netflow profile fit sender.pcap --name mine -o mine.toml",
            "fit a profile of your own TCP to a capture",
        )],
    ),
    (
        "profile measure",
        &[(
            "netflow profile measure --congestion cubic --rtt 50ms,100ms -o measured",
            "measure CUBIC of this kernel; takes minutes",
        )],
    ),
    (
        "profile compare",
        &[(
            "netflow profile compare ns-reno linux-cubic",
            "show where each profile is faster",
        )],
    ),
    (
        "latency",
        &[
            (
                "netflow latency --size 10KB --delay 50ms --loss 5%",
                "compute the latency of one transfer",
            ),
            (
                "netflow latency --size 10KB --delay 50ms --grid loss=0%,1%,5%",
                "print a table for three loss probabilities",
            ),
        ],
    ),
    (
        "mark",
        &[(
            "netflow mark packets.csv --committed-rate \"2 Mbit/s\" --peak-rate \"4 Mbit/s\"",
            "count the packets of each colour",
        )],
    ),
    (
        "trace summary",
        &[("netflow trace summary capture.pcap", "list the flows")],
    ),
    (
        "trace links",
        &[(
            "netflow trace links out.tr --bandwidth \"N5->N7=8 Mbit/s\"",
            "show queues and losses of an ns-2 run",
        )],
    ),
    (
        "trace connections",
        &[(
            "netflow trace connections capture.pcap",
            "show rates, losses and round-trip times",
        )],
    ),
    (
        "trace samples",
        &[(
            "netflow trace samples sender.pcap",
            "print a table for `profile fit`",
        )],
    ),
    (
        "trace burstiness",
        &[(
            "netflow trace burstiness out.tr --link \"N5->N7\" --interval 100ms",
            "compare with Poisson arrivals",
        )],
    ),
    (
        "ipb serve",
        &[(
            "netflow ipb serve --address 0.0.0.0",
            "answer users on other machines",
        )],
    ),
    (
        "ipb run",
        &[(
            "netflow ipb run 10.0.0.2 --http 2/s --duration 60s",
            "measure response times of web users",
        )],
    ),
    (
        "ipb predict",
        &[(
            "netflow ipb predict --delay 25ms --loss 1% --http 2/s",
            "predict response times without a network",
        )],
    ),
    (
        "link",
        &[(
            "netflow link --self-test",
            "test the timing of this machine",
        )],
    ),
    (
        "testbed",
        &[
            (
                "netflow testbed --delay 25ms --rate \"10 Mbit/s\" -- ping -c 3 10.77.0.2",
                "send real packets over an emulated link",
            ),
            (
                "netflow testbed topology.toml --at N1 -- ping -c 3 N7",
                "send them over the network of a scenario, in competition with its transfers",
            ),
        ],
    ),
];

/// Adds the examples to the help of every command.
pub fn add_to(mut command: Command) -> Command {
    for (path, lines) in EXAMPLES {
        let names: Vec<&str> = path.split(' ').collect();
        command = with_text(command, &names, &text(lines));
    }
    command
}

fn text(lines: &[(&str, &str)]) -> String {
    let each = lines
        .iter()
        .map(|(line, what)| format!("  {line}\n      {what}"));
    let each: Vec<String> = each.collect();
    format!("Examples:\n{}", each.join("\n"))
}

fn with_text(command: Command, names: &[&str], text: &str) -> Command {
    let Some((first, rest)) = names.split_first() else {
        return command.after_help(text.to_owned());
    };
    match command.find_subcommand(first) {
        // Some commands exist only on some systems.
        None => command,
        Some(_) => command.mut_subcommand(*first, |it| with_text(it, rest, text)),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::args::Arguments;

    /// Splits a line into words, some of which are quoted.
    fn words(line: &str) -> Vec<std::ffi::OsString> {
        let mut all = Vec::new();
        for (i, part) in line.split('"').enumerate() {
            match i % 2 {
                1 => all.push(part.into()),
                _ => all.extend(part.split_whitespace().map(Into::into)),
            }
        }
        all
    }

    #[test]
    fn all_examples_parse() {
        for (path, lines) in EXAMPLES {
            for (line, _) in *lines {
                assert!(line.starts_with(&format!("netflow {path}")), "{line}");
                if let Err(error) = Arguments::parse_line(words(line)) {
                    panic!("{line}: {error}");
                }
            }
        }
    }

    fn commands_without_examples(command: &Command, path: &str, found: &mut Vec<String>) {
        let subcommands = command
            .get_subcommands()
            .filter(|it| it.get_name() != "help");
        let mut last = true;
        for it in subcommands {
            last = false;
            let path = format!("{path} {}", it.get_name());
            commands_without_examples(it, path.trim_start(), found);
        }
        if last && !EXAMPLES.iter().any(|(known, _)| *known == path) {
            found.push(path.to_owned());
        }
    }

    #[test]
    fn all_subcommands_have_examples() {
        let mut found = Vec::new();
        commands_without_examples(&Arguments::command(), "", &mut found);
        assert!(found.is_empty(), "{found:?}");
    }
}
