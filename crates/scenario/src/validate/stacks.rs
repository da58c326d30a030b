//! TCP stacks by name or from files.

use std::sync::Arc;

use netflow_document::{ProblemKind, Spanned, Words};
use netflow_files::{FileKind, read_text};
use netflow_network::{HEADER_BYTES, Source};
use netflow_tcpmodel::{CongestionControl, Stack, builtin_names};
use netflow_units::Bytes;

use super::{Validator, profiles, tables};
use crate::file::StackSetting;

/// Name of the default stack.
pub(super) const DEFAULT_STACK: &str = "linux-6";

impl Validator<'_> {
    /// Returns a stack by its name, or from its file.
    pub(super) fn stack(&mut self, name: &Spanned<String>) -> Option<Stack> {
        if let Some(stack) = Stack::builtin(name) {
            return Some(stack);
        }
        if profiles::is_path(name) {
            return self.stack_file(name);
        }
        let message = format!("unknown stack `{}`", **name);
        let names = builtin_names().iter().copied();
        let help = self.findings.allowed_names_help(name, "stacks", names);
        let help = format!("{help}; a stack file's name ends with .toml");
        self.error(ProblemKind::UnknownName, name.place(), message, &help);
        None
    }

    fn stack_file(&mut self, name: &Spanned<String>) -> Option<Stack> {
        let path = self.resolve_path(name)?;
        let text = match read_text(&path, FileKind::Stack) {
            Ok(text) => text,
            Err(refusal) => {
                let (sources, findings) = (&mut *self.sources, &mut *self.findings);
                tables::report_unreadable(
                    sources,
                    findings,
                    &path,
                    name.place(),
                    "the stack",
                    refusal,
                );
                return None;
            }
        };
        let (file, text) = self.sources.add(&path, text);
        Stack::read_in(&text, file, self.findings)
    }

    /// Returns the source of a connection with a stack.
    pub(super) fn stack_source(
        &mut self,
        setting: &StackSetting,
        packet_size: Bytes,
    ) -> Option<Source> {
        let stack = self.configured_stack(setting, packet_size)?;
        Some(Source::Tcp(Arc::new(stack)))
    }

    /// Returns a stack with its settings.
    pub(super) fn configured_stack(
        &mut self,
        setting: &StackSetting,
        packet_size: Bytes,
    ) -> Option<Stack> {
        let mut stack = self.stack(&setting.stack)?;
        let others = format!("`{DEFAULT_STACK}` supports it");
        if let Some(congestion) = &setting.congestion {
            if let Some(why) = stack.congestion_error(**congestion) {
                self.error(ProblemKind::Conflict, congestion.place(), why, &others);
            }
            stack.set_congestion(**congestion);
        }
        if let Some(window) = &setting.initial_window {
            stack.initial_window_pkts = window.get() as u32;
            if window.get().fract() > 0.0 {
                let part = (window.place(), "initial-window", ***window);
                self.fractional_packets.push(part);
            }
        }
        if let Some(buffer) = &setting.send_buffer {
            stack.send_buffer_bytes = Some(buffer.get().round() as u32);
            if !stack.has_congestion_controls() {
                let message = format!(
                    "`send-buffer` has no effect: `{}` does not model it",
                    stack.name
                );
                self.warning(ProblemKind::WithoutEffect, buffer.place(), message, "");
            }
        }
        if let Some(hystart) = &setting.hystart {
            stack.hystart = **hystart;
            if stack.congestion != CongestionControl::Cubic {
                let message = "`hystart` has no effect: only CUBIC has HyStart".to_owned();
                self.warning(ProblemKind::WithoutEffect, hystart.place(), message, "");
            }
        }
        if let Some(host_delay) = &setting.host_delay {
            stack.host_delay_s = host_delay.get();
        }
        if let Some(offload) = &setting.segmentation_offload {
            stack.segmentation_offload = **offload;
            if **offload && !stack.has_congestion_controls() {
                let message = format!(
                    "`segmentation-offload` has no effect: `{}` does not model it",
                    stack.name
                );
                self.warning(ProblemKind::WithoutEffect, offload.place(), message, "");
            }
        }
        if let Some(ecn) = &setting.ecn {
            stack.ecn = **ecn;
            let why = if **ecn {
                stack.ecn_error()
            } else {
                (stack.ecn_rules().is_required)
                    .then(|| format!("`{}` needs ECN marks", stack.congestion.name()))
            };
            match why {
                Some(why) => {
                    let help = if **ecn { &others } else { "leave out `ecn`" };
                    self.error(ProblemKind::Conflict, ecn.place(), why, help);
                }
                None if **ecn => {
                    self.first_ecn_sender.get_or_insert((
                        ecn.place(),
                        "`ecn` has no effect".to_owned(),
                        false,
                    ));
                }
                None => {}
            }
        }
        if let Some(l4s) = &setting.l4s {
            let why = if **l4s {
                stack.l4s_error()
            } else {
                (stack.ecn_rules().is_l4s)
                    .then(|| format!("`{}` always sends ECT(1)", stack.congestion.name()))
            };
            if let Some(why) = why {
                let help = "use `congestion = \"prague\"` or `\"dctcp\"`, or leave out `l4s`";
                self.error(ProblemKind::Conflict, l4s.place(), why, help);
            }
            stack.l4s = **l4s;
        }
        if stack.congestion == CongestionControl::Bbr3 && stack.ecn && !stack.ecn_low {
            let place = (setting.ecn.as_ref()).map_or(setting.stack.place(), |ecn| ecn.place());
            let message = "`bbr3` does not respond to ECN marks".to_owned();
            let help = "leave out `ecn`, or set `ecn-low = true` in a stack file";
            self.warning(ProblemKind::WithoutEffect, place, message, help);
        }
        if stack.ecn_rules().is_required {
            let place = (setting.congestion.as_ref())
                .map_or(setting.stack.place(), |congestion| congestion.place());
            let what = format!("`{}` reacts only to losses", stack.congestion.name());
            self.first_ecn_sender
                .get_or_insert((place, what, stack.is_l4s()));
            if stack.congestion == CongestionControl::Dctcp && !stack.is_l4s() {
                self.first_dctcp.get_or_insert(place);
            }
        }
        if packet_size.get() <= HEADER_BYTES {
            let message = format!(
                "packets of {packet_size} are too small for data after {} of headers",
                Bytes(HEADER_BYTES)
            );
            let help = "make `packet-size` larger";
            self.error(
                ProblemKind::OutOfRange,
                setting.stack.place(),
                message,
                help,
            );
        }
        Some(stack)
    }
}
