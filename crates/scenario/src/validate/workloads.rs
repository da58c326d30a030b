//! Validation of workloads.

use netflow_document::{Findings, ProblemKind, SourceSpan, Spanned};
use netflow_network::{Model, NodeId, WindowSource, WorkloadSpec};
use netflow_tcpmodel::Stack;
use netflow_units::Rate;
use netflow_workload::{Application, Distribution, Http, Playback, Telnet, Video};

use super::Validator;
use super::connections::window_source;
use super::stacks::DEFAULT_STACK;
use crate::file::{
    self, ApplicationName, DistributionSetting, Places, Scenario, UsersSourceSetting, Variable,
    distribution,
};

/// Maximum numbers of users and of their requests in a run, because all of them are stored.
const MAX_USERS: f64 = 1e6;
const MAX_RESPONSE_TIMES: f64 = 1e7;
/// Maximum number of pairs of client and server nodes.
const MAX_PLACES: usize = 100;

impl Validator<'_> {
    /// Adds the workloads, after the model was chosen.
    pub(super) fn add_workloads(&mut self, scenario: &Scenario) {
        for (i, workload) in scenario.workloads.iter().enumerate() {
            let before = &scenario.workloads[..i];
            self.add_workload(workload, before);
        }
    }

    fn add_workload(&mut self, workload: &file::Workload, before: &[file::Workload]) {
        if let Some(first) = before.iter().find(|other| other.name == workload.name)
            && workload.name.is_valid()
        {
            let message = format!("workload `{}` exists twice", *workload.name);
            let help = self.first_definition_help(first.name.place());
            let place = workload.name.place();
            return self.error(ProblemKind::Duplicate, place, message, &help);
        }
        let application = application(workload, self.findings);
        let (start_s, stop_s) = self.start_and_stop_s(&workload.start, &workload.stop);
        let packet_size = match &workload.packet_size {
            Some(size) => size.0,
            None => self.settings.packet_size,
        };
        if packet_size.get() < 41.0 {
            let message = format!("packets of {packet_size} are too small for users' data");
            let help = "40 B of a packet are headers: add `packet-size = \"1500 B\"`";
            let place = workload.name.place();
            self.error(ProblemKind::OutOfRange, place, message, help);
        }
        let source = workload.source.as_deref();
        let (window, setting) = match source {
            Some(UsersSourceSetting::Ns2Tcp(window)) => (Some(window), None),
            Some(UsersSourceSetting::Tcp(setting)) => (None, Some(setting)),
            None => (None, None),
        };
        let stack = match (setting, &workload.stack) {
            (Some(setting), _) => self.configured_stack(setting, packet_size),
            (None, Some(name)) => self.stack(name),
            (None, None) => Stack::builtin(DEFAULT_STACK),
        };
        self.warn_of_other_senders(workload);
        let clients = self.places(workload.clients.as_ref(), "clients", workload.name.place());
        let servers = self.places(workload.servers.as_ref(), "servers", workload.name.place());
        let (Some(application), Some(stack), Some(clients), Some(servers)) =
            (application, stack, clients, servers)
        else {
            return;
        };
        let window_source = window.map(|it| window_source(it));
        if let (Some(window), Some(source)) = (window, &window_source) {
            self.check_window(window, source);
        }
        let names_a_stack = setting.is_some() || workload.stack.is_some();
        let spec = WorkloadSpec {
            name: workload.name.to_string(),
            application,
            users_per_s: 1.0 / workload.interarrival.get(),
            clients,
            servers,
            start_s,
            stop_s,
            // A named stack is the TCP of the packet model, too.
            source: window_source.or_else(|| (!names_a_stack).then(WindowSource::default)),
            delayed_ack: window
                .and_then(|window| window.delayed_ack.as_deref().copied())
                .unwrap_or(false),
            packet_size_bytes: packet_size.get(),
            stack,
            flow: None,
            path: None,
            return_path: None,
            class: None,
        };
        if self.findings.has_errors() {
            return;
        }
        self.check_user_count(workload, &spec);
        if self.check_client_is_not_server(workload, &spec) || self.findings.has_errors() {
            return;
        }
        let at = workload.name.place();
        self.warn_of_equal_paths(&spec, at);
        let stand = |places: &Option<Spanned<Places>>| places.as_ref().map_or(at, Spanned::place);
        let ends = [stand(&workload.clients), stand(&workload.servers)];
        for (_, connection) in self.builder.workload(spec) {
            self.register_users_connection(&connection, at, ends);
        }
    }

    /// Reports a client at a server's node.
    fn check_client_is_not_server(
        &mut self,
        workload: &file::Workload,
        spec: &WorkloadSpec,
    ) -> bool {
        let both = spec.clients.iter().find(|node| spec.servers.contains(node));
        let Some(node) = both else { return false };
        let message = format!(
            "`{}` is both in `clients` and in `servers`",
            self.node_name(*node)
        );
        let place = workload.servers.as_ref().map(Spanned::place);
        let place = place.unwrap_or_else(|| workload.name.place());
        self.error(
            ProblemKind::Conflict,
            place,
            message,
            "users and servers must be at different nodes",
        );
        true
    }

    /// Rejects more users or requests than can be simulated and stored.
    fn check_user_count(&mut self, workload: &file::Workload, spec: &WorkloadSpec) {
        let users = spec.expected_users(self.settings.options.duration_s);
        let waits = users * spec.application.mean_exchanges();
        let help = "make `interarrival` longer, or the time from `start` to `stop` shorter";
        let message = if users > MAX_USERS {
            format!("about {users:.1e} users would arrive, but at most {MAX_USERS:e} are supported")
        } else if waits > MAX_RESPONSE_TIMES {
            format!(
                "users would send about {waits:.1e} requests, but at most {MAX_RESPONSE_TIMES:e} response times can be stored"
            )
        } else {
            return;
        };
        let place = workload.interarrival.place();
        self.error(ProblemKind::TooLarge, place, message, help);
    }

    /// Warns of settings of the TCP of another model.
    fn warn_of_other_senders(&mut self, workload: &file::Workload) {
        let window = matches!(self.settings.options.model, Model::Packets(_));
        let source = workload.source.as_ref();
        let is_window =
            |source: &UsersSourceSetting| matches!(source, UsersSourceSetting::Ns2Tcp(_));
        if let Some(source) = source.filter(|it| !window && is_window(it)) {
            let message = "`source` has no effect: only the packet model simulates users' packets";
            let help =
                "write `model = \"packet\"` in [simulation], or use `stack` for the fluid model";
            self.warning(ProblemKind::WithoutEffect, source.place(), message, help);
        }
        let stack = workload.stack.as_ref();
        if let Some(stack) = stack.filter(|_| source.is_some_and(|it| window || !is_window(it))) {
            let message = "`stack` has no effect: `source` replaces it";
            let help = "leave out one of them";
            self.warning(ProblemKind::WithoutEffect, stack.place(), message, help);
        }
    }

    fn places(
        &mut self,
        places: Option<&Spanned<Places>>,
        key: &str,
        otherwise: SourceSpan,
    ) -> Option<Vec<NodeId>> {
        let Some(places) = places else {
            let message = format!("this [[workload]] has no `{key}`");
            let help = format!("add `{key} = \"A\"`");
            self.error(ProblemKind::Missing, otherwise, message, &help);
            return None;
        };
        if places.nodes().len() > MAX_PLACES {
            let message = format!(
                "`{key}` has {} nodes, at most {MAX_PLACES} are allowed",
                places.nodes().len()
            );
            let help = "write several workloads";
            self.error(ProblemKind::TooLarge, places.place(), message, help);
            return None;
        }
        let nodes: Vec<Option<NodeId>> = places
            .nodes()
            .iter()
            .map(|node| self.known_node(node))
            .collect();
        nodes.into_iter().collect()
    }
}

