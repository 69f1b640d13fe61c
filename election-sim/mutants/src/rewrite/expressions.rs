//! Expressions: branches, arms, operators, numbers, and the calls that have an opposite.

use super::{
    Place, Returns, Rewriter,
    conditions::{Forced, is_comparison},
    statements::is_assignment,
};
use quote::{format_ident, quote};
use syn::{
    Arm, BinOp, Expr, ExprClosure, ExprIf, ExprMatch, ExprMethodCall, Lit, Pat, UnOp, parse_quote,
    spanned::Spanned as _, visit_mut::VisitMut,
};

/// The closure in such a call says "yes" or "no".
const ASKS: [&str; 11] = [
    "filter",
    "is_some_and",
    "is_none_or",
    "any",
    "all",
    "take_if",
    "find",
    "position",
    "take_while",
    "skip_while",
    "retain",
];
/// Calls with an opposite that takes and returns the same.
const OPPOSITES: [(&str, &str); 3] =
    [("saturating_add", "saturating_sub"), ("after", "before"), ("any", "all")];

impl VisitMut for Rewriter<'_> {
    fn visit_expr_mut(&mut self, expression: &mut Expr) {
        self.value(expression);
    }

    fn visit_block_mut(&mut self, block: &mut syn::Block) {
        self.block(block, Place::Value);
    }

    // Nothing of these runs where a switch could be asked.
    fn visit_pat_mut(&mut self, _: &mut Pat) {}
    fn visit_type_mut(&mut self, _: &mut syn::Type) {}
    fn visit_item_mut(&mut self, _: &mut syn::Item) {}
    fn visit_path_mut(&mut self, _: &mut syn::Path) {}
    fn visit_attribute_mut(&mut self, _: &mut syn::Attribute) {}
}

