//! The tests of the engine: one program, because each program links the engine again. Without the feature `engine`,
//! those of the parser.

mod accumulate;
mod accumulate_properties;
#[cfg(feature = "engine")]
mod allocations;
#[cfg(feature = "engine")]
mod convo_compaction;
#[cfg(feature = "engine")]
mod convo_history;
#[cfg(feature = "engine")]
mod convo_neutral;
#[cfg(feature = "engine")]
mod convo_output;
#[cfg(feature = "engine")]
mod convo_text;
#[cfg(feature = "engine")]
mod convo_tokens;
#[cfg(feature = "engine")]
mod convo_vectors;
#[cfg(feature = "engine")]
mod convo_viewer;
#[cfg(feature = "engine")]
mod cost_tree;
#[cfg(feature = "engine")]
mod dialect_gate;
#[cfg(feature = "engine")]
mod dialect_invariants;
#[cfg(feature = "engine")]
mod dialect_numbers;
#[cfg(feature = "engine")]
mod dialect_quotes;
#[cfg(feature = "engine")]
mod dialects;
#[cfg(feature = "engine")]
mod digits;
#[cfg(feature = "engine")]
mod earlier_errors;
#[cfg(feature = "engine")]
mod events_schema;
mod first_text;
#[cfg(feature = "engine")]
mod grammar;
mod module_order;
mod naive_oracle;
mod parser_vectors;
mod pipeline_vectors;
#[cfg(feature = "engine")]
mod prompt_catalog;
#[cfg(feature = "engine")]
mod prompt_custom_blocks;
#[cfg(feature = "engine")]
mod prompt_params;
#[cfg(feature = "engine")]
mod properties;
mod reply_hostile;
mod reply_properties;
#[cfg(feature = "engine")]
mod reply_reader;
#[cfg(feature = "engine")]
mod run_caps;
#[cfg(feature = "engine")]
mod run_hostile;
#[cfg(feature = "engine")]
mod run_parts;
#[cfg(feature = "engine")]
mod run_queries;
#[cfg(feature = "engine")]
mod run_rules;
#[cfg(feature = "engine")]
mod run_save_load;
#[cfg(feature = "engine")]
mod run_snapshot;
#[cfg(feature = "engine")]
mod run_vectors;
#[cfg(feature = "engine")]
mod sched_rules;
#[cfg(feature = "engine")]
mod sched_time;
#[cfg(feature = "engine")]
mod sched_twin;
mod support;
mod transform;
mod usage;
