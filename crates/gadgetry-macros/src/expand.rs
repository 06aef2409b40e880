//! The gadget, written.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::ext::IdentExt as _;
use syn::spanned::Spanned as _;
use syn::{Attribute, ReturnType, Type};

use crate::ast::Function;
use crate::attr::{self, DefaultValue, Example, Options};
use crate::valid::{self, Argument, Gadget, Input};

/// The function, and its gadget next to it.
pub(crate) fn gadget(function: &Function, gadget: &Gadget) -> TokenStream {
    let Some(type_name) = &gadget.type_name else {
        return quote!(#function);
    };
    let type_definition = type_definition(function, type_name);
    let conditions = conditions(function);
    let implementation = implementation(type_name, function, gadget, &Callee::Function);
    quote! {
        // Arguments are made for the call.
        #[allow(clippy::needless_pass_by_value)]
        #function
        #type_definition

        #(#conditions)*
        const _: () = {
            #implementation
        };
    }
}

/// The function or method that a call of the gadget runs.
pub(crate) enum Callee<'a> {
    Function,
    /// A method of this type, of which the gadget holds an `Arc`.
    Method(&'a Type),
}

/// `type_name` as a gadget, with the type of its parameters.
pub(crate) fn implementation(
    type_name: &Ident,
    function: &Function,
    gadget: &Gadget,
    callee: &Callee<'_>,
) -> TokenStream {
    let (params, params_definition) = params(type_name, gadget);
    let info = info(gadget);
    let permission = gadget.options.permission.map(permission);
    let preview = preview(gadget, callee);
    let preview_method = preview.as_ref().map(preview_method);
    let execute = execute(function, gadget, callee, preview.as_ref());
    quote! {
        #params_definition

        #[automatically_derived]
        impl ::gadgetry::Gadget for #type_name {
            type Params = #params;
            type Output = ::gadgetry::GadgetOutput;

            fn info(&self) -> ::gadgetry::GadgetInfo {
                #info
            }

            #execute

            #permission

            #preview_method
        }
    }
}

/// The type of the parameters, and its definition with what that needs.
///
/// It is public because the associated type is; it cannot be named outside of the block around it. Inside, the user's
/// types are named, too, so its name must not be one that user code contains.
fn params(type_name: &Ident, gadget: &Gadget) -> (TokenStream, Option<TokenStream>) {
    let arguments: Vec<&Argument> = gadget.inputs.iter().filter_map(Input::argument).collect();
    if arguments.is_empty() {
        return (quote!(::gadgetry::NoParams), None);
    }
    let name = format_ident!("__{type_name}Params");
    let generics = generics(&arguments);
    let fields = arguments
        .iter()
        .zip(&generics)
        .map(|(argument, generic)| field(argument, generic.as_ref()));
    let names: Vec<&Ident> = generics.iter().flatten().collect();
    let bounds = bounds(&names);
    let concrete = concrete(&name, &arguments, &generics);
    let default_functions = arguments.iter().copied().filter_map(default_function);
    // An undeclared argument could not be read, so a slip is reported to the model. What serde reads by other names is not in
    // the schema, which would refuse it.
    let is_open = arguments
        .iter()
        .any(|argument| attr::reads_other_names(&argument.attributes));
    let closed = (!is_open).then(|| quote!(#[serde(deny_unknown_fields)]));
    let definition = quote! {
        #[derive(
            ::gadgetry::__private::serde::Deserialize,
            ::gadgetry::__private::schemars::JsonSchema,
        )]
        #[serde(crate = "::gadgetry::__private::serde")]
        #[schemars(crate = "::gadgetry::__private::schemars")]
        #bounds
        #closed
        #[allow(unreachable_pub)]
        pub struct #name <#(#names),*> {
            #(#fields,)*
        }

        #(#default_functions)*
    };
    (concrete, Some(definition))
}

/// A type parameter for each argument whose type is all that is known about it; `None` for the others.
///
/// So the derives hold for any type, and one that a model cannot write is reported once, where the parameters are used, and not by
/// each line that the derives write.
fn generics(arguments: &[&Argument]) -> Vec<Option<Ident>> {
    let plain = |argument: &Argument| {
        let has_default = argument.default.is_some();
        !has_default
            && argument
                .attributes
                .iter()
                .all(|it| it.path().is_ident("doc"))
    };
    let numbered = arguments.iter().enumerate();
    numbered
        .map(|(number, argument)| plain(argument).then(|| format_ident!("__Argument{number}")))
        .collect()
}

