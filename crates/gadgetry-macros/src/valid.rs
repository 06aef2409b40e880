//! Validates that a function can be a gadget.

use quote::format_ident;
use syn::ext::IdentExt as _;
use syn::visit::{self, Visit};
use syn::{
    Attribute, FnArg, Ident, Pat, PatIdent, PatType, Path, Signature, Type, TypeImplTrait,
    TypeReference,
};

use crate::ast::{Function, Parameter};
use crate::attr::{self, DefaultValue, Options};
use crate::hidden;
use crate::mistakes::Mistakes;
use crate::words;

/// A gadget that can be written, if there were no mistakes.
pub(crate) struct Gadget {
    /// The struct. `None` if the function's name makes none, or if no type may have it.
    pub(crate) type_name: Option<Ident>,
    /// The name that the model calls it by.
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) options: Options,
    /// The inputs of the function, in order.
    pub(crate) inputs: Vec<Input>,
}

/// The input for one parameter.
pub(crate) enum Input {
    Argument(Box<Argument>),
    Context {
        by_reference: bool,
    },
    /// A value of the run, of this type, by reference.
    Value(Box<Type>),
}

/// A field of the parameters.
pub(crate) struct Argument {
    pub(crate) name: Ident,
    pub(crate) ty: Type,
    pub(crate) attributes: Vec<Attribute>,
    pub(crate) default: Option<DefaultValue>,
}

impl Gadget {
    /// A free function, whose gadget is a type next to it.
    pub(crate) fn check(function: &Function, options: Options, mistakes: &mut Mistakes) -> Self {
        let signature = &function.signature;
        if let Some(receiver) = signature.receiver() {
            mistakes.add(
                receiver,
                "a gadget is a free function; for methods, put `#[gadgets]` on the impl block in place of `#[gadget]`",
            );
        }
        let type_name = type_name(signature, mistakes);
        Self::of(function, type_name, options, mistakes)
    }

    /// A method of a block with `#[gadgets]`. Its gadget has no name in the program.
    pub(crate) fn method(function: &Function, options: Options, mistakes: &mut Mistakes) -> Self {
        let signature = &function.signature;
        match signature.receiver() {
            None => mistakes.add(
                &signature.ident,
                "a gadget of `#[gadgets]` is a method with `&self`; move other functions to a separate impl block",
            ),
            Some(receiver) if receiver.mutability.is_some() || receiver.reference.is_none() => {
                mistakes.add(
                    receiver,
                    "a gadget takes `&self`, because its calls run at the same time; what they change needs a lock",
                );
            }
            Some(_) => {}
        }
        if let Some(path) = &options.preview
            && method_name(path).is_none()
        {
            mistakes.add(
                path,
                "in `#[gadgets]`, `preview` names a method of the type, in an impl block of its own: `preview = preview_of_delete`",
            );
        }
        let type_name = named_after(signature, mistakes);
        Self::of(function, type_name, options, mistakes)
    }

    fn of(
        function: &Function,
        type_name: Option<Ident>,
        options: Options,
        mistakes: &mut Mistakes,
    ) -> Self {
        let signature = &function.signature;
        check_signature(signature, mistakes);
        if options.blocking
            && let Some(asyncness) = &signature.asyncness
        {
            mistakes.add(
                asyncness,
                "a blocking gadget is not `async`: it runs on a thread where it may block",
            );
        }
        let name = name(type_name.as_ref(), &options, mistakes);
        let description = description(function, &options, mistakes);
        let inputs = inputs(&function.parameters, mistakes);
        Self {
            type_name,
            name,
            description,
            options,
            inputs,
        }
    }
}

/// Returns the name of the method that a path names: `method` or `Self::method`.
pub(crate) fn method_name(path: &Path) -> Option<&Ident> {
    let last = path.segments.last()?;
    let of_self = path.segments.len() == 2 && path.segments[0].ident == "Self";
    (path.get_ident().is_some() || of_self).then_some(&last.ident)
}

