//! What the naive scheduler decides when a reply ends.

use gadgetry_proto::id::InvocationId;

use super::naive::Naive;
use super::naive_call::{State, To, why};

impl Naive {
    pub(crate) fn end_reply(&mut self) {
        // Every call's verdict first, from the same picture; then the edges that lead nowhere go.
        let mut verdicts = Vec::new();
        for (index, call) in self.calls.iter().enumerate() {
            let mut circular = Vec::new();
            let mut missing = Vec::new();
            let mut others = Vec::new();
            for (number, edge) in call.edges.iter().enumerate() {
                match edge.to {
                    To::Call(to) if self.leads_to(to, index, &mut Vec::new()) => {
                        circular.push(number);
                    }
                    To::Later => match self
                        .latest(&edge.name)
                        .map(|call| self.calls[call].state.clone())
                    {
                        None => {
                            missing.push(number);
                            others.push((number, never_executed(&edge.name)));
                        }
                        Some(state) => others.push((number, why(&state, &edge.name).unwrap())),
                    },
                    To::Call(_) | To::Nothing => {}
                }
            }
            verdicts.push((circular, missing, others));
        }
        for (index, (circular, missing, others)) in verdicts.into_iter().enumerate() {
            let own = self.calls[index].job.invocation_id.clone();
            let names = |numbers: &[usize]| {
                let names: Vec<&str> = numbers
                    .iter()
                    .map(|n| self.calls[index].edges[*n].name.as_str())
                    .collect();
                names.join(", ")
            };
            let verdict = match (circular.first(), missing.is_empty()) {
                (Some(first), true) => {
                    let first = self.calls[index].edges[*first].name.to_string();
                    let error = format!(
                        "Circular dependency detected: \"{own}\" depends on \"{first}\" which also depends on \"{own}\" (directly or indirectly)"
                    );
                    Some((first, error))
                }
                (Some(first), false) => {
                    let first = self.calls[index].edges[*first].name.to_string();
                    let error = format!(
                        "Dependencies unresolvable: circular=[{}], missing=[{}]",
                        names(&circular),
                        names(&missing)
                    );
                    Some((first, error))
                }
                (None, _) => others.first().map(|(number, error)| {
                    (
                        self.calls[index].edges[*number].name.to_string(),
                        error.clone(),
                    )
                }),
            };
            for number in circular
                .into_iter()
                .chain(others.into_iter().map(|(number, _)| number))
            {
                self.calls[index].edges[number].to = To::Nothing;
            }
            if let Some((dependency, error)) = verdict {
                self.propose_one(index, dependency, error);
            }
        }
    }

    /// Whether `from` waits for `to`, directly or not.
    fn leads_to(&self, from: usize, to: usize, seen: &mut Vec<usize>) -> bool {
        if self.calls[from].state != State::Open || seen.contains(&from) {
            return false;
        }
        seen.push(from);
        from == to
            || self.calls[from].edges.iter().any(|edge| match edge.to {
                To::Call(next) => self.leads_to(next, to, seen),
                To::Later | To::Nothing => false,
            })
    }
}

fn never_executed(name: &InvocationId) -> String {
    format!(
        "Dependency \"{name}\" was never executed - check that the invocation ID exists and is spelled correctly"
    )
}
