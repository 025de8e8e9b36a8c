//! What a model sees of a tool: name, description, JSON Schema.

use serde_json::{Map, Value, json};

use super::{ArgumentType, Parameter, Tool};
use crate::prompt::message::ToolSpec;
use crate::record::StepStatus;

pub(super) fn spec(tool: &Tool) -> ToolSpec {
    ToolSpec {
        name: tool.name.clone(),
        description: tool.description.clone(),
        parameters: object(&tool.parameters),
        free_form: tool.is_free_form(),
    }
}

fn object(parameters: &[Parameter]) -> Value {
    let properties: Map<String, Value> = parameters
        .iter()
        .map(|parameter| {
            let description = &parameter.description;
            let value = match parameter.kind {
                ArgumentType::Texts => {
                    json!({"type": "array", "items": {"type": "string"}, "description": description})
                }
                ArgumentType::Steps => {
                    let names: Vec<&str> = StepStatus::NAMES.iter().map(|(name, _)| *name).collect();
                    let fields =
                        json!({"step": {"type": "string"}, "status": {"type": "string", "enum": names}});
                    let step = json!({
                        "type": "object",
                        "properties": fields,
                        "required": ["step", "status"],
                        "additionalProperties": false
                    });
                    json!({"type": "array", "items": step, "description": description})
                }
                ArgumentType::Path | ArgumentType::Text | ArgumentType::Bounded(_) => {
                    json!({"type": "string", "description": description})
                }
                ArgumentType::Number(..) => json!({"type": "integer", "description": description}),
                ArgumentType::Flag => json!({"type": "boolean", "description": description}),
            };
            (parameter.name.clone().into_owned(), value)
        })
        .collect();
    let required: Vec<&str> =
        parameters.iter().filter(|one| one.required).map(|one| one.name.as_ref()).collect();
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}
