//! The tree as a table.

use std::fmt::Write as _;

use crate::event::FinishReason;
use crate::message::Purpose;
use crate::tree::{CostTree, Node, NodeId, NodeKind, Status};

/// The columns before the last, which is not padded.
const HEADS: [&str; 5] = ["total $", "own $", "tokens in", "out", "ms"];

/// Nodes below this depth are not indented further.
const DEEPEST: u32 = 40;

impl CostTree {
    /// The tree as a table with a line for each node, indented by depth.
    ///
    /// Its columns are the cost with everything below and alone (`+`: at least that, as a price is not known; `?`: not
    /// known), tokens with everything below, milliseconds (`-` before the end), and what the node is. Control characters
    /// in text of the model are replaced.
    pub fn render(&self) -> String {
        let mut rows = Vec::with_capacity(self.nodes.len());
        let mut left = vec![NodeId::ROOT];
        while let Some(id) = left.pop() {
            let node = &self.nodes[id.index()];
            rows.push((cells(node), label(node)));
            left.extend(node.children.iter().rev());
        }
        let mut widths = HEADS.map(str::len);
        for (cells, _) in &rows {
            for (width, cell) in widths.iter_mut().zip(cells) {
                *width = cell.len().max(*width);
            }
        }
        let mut table = String::new();
        line(&mut table, &HEADS.map(str::to_owned), widths, "what");
        for (cells, label) in &rows {
            line(&mut table, cells, widths, label);
        }
        table
    }
}

fn line(table: &mut String, cells: &[String; 5], widths: [usize; 5], label: &str) {
    for (cell, width) in cells.iter().zip(widths) {
        // Writing to a `String` cannot fail.
        let _ = write!(table, "{cell:>width$}  ");
    }
    table.extend([label, "\n"]);
}

fn cells(node: &Node) -> [String; 5] {
    let subtotal = &node.subtotal;
    [
        format!(
            "{:.6}{}",
            subtotal.known,
            if subtotal.unpriced > 0 { "+" } else { "" }
        ),
        node.own_cost()
            .map_or_else(|| "?".to_owned(), |dollars| format!("{dollars:.6}")),
        subtotal.usage.input_tokens.to_string(),
        subtotal.usage.output_tokens.to_string(),
        node.duration_ms()
            .map_or_else(|| "-".to_owned(), |milliseconds| milliseconds.to_string()),
    ]
}

fn label(node: &Node) -> String {
    let what = match &node.kind {
        NodeKind::Run {
            subagent, reason, ..
        } => {
            let how = match (reason, node.ended) {
                (Some(reason), _) => reason_words(*reason),
                (None, None) => "running",
                (None, Some(_)) => "abandoned",
            };
            match subagent {
                Some(number) => format!("subagent {number}: {how}"),
                None => format!("run: {how}"),
            }
        }
        NodeKind::ModelCall {
            iteration,
            attempt,
            purpose,
            status,
            ..
        } => {
            let what = match purpose {
                Purpose::Reply => "reply",
                Purpose::Summary => "summary",
            };
            let again = if *attempt > 1 {
                format!(", attempt {attempt}")
            } else {
                String::new()
            };
            format!("{what} {iteration}{again}: {}", status_words(*status))
        }
        NodeKind::Gadget {
            invocation_id,
            gadget_name,
            status,
            ..
        } => {
            let name = match gadget_name.as_str() {
                "" => "?",
                name => name,
            };
            let call = format!("{name} {invocation_id}").replace(char::is_control, "\u{fffd}");
            format!("{call}: {}", status_words(*status))
        }
    };
    let depth = node.depth.min(DEEPEST) as usize;
    "  ".repeat(depth) + &what
}

fn status_words(status: Status) -> &'static str {
    match status {
        Status::Waiting => "waiting",
        Status::Running => "running",
        Status::Succeeded => "done",
        Status::Failed => "failed",
        Status::Skipped => "skipped",
        Status::Abandoned => "abandoned",
    }
}

fn reason_words(reason: FinishReason) -> &'static str {
    match reason {
        FinishReason::Completed => "completed",
        FinishReason::TaskCompleted => "task completed",
        FinishReason::MaxIterations => "out of iterations",
        FinishReason::Truncated => "truncated",
        FinishReason::Withheld => "withheld",
        FinishReason::ModelError => "model error",
        FinishReason::Cancelled => "cancelled",
        FinishReason::BudgetExceeded => "budget exceeded",
        FinishReason::GadgetError => "gadget error",
        FinishReason::Stopped => "stopped",
    }
}
