//! Messages that only one request carries: hints to the model about where the run stands.

use std::sync::Arc;

/// Where a run stands when a request is made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Standing {
    /// The number of the request, from 1.
    pub iteration: u32,
    /// How many there may be.
    pub max_iterations: u32,
    /// What was spent so far, in US dollars.
    pub spent: f64,
    /// What may be spent.
    pub budget: Option<f64>,
    /// Calls in the reply before; `None` before the first.
    pub calls_before: Option<u32>,
}

/// Makes a message that only the next request carries, behind everything else; `None` for no message.
pub type Trailing = Arc<dyn Fn(&Standing) -> Option<String> + Send + Sync>;

/// When the model is told how many replies are left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HintTiming {
    /// With every request.
    Always,
    /// From half of the replies on.
    #[default]
    Late,
    /// From four fifths on.
    Urgent,
}

/// Tells the model how many replies it has left.
///
/// ```
/// use gadgetry_proto::run::{HintTiming, Standing, iteration_hint};
/// let hint = iteration_hint(HintTiming::Late);
/// let at = |iteration| Standing { iteration, max_iterations: 4, spent: 0.0, budget: None, calls_before: None };
/// assert_eq!(hint(&at(1)), None);
/// assert_eq!(hint(&at(4)).as_deref(), Some("[Reply 4 of 4: the last one. Finish now.]"));
/// ```
pub fn iteration_hint(timing: HintTiming) -> Trailing {
    let percent = match timing {
        HintTiming::Always => 0,
        HintTiming::Late => 50,
        HintTiming::Urgent => 80,
    };
    Arc::new(move |standing| {
        let Standing {
            iteration,
            max_iterations,
            ..
        } = *standing;
        let progress = u64::from(iteration) * 100 / u64::from(max_iterations.max(1));
        (progress >= percent).then(|| {
            let advice = match max_iterations.saturating_sub(iteration) {
                0 => ": the last one. Finish now.".to_owned(),
                left if progress >= 80 => format!(": {left} left. Come to an end."),
                left => format!(": {left} left."),
            };
            format!("[Reply {iteration} of {max_iterations}{advice}]")
        })
    })
}

/// Tells the model that several blocks fit into one reply, after a reply with at least one call but fewer than `few`.
pub fn parallel_hint(few: u32) -> Trailing {
    Arc::new(move |standing| {
        let calls = standing
            .calls_before
            .filter(|calls| (1..few).contains(calls));
        calls.map(|_| "[Calls that do not need each other's results can stand in one reply; they run at the same time.]".to_owned())
    })
}