fn check_signature(signature: &Signature, mistakes: &mut Mistakes) {
    let qualifiers = [
        signature.constness.map(|it| ("const", it.span)),
        signature.unsafety.map(|it| ("unsafe", it.span)),
        signature
            .abi
            .as_ref()
            .map(|it| ("extern", it.extern_token.span)),
    ];
    for (word, span) in qualifiers.into_iter().flatten() {
        let message = format!("a gadget cannot be `{word}`");
        mistakes.push(syn::Error::new(span, message));
    }
    for input in &signature.inputs {
        let FnArg::Typed(PatType { attrs, .. }) = input else {
            continue;
        };
        for attribute in attrs {
            if ["cfg", "cfg_attr"]
                .iter()
                .any(|it| attribute.path().is_ident(it))
            {
                mistakes.add(
                    attribute,
                    "an argument cannot be conditional; make the whole gadget conditional",
                );
            }
        }
    }
    let generics = &signature.generics;
    if !generics.params.is_empty() {
        mistakes.add(
            &generics.params,
            "a gadget has no generics: the model needs to know the types of its arguments",
        );
    } else if let Some(clause) = &generics.where_clause {
        mistakes.add(clause, "a gadget has no generics, so no `where` clause");
    }
    if let Some(variadic) = &signature.variadic {
        mistakes.add(variadic, "a gadget has a fixed number of parameters");
    }
}

/// The function's name as that of a type.
fn named_after(signature: &Signature, mistakes: &mut Mistakes) -> Option<Ident> {
    let function = &signature.ident;
    let name = words::pascal_case(&function.unraw().to_string());
    if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
        mistakes.add(
            function,
            "no type can be named after this function; give it a name like `get_weather`",
        );
        return None;
    }
    // `Self` is the only keyword in this shape.
    let raw_free = if name == "Self" { "Self_" } else { &name };
    Some(format_ident!("{raw_free}", span = function.span()))
}

/// The same, where the type is visible next to the function.
fn type_name(signature: &Signature, mistakes: &mut Mistakes) -> Option<Ident> {
    let function = &signature.ident;
    let type_name = named_after(signature, mistakes)?;
    if signature.receiver().is_some() {
        // No type can be next to it.
        return None;
    }
    let name = type_name.to_string();
    if function == &name {
        let message =
            format!("the gadget's type is called `{name}`; name the function in snake_case");
        mistakes.add(function, message);
        return None;
    }
    if hidden::hides(signature, &name) {
        let message = format!(
            "the gadget's type is called `{name}` after this function, which hides another `{name}`; rename the \
             function, say `do_{plain}` (`name = \"…\"` changes only what the model reads)",
            plain = function.unraw(),
        );
        mistakes.add(function, message);
        return None;
    }
    Some(type_name)
}

/// The rules of `gadgetry::proto::schema::GadgetSpec::is_valid_name`.
fn name(type_name: Option<&Ident>, options: &Options, mistakes: &mut Mistakes) -> String {
    let Some(name) = &options.name else {
        return type_name.map(ToString::to_string).unwrap_or_default();
    };
    let text = name.value();
    if text.is_empty() {
        mistakes.add(
            name,
            "a gadget has a name; without `name` it is that of its type",
        );
    } else if text.starts_with("!!!")
        || text.contains(|c: char| c == ':' || c.is_whitespace() || c.is_control())
    {
        mistakes.add(
            name,
            "a gadget's name has no `:`, whitespace or control character, and does not begin with `!!!`",
        );
    }
    text
}

fn description(function: &Function, options: &Options, mistakes: &mut Mistakes) -> String {
    let (text, place) = match &options.description {
        Some(given) => (given.value().trim().to_owned(), given.span()),
        None => (
            words::doc_text(&function.attributes),
            function.signature.ident.span(),
        ),
    };
    if text.is_empty() {
        let message = "a gadget needs a description, for the model: write a doc comment that says what it does and when to use it, or `description = \"…\"`";
        mistakes.push(syn::Error::new(place, message));
    }
    text
}

