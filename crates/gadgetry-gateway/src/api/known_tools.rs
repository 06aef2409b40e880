//! Anthropic's tools that the client executes and whose schema only the model knows: the request contains only a type.
//!
//! Sources: the pages on the bash, text editor, computer use and memory tools in Anthropic's documentation.

use serde_json::{Value, json};

use crate::exchange::Tool;

/// Returns the tool of a type such as `bash_20250124`; `None` for tools that run at Anthropic.
pub(super) fn of(kind: &str, tool: &Value) -> Option<Tool> {
    let (family, _) = kind.rsplit_once('_')?;
    let (name, description, schema) = match family {
        "bash" => (
            "bash",
            "Runs a command in a persistent bash session",
            bash(),
        ),
        "text_editor" => (
            "str_replace_based_edit_tool",
            "Views and edits text files",
            text_editor(),
        ),
        "computer" => (
            "computer",
            "Controls the screen, mouse and keyboard of a computer",
            computer(tool),
        ),
        "memory" => (
            "memory",
            "Stores and retrieves information in files below /memories",
            memory(),
        ),
        _ => return None,
    };
    let name = tool["name"].as_str().unwrap_or(name);
    Some(Tool::function(name, description, schema))
}

fn bash() -> Value {
    json!({
        "type": "object",
        "properties": {
            "command": {"type": "string", "description": "The command; required unless the session is restarted"},
            "restart": {"type": "boolean", "description": "Whether to restart the session"},
        },
    })
}

fn text_editor() -> Value {
    json!({
        "type": "object",
        "properties": {
            "command": {"type": "string", "enum": ["view", "create", "str_replace", "insert", "undo_edit"]},
            "path": {"type": "string", "description": "The file or folder"},
            "view_range": {
                "type": "array",
                "items": {"type": "integer"},
                "description": "view: the first and last line, from 1; -1 is the end",
            },
            "file_text": {"type": "string", "description": "create: the content"},
            "old_str": {"type": "string", "description": "str_replace: text that occurs exactly once"},
            "new_str": {"type": "string", "description": "str_replace: what replaces it; insert: the text"},
            "insert_line": {"type": "integer", "description": "insert: the line after which; 0 is the beginning"},
            "insert_text": {"type": "string", "description": "insert: the text"},
        },
        "required": ["command", "path"],
    })
}

fn memory() -> Value {
    json!({
        "type": "object",
        "properties": {
            "command": {"type": "string", "enum": ["view", "create", "str_replace", "insert", "delete", "rename"]},
            "path": {"type": "string", "description": "A path that begins with /memories"},
            "view_range": {"type": "array", "items": {"type": "integer"}},
            "file_text": {"type": "string"},
            "old_str": {"type": "string"},
            "new_str": {"type": "string"},
            "insert_line": {"type": "integer"},
            "insert_text": {"type": "string"},
            "old_path": {"type": "string"},
            "new_path": {"type": "string"},
        },
        "required": ["command"],
    })
}

fn computer(tool: &Value) -> Value {
    let size = match (
        tool["display_width_px"].as_u64(),
        tool["display_height_px"].as_u64(),
    ) {
        (Some(width), Some(height)) => {
            format!("x and y in pixels; the screen has {width} x {height}")
        }
        _ => "x and y in pixels".to_owned(),
    };
    json!({
        "type": "object",
        "properties": {
            "action": {"type": "string", "enum": [
                "screenshot", "left_click", "right_click", "middle_click", "double_click", "triple_click",
                "left_click_drag", "left_mouse_down", "left_mouse_up", "mouse_move", "cursor_position", "type", "key",
                "hold_key", "scroll", "wait", "zoom",
            ]},
            "coordinate": {"type": "array", "items": {"type": "integer"}, "description": size},
            "start_coordinate": {"type": "array", "items": {"type": "integer"}},
            "text": {"type": "string", "description": "What to type, or the key"},
            "scroll_direction": {"type": "string", "enum": ["up", "down", "left", "right"]},
            "scroll_amount": {"type": "integer"},
            "duration": {"type": "number", "description": "Seconds"},
            "region": {"type": "array", "items": {"type": "integer"}},
        },
        "required": ["action"],
    })
}
