//! The conversation: history, result envelopes, and limits on what gadgets put into it.