impl Rewriter<'_> {
    pub(super) fn value(&mut self, expression: &mut Expr) {
        self.expression(expression, Place::Value);
    }

    pub(super) fn expression(&mut self, expression: &mut Expr, place: Place) {
        match expression {
            Expr::If(branches) => self.branches(branches, place),
            Expr::Match(found) => self.arms(found, place),
            Expr::Block(block) => self.block(&mut block.block, place),
            Expr::Paren(inner) => self.expression(&mut inner.expr, place),
            Expr::While(repeated) => {
                // One that always holds never ends; that much is known beforehand.
                let from = match &*repeated.cond {
                    Expr::Let(found) => self.text(found.expr.span()),
                    _ => String::new(),
                };
                self.condition(&mut repeated.cond, Forced::NO);
                let taken = self.round(repeated.body.span(), "the loop");
                self.emptied.push(from);
                self.block(&mut repeated.body, Place::Effect);
                self.emptied.pop();
                repeated.body.stmts.insert(0, taken);
            }
            Expr::Loop(repeated) => {
                let taken = self.round(repeated.body.span(), "the loop");
                self.block(&mut repeated.body, Place::Effect);
                repeated.body.stmts.insert(0, taken);
            }
            Expr::ForLoop(repeated) => {
                self.value(&mut repeated.expr);
                let taken = self.round(repeated.body.span(), "the loop");
                self.block(&mut repeated.body, Place::Effect);
                repeated.body.stmts.insert(0, taken);
            }
            Expr::Binary(binary) if is_assignment(&binary.op) => self.compound(expression),
            Expr::Binary(binary) if is_truth(&binary.op) => {
                let whole = place != Place::Truth;
                self.condition(expression, if whole { Forced::BOTH } else { Forced::NEITHER });
            }
            Expr::Binary(_) => self.arithmetic(expression),
            Expr::Unary(unary) if matches!(unary.op, UnOp::Not(_)) && place == Place::Truth => {
                self.condition(&mut unary.expr, Forced::NEITHER);
            }
            Expr::Assign(assignment) => {
                self.value(&mut assignment.right);
                if place != Place::Effect {
                    let text = self.text(expression.span());
                    let on = self.mutant(expression.span(), &text, "nothing");
                    *expression = parse_quote!({ if !#on { #expression } });
                }
            }
            Expr::MethodCall(_) => self.call(expression),
            Expr::Closure(closure) => self.closure(closure, false),
            Expr::Try(_) => self.question(expression),
            Expr::Lit(_) => self.literal(expression),
            Expr::Path(_) => self.constant(expression),
            Expr::Macro(call) if call.mac.path.is_ident("matches") => {
                if let Some(found) = self.matches(&call.mac.clone()) {
                    *expression = found;
                }
            }
            // A reference to a literal or a constant may have to live for ever.
            Expr::Reference(reference)
                if matches!(*reference.expr, Expr::Lit(_) | Expr::Path(_) | Expr::Array(_)) => {}
            Expr::Async(block) => {
                let outer = std::mem::replace(&mut self.returns, Returns::Else);
                self.block(&mut block.block, Place::Value);
                self.returns = outer;
            }
            Expr::Repeat(repeat) => self.value(&mut repeat.expr),
            Expr::Const(_) | Expr::Macro(_) => {}
            other => syn::visit_mut::visit_expr_mut(self, other),
        }
    }

    fn branches(&mut self, branches: &mut ExprIf, place: Place) {
        let asked = self.text(branches.cond.span());
        self.condition(&mut branches.cond, Forced::BOTH);
        let taken = self.branch(branches.then_branch.span(), &format!("if {asked}"));
        self.block(&mut branches.then_branch, place);
        branches.then_branch.stmts.insert(0, taken);
        let not = format!("not if {asked}");
        match &mut branches.else_branch {
            Some((_, otherwise)) => match &mut **otherwise {
                Expr::Block(block) => {
                    let taken = self.branch(block.span(), &not);
                    self.block(&mut block.block, place);
                    block.block.stmts.insert(0, taken);
                }
                other => self.expression(other, place),
            },
            None => {
                let taken = self.branch(branches.if_token.span, &not);
                branches.else_branch = Some((Default::default(), parse_quote!({ #taken })));
            }
        }
    }

    fn arms(&mut self, found: &mut ExprMatch, place: Place) {
        self.value(&mut found.expr);
        let default =
            found.arms.last().filter(|arm| takes_all(arm)).map(|arm| self.text(arm.body.span()));
        let last = found.arms.len().saturating_sub(1);
        for (n, arm) in found.arms.iter_mut().enumerate() {
            let pattern = self.text(arm.pat.span());
            let taken = self.branch(arm.span(), &format!("case {pattern}"));
            let same = default.as_ref().is_none_or(|body| *body == self.text(arm.body.span()));
            if let Some((_, guard)) = &mut arm.guard {
                self.condition(guard, Forced::BOTH);
            } else if !same && n != last {
                let on = self.mutant(arm.span(), &format!("case {pattern}"), "the default arm");
                arm.guard = Some((Default::default(), parse_quote!(!#on)));
            }
            match place {
                Place::Effect => self.effect(&mut arm.body),
                _ => self.expression(&mut arm.body, place),
            }
            let body = &arm.body;
            arm.body = parse_quote!({ #taken #body });
            arm.comma = Some(Default::default());
        }
    }

    fn arithmetic(&mut self, expression: &mut Expr) {
        let (span, text) = (expression.span(), self.text(expression.span()));
        let Expr::Binary(binary) = expression else { return };
        self.value(&mut binary.left);
        self.value(&mut binary.right);
        let other = match &binary.op {
            BinOp::Add(_) => quote!(-),
            BinOp::Sub(_) => quote!(+),
            BinOp::Mul(_) | BinOp::Rem(_) => quote!(/),
            BinOp::Div(_) => quote!(*),
            BinOp::BitAnd(_) => quote!(|),
            BinOp::BitOr(_) | BinOp::BitXor(_) => quote!(&),
            BinOp::Shl(_) => quote!(>>),
            BinOp::Shr(_) => quote!(<<),
            _ => return,
        };
        let on = self.mutant(span, &text, &other.to_string());
        let (left, op, right) = (&binary.left, &binary.op, &binary.right);
        if matches!(binary.op, BinOp::Mul(_)) && is_number(&text) {
            // A span can be divided by a number, and no number by a span.
            *expression =
                parse_quote!((if #on { (#right) #other (#left) } else { (#left) #op (#right) }));
            return;
        }
        *expression =
            parse_quote!((if #on { (#left) #other (#right) } else { (#left) #op (#right) }));
    }

    fn call(&mut self, expression: &mut Expr) {
        let (span, text) = (expression.span(), self.text(expression.span()));
        let Expr::MethodCall(call) = expression else { return };
        let name = call.method.to_string();
        if matches!(name.as_str(), "then" | "then_some") {
            self.condition(&mut call.receiver, Forced::BOTH);
        } else {
            self.value(&mut call.receiver);
        }
        let asks = ASKS.contains(&name.as_str());
        for argument in &mut call.args {
            match argument {
                Expr::Closure(closure) => self.closure(closure, asks),
                other => self.value(other),
            }
        }
        let ExprMethodCall { receiver, args, .. } = &*call;
        if matches!(name.as_str(), "min" | "max") && args.len() == 1 {
            let other = if name == "min" { "max" } else { "min" };
            let id = self.number(span, &text, other);
            let chooses = format_ident!("{name}");
            *expression = parse_quote!(crate::switch::#chooses(#id, #receiver, #args));
            return;
        }
        let opposite = OPPOSITES.iter().find_map(|(one, other)| match name.as_str() {
            name if name == *one => Some(*other),
            name if name == *other => Some(*one),
            _ => None,
        });
        if let Some(opposite) = opposite {
            let on = self.mutant(span, &text, opposite);
            let other = format_ident!("{opposite}");
            let one = &call.method;
            *expression = parse_quote!((if #on {
                #receiver.#other(#args)
            } else {
                #receiver.#one(#args)
            }));
        }
    }

    fn closure(&mut self, closure: &mut ExprClosure, asks: bool) {
        let outer = std::mem::replace(&mut self.returns, Returns::Else);
        if asks {
            self.condition(&mut closure.body, Forced::BOTH);
        } else {
            self.value(&mut closure.body);
        }
        self.returns = outer;
    }

    fn question(&mut self, expression: &mut Expr) {
        let (span, text) = (expression.span(), self.text(expression.span()));
        let Expr::Try(question) = expression else { return };
        self.value(&mut question.expr);
        if self.returns == Returns::Option {
            let id = self.number(span, &text, "None");
            let branch = self.branch_number(span, &format!("not {text}"));
            let found = &question.expr;
            *expression = parse_quote!(crate::switch::question(#id, #branch, #found)?);
        }
    }

    fn literal(&mut self, expression: &mut Expr) {
        let (span, text) = (expression.span(), self.text(expression.span()));
        let Expr::Lit(literal) = expression else { return };
        match &literal.lit {
            Lit::Bool(truth) => {
                let other = !truth.value;
                let on = self.mutant(span, &text, &other.to_string());
                *expression = parse_quote!((if #on { #other } else { #expression }));
            }
            Lit::Int(number) => {
                let Ok(value) = number.base10_parse::<u64>() else { return };
                let named = |value: u64| format!("{value}{}", number.suffix());
                let near = |value: u64| syn::LitInt::new(&named(value), span);
                let more = near(value.wrapping_add(1));
                let on = self.mutant(span, &text, &named(value.wrapping_add(1)));
                if value == 0 {
                    *expression = parse_quote!((if #on { #more } else { #expression }));
                    return;
                }
                let less = near(value - 1);
                let off = self.mutant(span, &text, &format!("{}{}", value - 1, number.suffix()));
                *expression = parse_quote!(
                    (if #on { #more } else if #off { #less } else { #expression })
                );
            }
            _ => {}
        }
    }

    fn constant(&mut self, expression: &mut Expr) {
        let (span, text) = (expression.span(), self.text(expression.span()));
        let Expr::Path(path) = expression else { return };
        if !path.path.get_ident().is_some_and(|name| self.constants.contains(&name.to_string())) {
            return;
        }
        let on = self.mutant(span, &text, "one more");
        let off = self.mutant(span, &text, "one less");
        *expression = parse_quote!((if #on {
            crate::switch::Near::more(#expression)
        } else if #off {
            crate::switch::Near::less(#expression)
        } else {
            #expression
        }));
    }
}

fn is_truth(op: &BinOp) -> bool {
    matches!(op, BinOp::And(_) | BinOp::Or(_)) || is_comparison(op)
}

/// Whether this text begins with a number.
fn is_number(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_digit())
}

fn takes_all(arm: &Arm) -> bool {
    let is_name = |name: &str| name.starts_with(|first: char| first.is_lowercase());
    arm.guard.is_none()
        && match &arm.pat {
            Pat::Wild(_) => true,
            Pat::Ident(found) => found.subpat.is_none() && is_name(&found.ident.to_string()),
            _ => false,
        }
}
