//! Scenarios whose fluid packets calibrate first.

use std::borrow::Cow;

use netflow_scenario::Prepared;
use netflow_simulation::RunError;

/// The scenario with its network as packets calibrate it, if it asks for that; itself if it does not. `None` if
/// it was stopped, which is asked again and again.
///
/// # Errors
/// Those of [`netflow_simulation::calibrated`].
pub fn calibrated<'s>(
    scenario: &'s Prepared,
    stop: &(dyn Fn() -> bool + Sync),
) -> Result<Option<Cow<'s, Prepared>>, RunError> {
    if scenario.network.calibration_due().is_none() {
        return Ok(Some(Cow::Borrowed(scenario)));
    }
    let network = netflow_simulation::calibrated(&scenario.network, &scenario.options, stop)?;
    let ready = network.map(|network| Prepared {
        network,
        ..scenario.clone()
    });
    Ok(ready.map(Cow::Owned))
}
