//! CoDel, FQ-CoDel, PIE and RED with Reno, CUBIC, DCTCP and BBR: netflow's packet model compared
//! with ns-3.

pub mod ablation;
pub mod cell;
pub mod page;
pub mod row;
pub mod run;
pub mod verdict;
