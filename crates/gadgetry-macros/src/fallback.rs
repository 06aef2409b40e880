//! Replaces a gadget with mistakes: enough that only those are reported, and not what follows from them.

use proc_macro2::TokenStream;
use quote::quote;

use crate::ast::Function;
use crate::expand;
use crate::valid::Gadget;

/// The item as it was.
pub(crate) fn item(item: &TokenStream, mistake: &syn::Error) -> TokenStream {
    let mistake = mistake.to_compile_error();
    quote!(#mistake #item)
}

/// The function, and a gadget that only seems to be one.
pub(crate) fn function(function: &Function, gadget: &Gadget, mistakes: &syn::Error) -> TokenStream {
    let mistakes = mistakes.to_compile_error();
    let Some(type_name) = &gadget.type_name else {
        return quote!(#mistakes #function);
    };
    let type_definition = expand::type_definition(function, type_name);
    let conditions = expand::conditions(function);
    quote! {
        #mistakes
        #function
        #type_definition

        #(#conditions)*
        #[automatically_derived]
        impl ::gadgetry::Gadget for #type_name {
            type Params = ();
            type Output = ::gadgetry::GadgetOutput;

            fn info(&self) -> ::gadgetry::GadgetInfo {
                ::core::unreachable!()
            }

            async fn execute(
                &self,
                _: Self::Params,
                _: ::gadgetry::ExecutionContext,
            ) -> ::core::result::Result<Self::Output, ::gadgetry::GadgetError> {
                ::core::unreachable!()
            }
        }
    }
}
