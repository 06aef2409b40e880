//! Ten tasks of a shop's assistant, and the gadgets that they need.

use serde_json::{Map, Value, json};

/// A gadget's name, description, and parameters with their types and descriptions.
pub(crate) struct Tool {
    pub(crate) name: &'static str,
    pub(crate) description: &'static str,
    pub(crate) parameters: &'static [(&'static str, &'static str, &'static str)],
}

impl Tool {
    /// JSON Schema of the parameters; all are required.
    pub(crate) fn schema(&self) -> Value {
        let properties = self.parameters.iter().map(|(name, kind, description)| {
            let property = json!({ "type": kind, "description": description });
            ((*name).to_owned(), property)
        });
        let required: Vec<&str> = self.parameters.iter().map(|(name, ..)| *name).collect();
        json!({
            "type": "object",
            "properties": properties.collect::<Map<_, _>>(),
            "required": required,
        })
    }
}

pub(crate) const TOOLS: [Tool; 7] = [
    Tool {
        name: "FindCustomer",
        description: "Finds the account of a customer by e-mail address",
        parameters: &[(
            "email",
            "string",
            "The address that the customer signed up with",
        )],
    },
    Tool {
        name: "LastOrder",
        description: "Returns the latest order of an account: its number, parcel and items",
        parameters: &[("customer", "string", "The id of the account")],
    },
    Tool {
        name: "TrackParcel",
        description: "Returns where a parcel is, and when it is expected",
        parameters: &[("parcel", "string", "The number of the parcel")],
    },
    Tool {
        name: "Stock",
        description: "Returns how many pieces of an item are in the warehouse",
        parameters: &[("item", "string", "The number of the item")],
    },
    Tool {
        name: "PriceOf",
        description: "Returns the price of an item in a currency",
        parameters: &[
            ("item", "string", "The number of the item"),
            ("currency", "string", "Three letters, such as EUR"),
        ],
    },
    Tool {
        name: "Refund",
        description: "Starts a refund for an order, and returns its number and amount",
        parameters: &[
            ("order", "string", "The number of the order"),
            ("reason", "string", "One sentence for the books"),
        ],
    },
    Tool {
        name: "SendOffer",
        description: "Sends an offer to a customer by e-mail",
        parameters: &[
            ("customer", "string", "The id of the account"),
            ("item", "string", "The number of the item"),
            ("pieces", "integer", "The pieces that can be had"),
            ("price", "string", "The price of a piece, with its currency"),
        ],
    },
];

/// A call: its id, gadget, parameters, in which `${id/pointer}` is a part of another call's result, and its own result.
pub(crate) struct Call {
    pub(crate) id: &'static str,
    pub(crate) gadget: &'static str,
    pub(crate) parameters: &'static [(&'static str, &'static str)],
    pub(crate) result: &'static str,
}

/// The shape of a task's calls.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Three calls, each with a part of the result before it.
    Chain,
    /// Calls that need nothing of each other, and perhaps one that needs them all.
    Fan,
    /// One call.
    Single,
}

pub(crate) struct Task {
    pub(crate) name: &'static str,
    pub(crate) shape: Shape,
    pub(crate) question: &'static str,
    pub(crate) calls: &'static [Call],
    pub(crate) answer: &'static str,
}

const CUSTOMER: Call = Call {
    id: "customer",
    gadget: "FindCustomer",
    parameters: &[("email", "buyer@example.com")],
    result: r#"{"id":"c-1842","language":"en","since":"2021-03-04"}"#,
};

const ORDER: Call = Call {
    id: "order",
    gadget: "LastOrder",
    parameters: &[("customer", "${customer/id}")],
    result: r#"{"number":"o-77120","parcel":"p-5519-20","items":["i-310"],"total":"84.90 EUR"}"#,
};

const PARCEL: Call = Call {
    id: "parcel",
    gadget: "TrackParcel",
    parameters: &[("parcel", "${order/parcel}")],
    result: r#"{"at":"sorting centre","expected":"Thursday before noon"}"#,
};

const STOCK: Call = Call {
    id: "stock",
    gadget: "Stock",
    parameters: &[("item", "i-310")],
    result: r#"{"pieces":14}"#,
};

const PRICE: Call = Call {
    id: "price",
    gadget: "PriceOf",
    parameters: &[("item", "i-310"), ("currency", "EUR")],
    result: r#"{"price":"84.90 EUR"}"#,
};

const OFFER: Call = Call {
    id: "offer",
    gadget: "SendOffer",
    parameters: &[
        ("customer", "c-1842"),
        ("item", "i-310"),
        ("pieces", "${stock/pieces}"),
        ("price", "${price/price}"),
    ],
    result: r#"{"sent":true}"#,
};

