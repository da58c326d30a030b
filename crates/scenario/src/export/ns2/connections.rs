//! Section of an ns-2 script with the connections and their routes.

use netflow_network::{
    ACK_BYTES, Acks, Application, ConnectionId, ConnectionSpec, DEFAULT_MAX_WINDOW_PKTS, LinkId,
    Source, TcpVariant, WindowSource,
};
use netflow_profile::Profile;

use super::super::tcl::{list, quote_word};
use super::super::{ExportError, Ns2Tcp};
use super::{Export, MAX_TRANSFER_PKTS, Warnings};

/// Rate in bit/s of exponential sources without bursts, which send one packet after each gap: high
/// enough that the packet itself takes no time.
const INSTANT_RATE_BPS: f64 = 1e15;

/// Packet size in bytes above all real ones.
const MAX_PACKET_BYTES: f64 = 1e9;

pub(super) fn is_tcp(spec: &ConnectionSpec) -> bool {
    matches!(
        spec.source,
        Source::Profile(_) | Source::Ns2Tcp(_) | Source::Tcp(_)
    )
}

impl Export<'_> {
    pub(super) fn connections(&self, warnings: &mut Warnings) -> Result<String, ExportError> {
        let mut text = String::from("\n# ---- connections and their routes\n");
        for id in self.network.connections() {
            let spec = self.network.connection_spec(id);
            text.push('\n');
            match &spec.source {
                Source::Profile(profile) => text += &self.tcp(spec, &**profile)?,
                Source::Ns2Tcp(window) => text += &self.window(id, window)?,
                Source::Tcp(stack) => {
                    return Err(ExportError::Stack {
                        connection: spec.name.clone(),
                        stack: stack.name.clone(),
                    });
                }
                Source::Users(traffic) => {
                    return Err(ExportError::Workload {
                        workload: traffic.workload.name.clone(),
                    });
                }
                Source::Constant { rate_pps } => {
                    text += &self.udp(spec, constant(spec, *rate_pps)?)?;
                }
                Source::Poisson { rate_pps } => {
                    text += &self.udp(spec, poisson(spec, *rate_pps)?)?
                }
            }
            text += &self.routes(id, spec);
        }
        let beside = self.connections_without_ack_traffic().count();
        if beside > 0 {
            warnings.add(format!(
                "acknowledgements that are not traffic ({beside} connections) do not pass any queue"
            ));
        }
        self.warn_of_constant_sizes(warnings);
        Ok(text)
    }

    /// Returns the TCP variant with the settings of the source.
    fn window(&self, id: ConnectionId, source: &WindowSource) -> Result<String, ExportError> {
        let spec = self.network.connection_spec(id);
        let tcp = self.options.tcp.unwrap_or(match source.variant {
            TcpVariant::Tahoe => Ns2Tcp::Tahoe,
            TcpVariant::Reno => Ns2Tcp::Reno,
            TcpVariant::NewReno => Ns2Tcp::Newreno,
            TcpVariant::Vegas => Ns2Tcp::Vegas,
            TcpVariant::Cubic => Ns2Tcp::Cubic,
        });
        let default = WindowSource::default();
        let mut variables = String::new();
        let mut set = |variable, value: f64, default: f64| {
            if value != default {
                variables += &format!(" {variable} {value}");
            }
        };
        let initial = source.initial_window_pkts;
        set("windowInit_", initial, default.initial_window_pkts);
        set("rtxcur_init_", source.initial_rto_s, default.initial_rto_s);
        set("minrto_", source.min_rto_s, default.min_rto_s);
        set("maxrto_", source.max_rto_s, default.max_rto_s);
        // Connections without a delay of their own use the exporter's.
        set(
            "overhead_",
            self.network.send_jitter_s(id).unwrap_or_default(),
            0.0,
        );
        if tcp == Ns2Tcp::Vegas {
            set(
                "v_alpha_",
                source.vegas_alpha_pkts,
                default.vegas_alpha_pkts,
            );
            set("v_beta_", source.vegas_beta_pkts, default.vegas_beta_pkts);
            set(
                "v_gamma_",
                source.vegas_gamma_pkts,
                default.vegas_gamma_pkts,
            );
        }
        self.sender(spec, tcp, spec.max_window_pkts, &variables)
    }

    fn tcp(&self, spec: &ConnectionSpec, profile: &dyn Profile) -> Result<String, ExportError> {
        let by_name = || {
            Ns2Tcp::of_profile(profile.name()).ok_or_else(|| ExportError::UnknownTcp {
                connection: spec.name.clone(),
                profile: profile.name().to_owned(),
            })
        };
        let tcp = self.options.tcp.map_or_else(by_name, Ok)?;
        let window = spec.max_window_pkts.or(profile.window_limit_pkts());
        self.sender(spec, tcp, window, "")
    }

    fn sender(
        &self,
        spec: &ConnectionSpec,
        tcp: Ns2Tcp,
        window: Option<f64>,
        variables: &str,
    ) -> Result<String, ExportError> {
        let allowed = match tcp {
            Ns2Tcp::Vegas => "a whole number of bytes, at least 1",
            _ => "a whole number of bytes, at least 41 (40 are header)",
        };
        let payload = payload(spec, tcp.header_bytes(), allowed)?;
        let agent = format!(
            "{{{} packetSize_ {payload} window_ {}{variables}}}",
            tcp.agent(),
            window.unwrap_or(DEFAULT_MAX_WINDOW_PKTS)
        );
        let mut options = options(spec);
        if let Some(size) = size_in_packets(spec)? {
            options += &format!(" size {size}");
        }
        if tcp == Ns2Tcp::Cubic {
            options += " control cubic";
        }
        let source = match spec.application {
            Application::Bulk => None,
            Application::Poisson { rate_pps } => Some(exponential(payload, rate_pps)),
            Application::OnOff {
                rate_pps,
                on_s,
                off_s,
            } => Some(on_off(payload, rate_pps, [on_s, off_s])),
        };
        if let Some(source) = source {
            if spec.size_pkts.is_some() {
                return Err(ExportError::PoissonSize {
                    connection: spec.name.clone(),
                });
            }
            options += &format!(" application {{{source}}}");
        }
        let sink = tcp.sink(spec.acks == Acks::EverySecond);
        Ok(format!(
            "tcp {} {agent} {sink} {{{options}}}\n",
            self.name_and_ends(spec)
        ))
    }

    fn udp(&self, spec: &ConnectionSpec, source: String) -> Result<String, ExportError> {
        Ok(format!(
            "udp {} {{{source}}} {{{}}}\n",
            self.name_and_ends(spec),
            options(spec)
        ))
    }

    /// Returns the initial routes.
    fn routes(&self, id: ConnectionId, spec: &ConnectionSpec) -> String {
        let mut text = self.data_route(spec, &self.network.path(id));
        if is_tcp(spec) {
            let back = self.network.return_path(id);
            text += &match spec.acks {
                Acks::None => self.ack_delay_command(spec, &back),
                _ => self.ack_route(spec, &back),
            };
        }
        text
    }

    /// Returns a change of the data's route.
    pub(super) fn data_route(&self, spec: &ConnectionSpec, way: &[LinkId]) -> String {
        if way.is_empty() {
            return format!("no-route {}\n", self.name_and_ends(spec));
        }
        self.route(spec, way)
    }

    /// Returns a change of the acknowledgements' route; without a path they keep the former one.
    pub(super) fn ack_route(&self, spec: &ConnectionSpec, way: &[LinkId]) -> String {
        if way.is_empty() {
            String::new()
        } else {
            self.route(spec, way)
        }
    }

    fn route(&self, spec: &ConnectionSpec, way: &[LinkId]) -> String {
        let nodes = list(self.path_nodes(way));
        format!("route {} {nodes}\n", quote_word(&spec.name))
    }

    fn ack_delay_command(&self, spec: &ConnectionSpec, back: &[LinkId]) -> String {
        let delays_s = self.network.delays_at_s(0.0);
        let delay_s: f64 = back
            .iter()
            .map(|&id| {
                let link = self.network.link_spec(id);
                delays_s[id.index()] + ACK_BYTES * 8.0 / link.bandwidth_bps
            })
            .sum();
        let name = |node| quote_word(self.network.node_name(node));
        let (from, to) = (name(spec.to), name(spec.from));
        format!("beside {} {from} {to} {delay_s}\n", quote_word(&spec.name))
    }

    pub(super) fn name_and_ends(&self, spec: &ConnectionSpec) -> String {
        let name = |node| quote_word(self.network.node_name(node));
        let (from, to) = (name(spec.from), name(spec.to));
        format!("{} {from} {to}", quote_word(&spec.name))
    }

    /// Warns of sizes of unresponsive sources: netflow sends until the size was delivered, but ns-2's
    /// source has no feedback and ends when it was sent.
    fn warn_of_constant_sizes(&self, warnings: &mut Warnings) {
        for id in self.network.connections() {
            let spec = self.network.connection_spec(id);
            if !is_tcp(spec) && spec.size_pkts.is_some() {
                warnings.add(format!(
                    "connection {}: it ends when its size is sent, not when it is delivered",
                    quote_word(&spec.name)
                ));
            }
        }
    }
}

