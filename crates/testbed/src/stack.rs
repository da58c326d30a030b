//! The TCP stack at both ends: Linux's, with its settings.

/// Settings of Linux's TCP in a network namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StackOptions {
    /// `cubic`, `reno`, `bbr` …
    pub congestion_control: String,
    /// Initial congestion window in segments; `None`: the kernel's, 10.
    pub initial_window: Option<u32>,
    /// Selective acknowledgements, duplicate ones among them.
    pub sack: bool,
    /// RACK (RFC 8985) finds losses by time.
    pub rack: bool,
    /// Tail loss probes, and early retransmit.
    pub tail_loss_probe: bool,
    /// F-RTO finds needless timeouts (RFC 5682).
    pub frto: bool,
    /// Timestamps (RFC 7323).
    pub timestamps: bool,
    /// Windows above 64 KB (RFC 7323).
    pub window_scaling: bool,
    /// Slow start again after a pause.
    pub slow_start_after_idle: bool,
    /// Receive buffers grow with the connection's needs.
    pub receive_buffer_grows: bool,
    /// Receive buffer of a connection: least, at first and most, in bytes. About half of it becomes
    /// the window.
    pub receive_buffer_bytes: [u32; 3],
    /// Send buffer of a connection: least, at first and most, in bytes.
    pub send_buffer_bytes: [u32; 3],
}

/// The presets by name.
pub const STACKS: [&str; 2] = ["linux-6", "legacy"];

impl StackOptions {
    /// The defaults of Linux 6, CUBIC among them.
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

    /// As near to the Linux of 1998 as today's allows: Reno from two segments, no option of TCP but
    /// the segment size, losses found by duplicate acknowledgements and timeouts only, a window of
    /// 16 KB.
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

    /// A preset by its name, one of [`STACKS`].
    pub fn preset(name: &str) -> Option<StackOptions> {
        match name {
            "linux-6" => Some(StackOptions::linux_6()),
            "legacy" => Some(StackOptions::legacy()),
            _ => None,
        }
    }

    /// What to write under `/proc/sys/net/ipv4`. The congestion control is not among it: a namespace
    /// may set only what the whole machine allows to all, while a route may name any.
    #[cfg_attr(not(target_os = "linux"), allow(dead_code))]
    pub(crate) fn settings(&self) -> Vec<(&'static str, String)> {
        let switch = |on: bool| u8::from(on).to_string();
        let sizes = |sizes: [u32; 3]| sizes.map(|size| size.to_string()).join(" ");
        let or_off = |on: bool, value: &str| if on { value } else { "0" }.to_owned();
        vec![
            // Neither windows nor round-trip times are remembered from connection to connection.
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
            // Many short connections must not run out of ports.
            ("ip_local_port_range", "1024 65535".to_owned()),
        ]
    }
}

impl Default for StackOptions {
    fn default() -> StackOptions {
        StackOptions::linux_6()
    }
}
