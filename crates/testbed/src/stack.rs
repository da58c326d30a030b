//! Settings of the Linux TCP stack at both ends.

/// Settings of Linux's TCP in a network namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StackOptions {
    /// Congestion control: `cubic`, `reno`, `bbr` …
    pub congestion_control: String,
    /// Initial congestion window in segments; `None` for the kernel's default, 10.
    pub initial_window: Option<u32>,
    /// True for selective acknowledgements, including duplicate ones (DSACK).
    pub sack: bool,
    /// True for time-based loss detection, RACK (RFC 8985).
    pub rack: bool,
    /// True for tail loss probes and early retransmit.
    pub tail_loss_probe: bool,
    /// True for the detection of spurious timeouts, F-RTO (RFC 5682).
    pub frto: bool,
    /// True for timestamps (RFC 7323).
    pub timestamps: bool,
    /// True for windows above 64 KB (RFC 7323).
    pub window_scaling: bool,
    /// True for slow start after an idle period.
    pub slow_start_after_idle: bool,
    /// True for automatic growth of receive buffers.
    pub receive_buffer_grows: bool,
    /// Receive buffer of a connection: minimum, initial and maximum, in bytes. About half of it becomes
    /// the window.
    pub receive_buffer_bytes: [u32; 3],
    /// Send buffer of a connection: minimum, initial and maximum, in bytes.
    pub send_buffer_bytes: [u32; 3],
}

/// Names of the presets.
pub const STACKS: [&str; 2] = ["linux-6", "legacy"];

impl StackOptions {
    /// Returns the defaults of Linux 6, which include CUBIC.
    pub fn linux_6() -> StackOptions {
        StackOptions {
            congestion_control: "cubic".to_owned(),
            initial_window: None,
            sack: true,
            rack: true,
            tail_loss_probe: true,
            frto: true,
            timestamps: true,
            window_scaling: true,
            slow_start_after_idle: true,
            receive_buffer_grows: true,
            receive_buffer_bytes: [4096, 131_072, 33_554_432],
            send_buffer_bytes: [4096, 16_384, 4_194_304],
        }
    }

    /// Returns settings that approximate the Linux of 1998 on a current kernel. Reno starts from two
    /// segments with a window of 16 KB. The segment size is the only TCP option. Losses are detected by
    /// duplicate acknowledgements and timeouts only.
    pub fn legacy() -> StackOptions {
        StackOptions {
            congestion_control: "reno".to_owned(),
            initial_window: Some(2),
            sack: false,
            rack: false,
            tail_loss_probe: false,
            frto: false,
            timestamps: false,
            window_scaling: false,
            slow_start_after_idle: true,
            receive_buffer_grows: false,
            receive_buffer_bytes: [4096, 32_768, 32_768],
            send_buffer_bytes: [4096, 65_536, 4_194_304],
        }
    }

    /// Returns a preset by its name, one of [`STACKS`].
    pub fn preset(name: &str) -> Option<StackOptions> {
        match name {
            "linux-6" => Some(StackOptions::linux_6()),
            "legacy" => Some(StackOptions::legacy()),
            _ => None,
        }
    }

    /// Returns the files under `/proc/sys/net/ipv4` and their values. The congestion control is not among
    /// them: a namespace may set only those that the machine allows to all, but a route may name any.
    #[cfg_attr(not(target_os = "linux"), allow(dead_code))]
    pub(crate) fn settings(&self) -> Vec<(&'static str, String)> {
        let switch = |on: bool| u8::from(on).to_string();
        let sizes = |sizes: [u32; 3]| sizes.map(|size| size.to_string()).join(" ");
        let or_off = |on: bool, value: &str| if on { value } else { "0" }.to_owned();
        vec![
            // Windows and round-trip times are not saved between connections.
            ("tcp_no_metrics_save", switch(true)),
            ("tcp_sack", switch(self.sack)),
            ("tcp_dsack", switch(self.sack)),
            ("tcp_recovery", switch(self.rack)),
            ("tcp_early_retrans", or_off(self.tail_loss_probe, "3")),
            ("tcp_frto", or_off(self.frto, "2")),
            ("tcp_timestamps", switch(self.timestamps)),
            ("tcp_window_scaling", switch(self.window_scaling)),
            (
                "tcp_slow_start_after_idle",
                switch(self.slow_start_after_idle),
            ),
            ("tcp_moderate_rcvbuf", switch(self.receive_buffer_grows)),
            ("tcp_rmem", sizes(self.receive_buffer_bytes)),
            ("tcp_wmem", sizes(self.send_buffer_bytes)),
            // A wide range, so that many short connections do not exhaust the ports.
            ("ip_local_port_range", "1024 65535".to_owned()),
        ]
    }
}

impl Default for StackOptions {
    fn default() -> StackOptions {
        StackOptions::linux_6()
    }
}
