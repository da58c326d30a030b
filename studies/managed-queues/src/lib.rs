//! CoDel, FQ-CoDel, PIE and RED among Reno, CUBIC, DCTCP and BBR: netflow's packets beside ns-3.

pub mod ablation;
pub mod cell;
pub mod page;
pub mod row;
pub mod run;
pub mod verdict;
