//! Calibration of a scenario's fluid model by the packet model.

use std::borrow::Cow;

use netflow_scenario::CompiledScenario;
use netflow_simulation::RunError;

/// Returns the scenario with its network calibrated, or the scenario itself if it has no
/// calibration. Returns `None` if `stop` became true, which is checked regularly.
///
/// # Errors
/// Those of [`netflow_simulation::calibrated`].
pub fn calibrated<'s>(
    scenario: &'s CompiledScenario,
    stop: &(dyn Fn() -> bool + Sync),
) -> Result<Option<Cow<'s, CompiledScenario>>, RunError> {
    if scenario.network.calibration_due().is_none() {
        return Ok(Some(Cow::Borrowed(scenario)));
    }
    let network = netflow_simulation::calibrated(&scenario.network, &scenario.options, stop)?;
    let ready = network.map(|network| CompiledScenario {
        network,
        ..scenario.clone()
    });
    Ok(ready.map(Cow::Owned))
}
