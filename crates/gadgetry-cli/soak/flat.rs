//! Decides whether what was sampled is flat.

/// Fewer samples say nothing.
pub(crate) const FEWEST: usize = 9;

/// The medians of the second and of the last third of the samples; the first third is warming up. `None` for fewer than
/// [`FEWEST`].
pub(crate) fn medians(samples: &[u64]) -> Option<(u64, u64)> {
    if samples.len() < FEWEST {
        return None;
    }
    let third = samples.len() / 3;
    let last = samples.len() - third;
    Some((median(&samples[third..last]), median(&samples[last..])))
}

fn median(samples: &[u64]) -> u64 {
    let mut sorted = samples.to_vec();
    sorted.sort_unstable();
    sorted[sorted.len() / 2]
}

/// Whether the last third is at most a twentieth and `slack` above the second.
pub(crate) fn is_flat((second, last): (u64, u64), slack: u64) -> bool {
    last <= second + second / 20 + slack
}
