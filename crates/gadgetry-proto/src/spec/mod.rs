//! stub
use serde_json::Value;
use crate::error::ParseError;
use crate::limits::Limits;
#[derive(Clone, Debug)]
pub struct Schema;
pub fn parameters<'a>(arguments: impl Iterator<Item = (&'a str, &'a str)>, _s: Option<&Schema>, _m: &str, _l: &Limits) -> Result<Value, ParseError> {
    let mut map = serde_json::Map::new();
    for (p, v) in arguments { map.insert(p.to_owned(), Value::String(v.to_owned())); }
    Ok(Value::Object(map))
}
pub fn coerce_json(value: Value, _s: Option<&Schema>) -> Value { value }
