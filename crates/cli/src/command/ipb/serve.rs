//! The subcommand `netflow ipb serve`.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr};

use clap::Args;
use netflow::number::count;
use netflow_ipb::{Limits, Served, Server, ServerOptions, Traffic};
use serde::Serialize;

use super::start_failure::start_failure;
use crate::failure::Failure;
use crate::interrupt;
use crate::output::csv;
use crate::output::format::{Format, HELP};
use crate::output::table::Table;

/// Answer users until interrupted, then print totals and dropped connections
///
/// The server drops a connection that sends nothing within 10 s of connecting, requests nothing for
/// 20 min, needs more than 1 min for a request, or reads nothing of a reply for 2 min. No
/// connection lasts longer than a day. A connection that does not read takes 0.2 MB of memory
/// (system and process together), or at most 0.4 MB if it continues to send requests.
#[derive(Args)]
pub struct ServeArguments {
    /// Listen address; the default accepts connections from this machine only
    #[arg(long, value_name = "ADDRESS", default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    address: IpAddr,

    /// Listen port; 0 selects a free port
    #[arg(long, value_name = "PORT", default_value_t = ServerOptions::PORT)]
    port: u16,

    /// Congestion control of the replies, such as reno [default: the default of the system]
    #[arg(long, alias = "cc", value_name = "NAME")]
    congestion: Option<String>,

    /// Maximum number of simultaneous connections
    ///
    /// One address may have a quarter of them; the loopback address of this machine may have all.
    /// At the limit, new clients replace idle ones: first those that never sent anything, then
    /// those idle for at least 10 s, longest idle first.
    #[arg(long, value_name = "N", default_value_t = Limits::default().connections as u32)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=100_000))]
    connections: u32,

    #[arg(long, value_enum, default_value_t, help = HELP)]
    format: Format,
}

pub fn serve(arguments: &ServeArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let server = Server::bind(ServerOptions {
        address: arguments.address,
        port: arguments.port,
        congestion: arguments.congestion.clone(),
        limits: Limits {
            connections: arguments.connections as usize,
            ..Limits::default()
        },
    })
    .map_err(start_failure)?;
    let listening = format!("listening at {}", server.address());
    match arguments.format {
        Format::Text => {
            writeln!(out, "{listening}")?;
            // The calling program waits for this line.
            out.flush()?;
        }
        // The standard output is reserved for the answer. Errors of the standard error are ignored.
        _ => drop(writeln!(io::stderr().lock(), "{listening}")),
    }
    let served = server.run(&interrupt::requested).map_err(start_failure)?;
    let answer = ServeReport::of(&served);
    let csv = |out: &mut dyn Write| csv::write(answer.kinds(), out);
    Ok(arguments
        .format
        .print(out, &answer, csv, |out| text(&answer, out))?)
}

fn text(answer: &ServeReport, out: &mut dyn Write) -> io::Result<()> {
    Table::of(answer.kinds())
        .text("users", |it| it.users)
        .number("connections", |it| it.numbers.connections)
        .number("requests", |it| it.numbers.requests)
        .number("request bytes", |it| it.numbers.request_bytes)
        .number("reply bytes", |it| it.numbers.reply_bytes)
        .print(out)?;
    let accepted = count(answer.accepted as usize, "connection");
    writeln!(out, "accepted {accepted}")?;
    for (reason, connections) in &answer.dropped {
        let connections = count(*connections as usize, "connection");
        writeln!(out, "dropped {connections}: {reason}")?;
    }
    Ok(())
}

#[derive(Serialize)]
struct ServeReport {
    accepted: u64,
    http: Traffic,
    telnet: Traffic,
    dropped: BTreeMap<&'static str, u64>,
}

/// Traffic served to one kind of users.
#[derive(Serialize)]
struct KindTraffic<'a> {
    users: &'static str,
    #[serde(flatten)]
    numbers: &'a Traffic,
}

impl ServeReport {
    fn kinds(&self) -> [KindTraffic<'_>; 2] {
        [("http", &self.http), ("telnet", &self.telnet)]
            .map(|(users, numbers)| KindTraffic { users, numbers })
    }

    fn of(served: &Served) -> ServeReport {
        let drops = served.drops();
        ServeReport {
            accepted: served.accepted,
            http: served.http,
            telnet: served.telnet,
            dropped: drops.map(|(reason, n)| (reason.name(), n)).collect(),
        }
    }
}