/// The struct of the parameters with the types of the arguments, located at them for messages.
fn concrete(name: &Ident, arguments: &[&Argument], generics: &[Option<Ident>]) -> TokenStream {
    let types = arguments
        .iter()
        .zip(generics)
        .filter(|(_, generic)| generic.is_some());
    let types: Vec<&Type> = types.map(|(argument, _)| &argument.ty).collect();
    let (Some(first), Some(last)) = (types.first(), types.last()) else {
        return quote!(#name);
    };
    let at = |ty: &Type| Span::call_site().located_at(ty.span());
    let name = Ident::new(&name.to_string(), at(first));
    let end = quote_spanned!(at(last)=> >);
    quote!(#name <#(#types),* #end)
}

/// The derives' bounds on these type parameters.
fn bounds(names: &[&Ident]) -> Option<TokenStream> {
    let bounds: Vec<String> = names
        .iter()
        .map(|name| format!("{name}: ::gadgetry::gadget::FromModel"))
        .collect();
    let bounds = bounds.join(", ");
    (!names.is_empty()).then(|| {
        quote! {
            #[serde(bound(deserialize = #bounds))]
            #[schemars(bound = #bounds)]
        }
    })
}

/// The unit struct, as visible as the function, with its documentation.
pub(crate) fn type_definition(function: &Function, name: &Ident) -> TokenStream {
    let visibility = &function.visibility;
    let conditions = conditions(function);
    let title = format!(" The gadget of [`{}`].", function.signature.ident);
    let docs = attributes(function, "doc");
    quote! {
        #(#conditions)*
        #[doc = #title]
        #[doc = ""]
        #(#docs)*
        #[derive(
            ::core::clone::Clone, ::core::marker::Copy, ::core::fmt::Debug, ::core::default::Default,
        )]
        #visibility struct #name;
    }
}

/// Returns the `cfg` attributes of the function, which its gadget has, too.
pub(crate) fn conditions(function: &Function) -> impl Iterator<Item = &Attribute> {
    attributes(function, "cfg")
}

fn attributes<'a>(function: &'a Function, name: &str) -> impl Iterator<Item = &'a Attribute> {
    let attributes = function.attributes.iter();
    attributes.filter(move |it| it.path().is_ident(name))
}

impl Input {
    fn argument(&self) -> Option<&Argument> {
        match self {
            Self::Argument(argument) => Some(argument),
            Self::Context { .. } | Self::Value(_) => None,
        }
    }

    fn is_value(&self) -> bool {
        matches!(self, Self::Value(_))
    }
}

