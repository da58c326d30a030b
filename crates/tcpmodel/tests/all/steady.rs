//! Steady-state formulas compared with a table.

use netflow_tcpmodel::steady::{
    Path, mathis, pftk_approximate, pftk_send_rate, pftk_throughput, pftk_window,
};

use crate::reference::Table;

#[test]
fn formulas_agree_with_the_table() {
    for row in Table::read("tcp_formulas.csv", 120).rows() {
        let path = Path {
            loss: row.get("p"),
            rtt_s: row.get("rtt"),
            timeout_s: row.get("t0"),
            segments_per_ack: row.get("b"),
        };
        path.check().unwrap();
        let limit = row.get("wmax");
        for (column, found) in [
            ("mathis_C_sqrt3_2b", mathis(&path)),
            ("pftk_approx_nowmax", pftk_approximate(&path)),
            ("pftk_full_send", pftk_send_rate(&path, limit)),
            ("pftk_full_thru", pftk_throughput(&path, limit)),
            ("EW", pftk_window(&path)),
        ] {
            row.assert_close(column, found, 1e-9);
        }
    }
}

#[test]
fn invalid_paths_are_rejected() {
    let good = Path {
        loss: 0.01,
        rtt_s: 0.1,
        timeout_s: 1.0,
        segments_per_ack: 2.0,
    };
    let cases = [
        (
            Path { loss: 0.0, ..good },
            "loss probability is 0, allowed is above 0 (1e-15) and below 1",
        ),
        (
            Path { rtt_s: 0.0, ..good },
            "round-trip time (s) is 0, allowed is 1e-9 to 1e6 s",
        ),
        (
            Path {
                timeout_s: -1.0,
                ..good
            },
            "timeout (s) is -1, allowed is 0 to 1e6 s",
        ),
        (
            Path {
                segments_per_ack: f64::NAN,
                ..good
            },
            "segments per acknowledgement is NaN, allowed is 1 to 255",
        ),
    ];
    for (path, message) in cases {
        assert_eq!(path.check().unwrap_err().to_string(), message);
    }
}