/// Returns start, stop and count.
fn options(spec: &ConnectionSpec) -> String {
    let mut options = format!("start {}", spec.start_s);
    if let Some(stop_s) = spec.stop_s {
        options += &format!(" stop {stop_s}");
    }
    if spec.count != 1 {
        options += &format!(" count {}", spec.count);
    }
    options
}

/// Returns ns-2's packet size: the size on the wire without the header that ns-2 adds.
fn payload(
    spec: &ConnectionSpec,
    header_bytes: f64,
    allowed: &'static str,
) -> Result<f64, ExportError> {
    let bytes = spec.packet_size_bytes;
    let payload = bytes - header_bytes;
    if bytes.fract() == 0.0 && payload >= 1.0 && bytes <= MAX_PACKET_BYTES {
        Ok(payload)
    } else {
        Err(ExportError::PacketSize {
            connection: spec.name.clone(),
            packet_bytes: bytes,
            allowed,
        })
    }
}

/// Returns the transfer size, rounded up to whole packets.
fn size_in_packets(spec: &ConnectionSpec) -> Result<Option<f64>, ExportError> {
    let size = spec.size_pkts.map(f64::ceil);
    match size {
        Some(size_pkts) if size_pkts > MAX_TRANSFER_PKTS => Err(ExportError::Size {
            connection: spec.name.clone(),
            size_pkts,
        }),
        size => Ok(size),
    }
}