/// Returns the behaviour of users; `None` if a setting is invalid.
pub(crate) fn application(
    workload: &file::Workload,
    findings: &mut Findings,
) -> Option<Application> {
    let application = match *workload.application {
        ApplicationName::Http => {
            let default = Http::default();
            Application::Http(Http {
                request_bytes: distribution_or(&workload.request_size, default.request_bytes),
                reply_bytes: distribution_or(&workload.reply_size, default.reply_bytes),
                files: distribution_or(&workload.files_per_page, default.files),
                think_s: distribution_or(&workload.think_time, default.think_s),
                pages: distribution_or(&workload.pages_per_visit, default.pages),
            })
        }
        ApplicationName::Telnet => {
            let default = Telnet::default();
            Application::Telnet(Telnet {
                keystrokes: distribution_or(&workload.keystrokes, default.keystrokes),
                gap_s: distribution_or(&workload.keystroke_gap, default.gap_s),
                keystroke_bytes: distribution_or(&workload.keystroke_size, default.keystroke_bytes),
                echo_bytes: distribution_or(&workload.echo_size, default.echo_bytes),
            })
        }
        ApplicationName::Video => {
            let default = Playback::default();
            let seconds = |time: &Option<file::Time>, default: f64| {
                time.as_ref().map_or(default, |time| time.get())
            };
            let playback = Playback {
                chunk_s: seconds(&workload.chunk, default.chunk_s),
                ahead_s: seconds(&workload.ahead, default.ahead_s),
            };
            let bitrate_bps = match workload.bitrate.as_ref().map(|rate| rate.0) {
                Some(Rate::BitsPerSecond(rate)) => rate.get(),
                Some(Rate::PacketsPerSecond(_)) | None => Video::BITRATE_BPS,
            };
            let length_s = distribution_or(
                &workload.video_length,
                Distribution::Constant(Video::LENGTH_S),
            );
            let mut video = Video::new(bitrate_bps, length_s, playback);
            video.request_bytes = distribution_or(&workload.request_size, video.request_bytes);
            Application::Video(video)
        }
    };
    let most = application.max_exchanges();
    if most > MAX_RESPONSE_TIMES {
        let message = format!(
            "one user could send {most:.1e} requests, but at most {MAX_RESPONSE_TIMES:e} are supported"
        );
        let help = match application {
            Application::Http(_) => {
                "reduce the largest value of `pages-per-visit` or `files-per-page`"
            }
            Application::Telnet(_) => "reduce the largest value of `keystrokes`",
            Application::Video(_) => {
                "make `chunk` longer, or reduce the largest value of `video-length`"
            }
        };
        let place = workload.name.place();
        findings
            .error(ProblemKind::TooLarge, place, message)
            .set_help(help);
        return None;
    }
    match application.check() {
        Ok(()) => Some(application),
        Err(error) => {
            // Usually the reader has reported it already.
            let place = workload.name.place();
            if !findings.has_errors() {
                findings.error(ProblemKind::OutOfRange, place, error.to_string());
            }
            None
        }
    }
}

fn distribution_or<T: Variable>(
    setting: &Option<Spanned<DistributionSetting<T>>>,
    default: Distribution,
) -> Distribution {
    setting
        .as_ref()
        .map_or(default, |setting| distribution(setting))
}
