//! `application` in `[[connection]]`

use netflow_document::{Table, Value, one_of, table};

use super::{RateSetting, Time, allowed};

/// Application that provides the data of a TCP source. Without it the data is unlimited.
#[one_of(what = "an application", instead = application_help)]
pub enum ApplicationSetting {
    /// Packets at random times (a Poisson process); packets that TCP cannot send at once wait at the sender. The
    /// fluid model uses the mean rate.
    #[key(allowed = allowed::RATE, example = "100 pkt/s")]
    Poisson(RateSetting),
    /// Bursts at a constant rate with pauses between them. The fluid model uses the mean rate.
    #[key(example = "{ rate = \"200 pkt/s\", on = \"0.5 s\", off = \"1.5 s\" }")]
    OnOff(OnOffSetting),
}

/// `on-off = { rate = "200 pkt/s", on = "0.5 s", off = "1.5 s" }`
#[table]
pub struct OnOffSetting {
    /// Rate during a burst.
    #[key(allowed = allowed::RATE, example = "200 pkt/s")]
    pub rate: RateSetting,
    /// Mean length of a burst; lengths are exponentially distributed.
    #[key(allowed = allowed::INTERVAL, example = "0.5 s")]
    pub on: Time,
    /// Mean length of a pause; lengths are exponentially distributed.
    #[key(allowed = allowed::DELAY, example = "1.5 s")]
    pub off: Time,
}

impl ApplicationSetting {
    fn stand_in() -> ApplicationSetting {
        ApplicationSetting::OnOff(OnOffSetting::stand_in())
    }
}

fn application_help(_: &str, _: &Value<'_>) -> String {
    "write `application = { poisson = \"100 pkt/s\" }`, or leave it out for unlimited data"
        .to_owned()
}