pub(crate) const TASKS: [Task; 10] = [
    Task {
        name: "where is the parcel",
        shape: Shape::Chain,
        question: "Where is the last parcel of buyer@example.com?",
        calls: &[CUSTOMER, ORDER, PARCEL],
        answer: "It is at the sorting centre, and is expected on Thursday before noon.",
    },
    Task {
        name: "refund the last order",
        shape: Shape::Chain,
        question: "Refund the last order of buyer@example.com: it arrived broken.",
        calls: &[
            CUSTOMER,
            ORDER,
            Call {
                id: "refund",
                gadget: "Refund",
                parameters: &[
                    ("order", "${order/number}"),
                    ("reason", "The item arrived broken."),
                ],
                result: r#"{"refund":"r-208","amount":"84.90 EUR"}"#,
            },
        ],
        answer: "Refund r-208 over 84.90 EUR has been started.",
    },
    Task {
        name: "stock of what was ordered",
        shape: Shape::Chain,
        question: "buyer@example.com wants the same again. Is the item of the last order in stock?",
        calls: &[
            CUSTOMER,
            ORDER,
            Call {
                parameters: &[("item", "${order/items/0}")],
                ..STOCK
            },
        ],
        answer: "Yes: 14 pieces are in stock.",
    },
    Task {
        name: "price of what was ordered",
        shape: Shape::Chain,
        question: "What does the item of the last order of buyer@example.com cost in dollars today?",
        calls: &[
            CUSTOMER,
            ORDER,
            Call {
                parameters: &[("item", "${order/items/0}"), ("currency", "USD")],
                result: r#"{"price":"92.10 USD"}"#,
                ..PRICE
            },
        ],
        answer: "It costs 92.10 USD today.",
    },
    Task {
        name: "prices of three items",
        shape: Shape::Fan,
        question: "What do the items i-310, i-311 and i-455 cost in euros?",
        calls: &[
            PRICE,
            Call {
                id: "second",
                parameters: &[("item", "i-311"), ("currency", "EUR")],
                result: r#"{"price":"12.00 EUR"}"#,
                ..PRICE
            },
            Call {
                id: "third",
                parameters: &[("item", "i-455"), ("currency", "EUR")],
                result: r#"{"price":"7.50 EUR"}"#,
                ..PRICE
            },
        ],
        answer: "84.90 EUR, 12.00 EUR and 7.50 EUR.",
    },
    Task {
        name: "stock and price of an item",
        shape: Shape::Fan,
        question: "Is the item i-310 in stock, and what does it cost in euros?",
        calls: &[STOCK, PRICE],
        answer: "14 pieces are in stock, for 84.90 EUR each.",
    },
    Task {
        name: "offer to an account",
        shape: Shape::Fan,
        question: "Offer all that we have of the item i-310 to the account c-1842, in euros.",
        calls: &[STOCK, PRICE, OFFER],
        answer: "The offer has been sent: 14 pieces for 84.90 EUR each.",
    },
    Task {
        name: "offer to an address",
        shape: Shape::Fan,
        question: "Offer all that we have of the item i-310 to buyer@example.com, in euros.",
        calls: &[
            CUSTOMER,
            STOCK,
            PRICE,
            Call {
                parameters: &[
                    ("customer", "${customer/id}"),
                    ("item", "i-310"),
                    ("pieces", "${stock/pieces}"),
                    ("price", "${price/price}"),
                ],
                ..OFFER
            },
        ],
        answer: "The offer has been sent: 14 pieces for 84.90 EUR each.",
    },
    Task {
        name: "stock of an item",
        shape: Shape::Single,
        question: "How many pieces of the item i-310 are in stock?",
        calls: &[STOCK],
        answer: "14 pieces.",
    },
    Task {
        name: "account of a customer",
        shape: Shape::Single,
        question: "Since when is buyer@example.com a customer?",
        calls: &[CUSTOMER],
        answer: "Since the fourth of March 2021.",
    },
];

impl Call {
    /// Ids of the calls whose results the parameters refer to.
    pub(crate) fn needs(&self) -> impl Iterator<Item = &'static str> {
        let references = self
            .parameters
            .iter()
            .filter_map(|(_, value)| reference(value));
        references.map(|(id, _)| id)
    }

    /// The parameters as a model writes them that has seen the results.
    pub(crate) fn resolved(&self, task: &Task) -> Map<String, Value> {
        let resolve = |value: &'static str| {
            let Some((id, pointer)) = reference(value) else {
                return value.into();
            };
            let result: Value =
                serde_json::from_str(task.call(id).result).expect("results are JSON");
            let part = result.pointer(&format!("/{pointer}"));
            part.expect("the result has it").clone()
        };
        let parameters = self.parameters.iter();
        parameters
            .map(|(name, value)| ((*name).to_owned(), resolve(value)))
            .collect()
    }
}

impl Task {
    fn call(&self, id: &str) -> &'static Call {
        let found = self.calls.iter().find(|call| call.id == id);
        found.expect("references are to calls of the task")
    }

    /// The calls of each reply of a model that sees results only in its next request, and makes as many calls at once as it can.
    pub(crate) fn layers(&self) -> Vec<Vec<&'static Call>> {
        let mut layers: Vec<Vec<&'static Call>> = Vec::new();
        for call in self.calls {
            let layer_of = |id| {
                layers
                    .iter()
                    .position(|layer| layer.iter().any(|it| it.id == id))
            };
            let after = call.needs().filter_map(layer_of).max();
            let layer = after.map_or(0, |layer| layer + 1);
            if layer == layers.len() {
                layers.push(Vec::new());
            }
            layers[layer].push(call);
        }
        layers
    }
}

/// The id and the pointer of `${id/pointer}`.
fn reference(value: &'static str) -> Option<(&'static str, &'static str)> {
    value.strip_prefix("${")?.strip_suffix('}')?.split_once('/')
}
