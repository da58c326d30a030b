//! Section of an ns-2 script with the events.

use netflow_network::{Acks, Buffer, Change, DropPolicy, EventSpec, LinkElement, LinkId};
use std::collections::BTreeSet;

use super::super::ExportError;
use super::super::tcl::quote_word;
use super::connections::is_tcp;
use super::links::UNITS;
use super::{Export, Warnings};

impl Export<'_> {
    /// Returns the section; empty without events.
    ///
    /// # Errors
    /// Losses that ns-2 does not support.
    pub(super) fn events(&self, warnings: &mut Warnings) -> Result<String, ExportError> {
        let events: Vec<EventSpec> = self.events_before_end().collect();
        if events.is_empty() {
            return Ok(String::new());
        }
        let mut text = String::from("\n# ---- events\n\n");
        let breakable: BTreeSet<LinkId> = self.reroutings().map(|event| event.link).collect();
        for link in breakable {
            text += &format!("breakable {}\n", self.end_names(link));
        }
        let mut before_s = 0.0;
        for at_once in events.chunk_by(|a, b| a.at_s == b.at_s) {
            let Some(at_s) = at_once.first().map(|event| event.at_s) else {
                continue;
            };
            for event in at_once {
                for command in self.change(event)? {
                    text += &format!("$ns at {at_s} {{{command}}}\n");
                }
            }
            text += &self.new_routes(before_s, at_s);
            before_s = at_s;
        }
        self.warn_of_events(&events, warnings);
        Ok(text)
    }

    fn change(&self, event: &EventSpec) -> Result<Vec<String>, ExportError> {
        let ends = self.end_names(event.link);
        Ok(match event.change {
            Change::Bandwidth(_)
                if matches!(self.network.link_spec(event.link).buffer, Buffer::Time(_)) =>
            {
                return Err(ExportError::BufferTime {
                    link: self.network.link_name(event.link).to_owned(),
                });
            }
            Change::Bandwidth(bps) => vec![format!("bandwidth {ends} {bps}")],
            Change::Pause => {
                return Err(ExportError::LinkElement {
                    link: self.network.link_name(event.link).to_owned(),
                    element: LinkElement::Pause,
                });
            }
            Change::Delay(delay_s) => vec![format!("delay {ends} {delay_s}")],
            Change::Loss(loss) => {
                let rates = self.loss_rates(event.link, &loss)?;
                let each = UNITS.iter().zip(rates).zip(self.lossy_units(event.link)?);
                let each = each.filter(|(_, ever)| *ever);
                let each = each.map(|((unit, rate), _)| format!("loses {ends} {unit} {rate}"));
                each.collect()
            }
            Change::Down => vec![format!("down {ends}")],
            Change::Up => vec![format!("up {ends}")],
        })
    }

    /// Returns the routes that changed between the two times.
    fn new_routes(&self, before_s: f64, at_s: f64) -> String {
        let network = self.network;
        let mut text = String::new();
        for id in network.connections() {
            let spec = network.connection_spec(id);
            let data = network.path_at(id, at_s);
            let mut commands = String::new();
            if data != network.path_at(id, before_s) {
                commands += &self.data_route(spec, &data);
            }
            let back = network.return_path_at(id, at_s);
            let goes_back = is_tcp(spec) && spec.acks != Acks::None;
            if goes_back && back != network.return_path_at(id, before_s) {
                commands += &self.ack_route(spec, &back);
            }
            for command in commands.lines() {
                text += &format!("$ns at {at_s} {{{command}}}\n");
            }
        }
        text
    }

    fn warn_of_events(&self, events: &[EventSpec], warnings: &mut Warnings) {
        let network = self.network;
        for event in events {
            let spec = network.link_spec(event.link);
            if matches!(event.change, Change::Bandwidth(_)) && spec.queue != DropPolicy::DropTail {
                warnings.add(format!(
                    "link {}: if its bandwidth changes, RED uses the first bandwidth for idle times",
                    quote_word(network.link_name(event.link))
                ));
            }
        }
        if events
            .iter()
            .any(|event| matches!(event.change, Change::Loss(_)) && event.at_s > 0.0)
        {
            warnings.add(
                "if the loss of a link changes, the new loss also applies to packets in flight on the link"
                    .to_owned(),
            );
        }
        let later = |event: &&EventSpec| event.at_s > 0.0;
        let delays = || {
            let all = events.iter().filter(later);
            all.filter(|event| matches!(event.change, Change::Delay(_)))
        };
        if delays().next().is_some() {
            warnings.add(
                "if the delay of a link changes, the packet in service keeps the old delay"
                    .to_owned(),
            );
        }
        let reroutes = self.reroutings().next().is_some();
        let what = match (reroutes, delays().next().is_some()) {
            (false, false) => return,
            (true, false) => "failures",
            (false, true) => "changes of delays",
            (true, true) => "failures and changes of delays",
        };
        if self.connections_without_ack_traffic().next().is_some() {
            warnings.add(format!(
                "acknowledgements that are not traffic keep their delay after {what}"
            ));
        }
    }
}