fn field(argument: &Argument, generic: Option<&Ident>) -> TokenStream {
    let Argument {
        name,
        ty,
        attributes,
        default,
    } = argument;
    let default = default.as_ref().map(|default| match default {
        DefaultValue::OfType => quote!(#[serde(default)]),
        DefaultValue::Value(_) => {
            let function = default_name(name).to_string();
            quote!(#[serde(default = #function)])
        }
    });
    let ty = generic.map_or_else(|| ty.to_token_stream(), ToTokens::to_token_stream);
    quote!(#(#attributes)* #default #name: #ty)
}

fn default_name(argument: &Ident) -> Ident {
    format_ident!("__default_{}", argument.unraw())
}

fn default_function(argument: &Argument) -> Option<TokenStream> {
    let Some(DefaultValue::Value(value)) = &argument.default else {
        return None;
    };
    let (name, ty) = (default_name(&argument.name), &argument.ty);
    let value = match (attr::string_literal(value), attr::as_float(value, ty)) {
        (Some(text), _) => quote!(::core::convert::From::from(#text)),
        (None, Some(float)) => quote!(#float),
        (None, None) => quote!(#value),
    };
    Some(quote! {
        #[allow(clippy::unnecessary_wraps)]
        fn #name() -> #ty {
            #value
        }
    })
}

fn info(gadget: &Gadget) -> TokenStream {
    let Gadget {
        name,
        description,
        options,
        ..
    } = gadget;
    let Options {
        timeout_ms,
        max_concurrent,
        exclusive,
        sticky_result,
        unterminated,
        on_interrupt,
        examples,
        ..
    } = options;
    let timeout = timeout_ms
        .map(|milliseconds| quote!(.timeout(::core::time::Duration::from_millis(#milliseconds))));
    let max_concurrent = max_concurrent.map(|count| quote!(.max_concurrent(#count)));
    let exclusive = exclusive.then(|| quote!(.exclusive()));
    let sticky_result = sticky_result.then(|| quote!(.sticky_result()));
    let unterminated = unterminated.map(|policy| {
        let policy = quote::format_ident!("{policy}");
        quote!(.unterminated(::gadgetry::proto::schema::Unterminated::#policy))
    });
    let on_interrupt = on_interrupt.map(|policy| {
        let policy = quote::format_ident!("{policy}");
        quote!(.on_interrupt(::gadgetry::proto::schema::OnInterrupt::#policy))
    });
    let examples = examples.iter().map(example);
    let values = gadget.inputs.iter().filter_map(|input| match input {
        Input::Value(ty) => Some(ty),
        Input::Argument(_) | Input::Context { .. } => None,
    });
    quote! {
        ::gadgetry::GadgetInfo::new(#name, #description)
            #(.needs::<#values>())*
            #timeout
            #max_concurrent
            #exclusive
            #sticky_result
            #unterminated
            #on_interrupt
            #(.example(#examples))*
    }
}

fn example(example: &Example) -> TokenStream {
    let Example {
        params,
        output,
        comment,
    } = example;
    let output = output.iter();
    let comment = comment.iter();
    quote! {
        ::gadgetry::Example::new(::gadgetry::__private::serde_json::json!(#params))
            #(.output(#output))*
            #(.comment(#comment))*
    }
}

fn permission(variant: &str) -> TokenStream {
    let variant = format_ident!("{variant}");
    quote! {
        fn permission(&self) -> ::gadgetry::Permission {
            ::gadgetry::Permission::#variant
        }
    }
}

/// The parameters in a method of the gadget. The names of locals are hygienic, so that they shadow no name of the user.
fn params_local() -> Ident {
    Ident::new("params", Span::mixed_site())
}

/// The preview of a call with [`params_local`], as an expression of a `Result`. The function reads the arguments by reference,
/// because the call still needs them.
fn preview(gadget: &Gadget, callee: &Callee<'_>) -> Option<TokenStream> {
    let path = gadget.options.preview.as_ref()?;
    let params = params_local();
    let arguments = gadget.inputs.iter().filter_map(Input::argument);
    let arguments = arguments.map(|argument| &argument.name);
    // Errors about the types of the function are reported where it is named.
    let place = Span::call_site().located_at(path.span());
    let call = match callee {
        Callee::Function => quote_spanned!(place=> #path(#(&#params.#arguments),*)),
        Callee::Method(ty) => {
            let name = valid::method_name(path)?;
            quote_spanned!(place=> <#ty>::#name(&self.0, #(&#params.#arguments),*))
        }
    };
    Some(quote_spanned!(place=> ::gadgetry::gadget::IntoPreview::into_preview(#call)))
}

fn preview_method(preview: &TokenStream) -> TokenStream {
    let params = params_local();
    quote! {
        #[allow(unused_variables)]
        async fn preview(
            &self,
            #params: Self::Params,
        ) -> ::core::result::Result<::gadgetry::CallPreview, ::gadgetry::GadgetError> {
            #preview
        }
    }
}

fn execute(
    function: &Function,
    gadget: &Gadget,
    callee: &Callee<'_>,
    preview: Option<&TokenStream>,
) -> TokenStream {
    let name = &function.signature.ident;
    let params = params_local();
    let context = Ident::new("context", Span::mixed_site());
    let state = Ident::new("state", Span::mixed_site());
    // They borrow the context, so it cannot be moved.
    let has_values = gadget.inputs.iter().any(Input::is_value);
    // What runs is what was approved, if anything was.
    let check = preview.map(|preview| quote!(#context.check_approved(&#preview?)?;));
    let inputs = gadget.inputs.iter().map(|input| match input {
        Input::Argument(argument) => {
            let name = &argument.name;
            quote!(#params.#name)
        }
        Input::Context { by_reference: true } => quote!(&#context),
        Input::Context {
            by_reference: false,
        } if has_values => quote!(::core::clone::Clone::clone(&#context)),
        Input::Context {
            by_reference: false,
        } => quote!(#context),
        Input::Value(ty) => {
            let span = ty.span();
            quote_spanned!(span=> #context.get::<#ty>()?)
        }
    });
    let wait = function.signature.asyncness.map(|_| quote!(.await));
    // The error about a type that is not a result is reported at that type.
    let place = match &function.signature.output {
        ReturnType::Type(_, ty) => ty.span(),
        ReturnType::Default => name.span(),
    };
    let place = Span::call_site().located_at(place);
    let (state_definition, call) = match callee {
        Callee::Function => (None, quote!(#name(#(#inputs),*) #wait)),
        Callee::Method(ty) => (
            Some(quote!(let #state = ::std::sync::Arc::clone(&self.0);)),
            quote!(<#ty>::#name(&#state, #(#inputs),*) #wait),
        ),
    };
    let result = quote_spanned!(place=> ::gadgetry::__private::into_result!(#call));
    let result = if gadget.options.blocking {
        quote!(::gadgetry::__private::blocking(move || #result).await)
    } else {
        result
    };
    quote! {
        #[allow(unused_variables)]
        async fn execute(
            &self,
            #params: Self::Params,
            #context: ::gadgetry::ExecutionContext,
        ) -> ::core::result::Result<Self::Output, ::gadgetry::GadgetError> {
            #check
            #state_definition
            #result
        }
    }
}
