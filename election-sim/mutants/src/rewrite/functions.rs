//! Items and function bodies: which of them are rewritten, and what a body is replaced with.

use super::{Place, Returns, Rewriter};
use quote::ToTokens as _;
use syn::{
    Attribute, Block, ImplItem, Item, ReturnType, Signature, Stmt, TraitItem, Type, parse_quote,
    spanned::Spanned as _,
};

/// What these traits do is for people to read.
const FOR_PEOPLE: [&str; 2] = ["Debug", "Display"];
/// Code under these conditions is for tests, documentation and the model checker.
const ASIDE: [&str; 3] = ["test", "doc", "model-checking"];

impl Rewriter<'_> {
    pub(super) fn items(&mut self, items: &mut [Item]) {
        for item in items {
            match item {
                Item::Fn(function) if !is_aside(&function.attrs) => {
                    self.function(&function.sig, &mut function.block);
                }
                Item::Impl(implementation) if !is_aside(&implementation.attrs) => {
                    let for_people = implementation.trait_.as_ref().is_some_and(|(_, path, _)| {
                        let last = path.segments.last();
                        last.is_some_and(|last| FOR_PEOPLE.iter().any(|name| last.ident == name))
                    });
                    if for_people {
                        continue;
                    }
                    for item in &mut implementation.items {
                        let ImplItem::Fn(method) = item else { continue };
                        if !is_aside(&method.attrs) {
                            self.function(&method.sig, &mut method.block);
                        }
                    }
                }
                Item::Trait(definition) if !is_aside(&definition.attrs) => {
                    for item in &mut definition.items {
                        let TraitItem::Fn(method) = item else { continue };
                        if let Some(block) = &mut method.default {
                            self.function(&method.sig, block);
                        }
                    }
                }
                Item::Mod(module) if !is_aside(&module.attrs) => {
                    if let Some((_, items)) = &mut module.content {
                        self.items(items);
                    }
                }
                _ => {}
            }
        }
    }

    fn function(&mut self, signature: &Signature, block: &mut Block) {
        if signature.constness.is_some() {
            return;
        }
        let returned = match &signature.output {
            ReturnType::Default => String::new(),
            ReturnType::Type(_, returned) => type_name(returned),
        };
        let outer = (
            std::mem::replace(&mut self.function, signature.ident.to_string()),
            std::mem::replace(
                &mut self.returns,
                if returned == "Option" { Returns::Option } else { Returns::Else },
            ),
        );
        let place = match returned.as_str() {
            "" => Place::Effect,
            "bool" => Place::Truth,
            _ => Place::Value,
        };
        let instead = self.instead(&returned, block);
        let whole = block.span();
        self.block(block, place);
        let head = self.round(whole, "the function");
        let mut head = vec![head];
        for (value, code) in instead {
            let on = self.mutant(signature.ident.span(), "the function", value);
            head.push(parse_quote!(if #on { #code }));
        }
        block.stmts.splice(0..0, head);
        (self.function, self.returns) = outer;
    }

    /// What a function of this type may return in place of what it does.
    fn instead(&self, returned: &str, block: &Block) -> Vec<(&'static str, Stmt)> {
        let values: Vec<(&str, Stmt)> = match returned {
            "" => vec![("nothing", parse_quote!(return;))],
            "bool" => {
                vec![("true", parse_quote!(return true;)), ("false", parse_quote!(return false;))]
            }
            "Option" => vec![("None", parse_quote!(return None;))],
            "u8" | "u16" | "u32" | "u64" | "u128" | "usize" | "i64" => {
                vec![("0", parse_quote!(return 0;)), ("1", parse_quote!(return 1;))]
            }
            "Duration" => vec![("zero", parse_quote!(return ::core::time::Duration::ZERO;))],
            "Timestamp" => vec![
                ("zero", parse_quote!(return crate::Timestamp::ZERO;)),
                ("the end of time", parse_quote!(return crate::Timestamp::MAX;)),
            ],
            "Epoch" => vec![("no epoch", parse_quote!(return crate::Epoch::NONE;))],
            _ => vec![],
        };
        let text = self.text(block.span());
        let body = text.trim_matches(['{', '}', ' ']).to_owned();
        // The only statement of a body is left out where it stands.
        let is_one = block.stmts.len() <= 1 && returned.is_empty();
        let same = |value: &str| body == value || is_one;
        values.into_iter().filter(|(value, _)| !same(value)).collect()
    }
}

fn type_name(of: &Type) -> String {
    match of {
        Type::Path(path) => {
            path.path.segments.last().map_or_else(String::new, |last| last.ident.to_string())
        }
        Type::Tuple(tuple) if tuple.elems.is_empty() => String::new(),
        _ => "?".to_owned(),
    }
}

fn is_aside(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let text = attribute.meta.to_token_stream().to_string();
        attribute.path().is_ident("cfg") && ASIDE.iter().any(|word| text.contains(word))
            || attribute.path().is_ident("test")
    })
}