fn constant(spec: &ConnectionSpec, rate_pps: f64) -> Result<String, ExportError> {
    let bytes = payload(spec, 0.0, "a whole number of bytes, at least 1")?;
    let rate_bps = rate_pps * 8.0 * bytes;
    let mut source =
        format!("Application/Traffic/CBR packetSize_ {bytes} rate_ {rate_bps} random_ 0");
    if let Some(size) = size_in_packets(spec)? {
        source += &format!(" maxpkts_ {size}");
    }
    Ok(source)
}

fn poisson(spec: &ConnectionSpec, rate_pps: f64) -> Result<String, ExportError> {
    if spec.size_pkts.is_some() {
        return Err(ExportError::PoissonSize {
            connection: spec.name.clone(),
        });
    }
    let bytes = payload(spec, 0.0, "a whole number of bytes, at least 1")?;
    Ok(exponential(bytes, rate_pps))
}

/// Returns a source with exponential on and off periods.
fn on_off(bytes: f64, rate_pps: f64, [on_s, off_s]: [f64; 2]) -> String {
    format!(
        "Application/Traffic/Exponential packetSize_ {bytes} burst_time_ {on_s} idle_time_ {off_s} rate_ {}",
        rate_pps * 8.0 * bytes
    )
}

/// Returns a source of packets with exponential gaps.
fn exponential(bytes: f64, rate_pps: f64) -> String {
    format!(
        "Application/Traffic/Exponential packetSize_ {bytes} burst_time_ 0 idle_time_ {} rate_ {INSTANT_RATE_BPS:e}",
        1.0 / rate_pps
    )
}