fn inputs(parameters: &[Parameter], mistakes: &mut Mistakes) -> Vec<Input> {
    let mut inputs = Vec::new();
    let mut has_context = false;
    for parameter in parameters {
        if attr::is_value(&parameter.own) {
            inputs.extend(value(parameter, mistakes));
            continue;
        }
        let Some(by_reference) = context(&parameter.ty) else {
            let argument = argument(parameter, mistakes);
            inputs.extend(argument.map(|it| Input::Argument(Box::new(it))));
            continue;
        };
        if has_context {
            mistakes.add(&parameter.ty, "a gadget is given one `ExecutionContext`");
        }
        has_context = true;
        for attribute in parameter.own.iter().chain(&parameter.field) {
            if !attribute.path().is_ident("doc") {
                mistakes.add(
                    attribute,
                    "the context is not an argument of the model, so it has no attributes",
                );
            }
        }
        inputs.push(Input::Context { by_reference });
    }
    inputs
}

/// A parameter that the run fills, not the model.
fn value(parameter: &Parameter, mistakes: &mut Mistakes) -> Option<Input> {
    let others = parameter.field.iter().chain(parameter.own.iter().skip(1));
    for attribute in others.filter(|it| !it.path().is_ident("doc")) {
        mistakes.add(
            attribute,
            "a value of the run is not an argument of the model, so it has no other attributes",
        );
    }
    match &parameter.ty {
        Type::Reference(reference)
            if reference.mutability.is_none() && reference.lifetime.is_none() =>
        {
            Some(Input::Value(reference.elem.clone()))
        }
        ty => {
            mistakes.add(
                ty,
                "a value of the run is shared by its calls: take `&T`, where `T` is the type that was given to `.with(…)`",
            );
            None
        }
    }
}

/// Returns whether `ExecutionContext` is taken by reference, if the type is one.
fn context(ty: &Type) -> Option<bool> {
    match ty {
        Type::Path(path) => {
            let last = path.path.segments.last()?;
            (last.ident == "ExecutionContext" && last.arguments.is_none()).then_some(false)
        }
        Type::Reference(reference) if reference.mutability.is_none() => {
            context(&reference.elem).map(|_| true)
        }
        Type::Group(group) => context(&group.elem),
        Type::Paren(paren) => context(&paren.elem),
        _ => None,
    }
}

fn argument(parameter: &Parameter, mistakes: &mut Mistakes) -> Option<Argument> {
    let default = attr::default_value(&parameter.own, mistakes);
    Borrowed { mistakes }.visit_type(&parameter.ty);
    let name = argument_name(&parameter.pattern, mistakes)?;
    Some(Argument {
        name,
        ty: parameter.ty.clone(),
        attributes: parameter.field.clone(),
        default,
    })
}

fn argument_name(pattern: &Pat, mistakes: &mut Mistakes) -> Option<Ident> {
    match pattern {
        Pat::Ident(PatIdent {
            by_ref: None,
            subpat: None,
            ident,
            ..
        }) => Some(ident.clone()),
        Pat::Wild(_) => {
            mistakes.add(pattern, "an argument needs a name, for the model");
            None
        }
        _ => {
            mistakes.add(
                pattern,
                "an argument is a plain name, for the model; take it apart in the body",
            );
            None
        }
    }
}

/// Finds what a value that was just read cannot be.
struct Borrowed<'a> {
    mistakes: &'a mut Mistakes,
}

impl<'ast> Visit<'ast> for Borrowed<'_> {
    fn visit_type_reference(&mut self, ty: &'ast TypeReference) {
        let owned = match &*ty.elem {
            elem if context(elem).is_some() => "`ExecutionContext` or `&ExecutionContext`",
            Type::Path(path) if path.path.is_ident("str") => "`String`",
            Type::Slice(_) => "a `Vec`",
            _ => "an owned type",
        };
        let message =
            format!("an argument is made for the call, so it cannot be borrowed; take {owned}");
        self.mistakes.add(ty, message);
    }

    fn visit_type_impl_trait(&mut self, ty: &'ast TypeImplTrait) {
        let message =
            "an argument needs a type that can be named: the model needs to know what to write";
        self.mistakes.add(ty, message);
    }

    fn visit_lifetime(&mut self, lifetime: &'ast syn::Lifetime) {
        if lifetime.ident != "static" {
            self.mistakes.add(
                lifetime,
                "an argument is made for the call, so it has no lifetime",
            );
        }
        visit::visit_lifetime(self, lifetime);
    }
}
