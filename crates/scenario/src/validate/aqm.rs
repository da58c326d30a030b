//! Conversion of active queue management settings.

use netflow_document::Spanned;
use netflow_queues::{AckFilter, Aqm, Cake, CoDel, DualPi2, FqCoDel, Isolation, Pie, Tins};
use netflow_units::ns;

use crate::file::{
    self, AckFilterSetting, CoDelDiscipline, IsolationSetting, QueueSetting, RttSetting, Time,
    TinsSetting,
};

/// Returns the active queue management of a queue, if any, with this bandwidth of a shaper.
pub(super) fn aqm(setting: &QueueSetting, shaper_bps: Option<f64>) -> Option<Aqm> {
    match setting {
        QueueSetting::CoDel(it) => Some(match it.discipline {
            CoDelDiscipline::CoDel => Aqm::CoDel(codel(it, CoDel::default())),
            CoDelDiscipline::FqCoDel => {
                let default = FqCoDel::default();
                let quantum = it.quantum.as_ref();
                Aqm::FqCoDel(FqCoDel {
                    codel: codel(it, default.codel),
                    flows: it
                        .flows
                        .as_deref()
                        .map_or(default.flows, |&flows| flows as u32),
                    quantum_bytes: quantum
                        .map_or(default.quantum_bytes, |quantum| quantum.get() as u32),
                })
            }
        }),
        QueueSetting::Pie(it) => {
            let default = Pie::default();
            Some(Aqm::Pie(Pie {
                target_ns: time_ns(&it.target).unwrap_or(default.target_ns),
                update_ns: time_ns(&it.update).unwrap_or(default.update_ns),
                ecn: it.ecn.as_deref().copied().unwrap_or(default.ecn),
                ..default
            }))
        }
        QueueSetting::DualPi2(it) => {
            let default = DualPi2::default();
            let number = |setting: &Option<Spanned<f64>>, default| {
                setting.as_deref().copied().unwrap_or(default)
            };
            let update_ns = time_ns(&it.update).unwrap_or(default.update_ns);
            Some(Aqm::DualPi2(DualPi2 {
                target_ns: time_ns(&it.target).unwrap_or(default.target_ns),
                update_ns,
                // RFC 9332, appendix A.1: the gain per update is proportional to the interval.
                alpha_hz: default.alpha_hz * update_ns as f64 / default.update_ns as f64,
                coupling: number(&it.coupling, default.coupling),
                step_threshold_ns: time_ns(&it.step).unwrap_or(default.step_threshold_ns),
                step_min_pkts: (it.step_queue.as_ref())
                    .map_or(default.step_min_pkts, |pkts| pkts.get() as usize),
                classic_share: number(&it.classic_share, default.classic_share),
                ..default
            }))
        }
        QueueSetting::Cake(it) => {
            let default = Cake::default();
            Some(Aqm::Cake(Cake {
                bandwidth_bps: shaper_bps,
                rtt_ns: match it.rtt.as_deref() {
                    None => default.rtt_ns,
                    Some(RttSetting::Preset(preset)) => ns(preset.seconds()),
                    Some(RttSetting::Time(time)) => ns(time.get()),
                },
                isolation: it.isolation.as_deref().map_or(default.isolation, isolation),
                tins: it.tins.as_deref().map_or(default.tins, tins),
                ack_filter: match it.ack_filter.as_deref() {
                    None => default.ack_filter,
                    Some(AckFilterSetting::Off) => AckFilter::Off,
                    Some(AckFilterSetting::On) => AckFilter::On,
                    Some(AckFilterSetting::Aggressive) => AckFilter::Aggressive,
                },
            }))
        }
        QueueSetting::Plain(_) | QueueSetting::Red(_) | QueueSetting::Rio(_) => None,
    }
}

fn isolation(setting: &IsolationSetting) -> Isolation {
    match setting {
        IsolationSetting::FlowBlind => Isolation::FlowBlind,
        IsolationSetting::SrcHost => Isolation::SrcHost,
        IsolationSetting::DstHost => Isolation::DstHost,
        IsolationSetting::Hosts => Isolation::Hosts,
        IsolationSetting::Flows => Isolation::Flows,
        IsolationSetting::DualSrcHost => Isolation::DualSrcHost,
        IsolationSetting::DualDstHost => Isolation::DualDstHost,
        IsolationSetting::TripleIsolate => Isolation::TripleIsolate,
    }
}

fn tins(setting: &TinsSetting) -> Tins {
    match setting {
        TinsSetting::BestEffort => Tins::BestEffort,
        TinsSetting::Precedence => Tins::Precedence,
        TinsSetting::DiffServ3 => Tins::DiffServ3,
        TinsSetting::DiffServ4 => Tins::DiffServ4,
        TinsSetting::DiffServ8 => Tins::DiffServ8,
    }
}

fn codel(setting: &file::CoDel, default: CoDel) -> CoDel {
    CoDel {
        target_ns: time_ns(&setting.target).unwrap_or(default.target_ns),
        interval_ns: time_ns(&setting.interval).unwrap_or(default.interval_ns),
        ecn: setting.ecn.as_deref().copied().unwrap_or(default.ecn),
        ce_threshold_ns: time_ns(&setting.ce_threshold).or(default.ce_threshold_ns),
    }
}

fn time_ns(setting: &Option<Time>) -> Option<u64> {
    setting.as_ref().map(|time| ns(time.get()))
}
