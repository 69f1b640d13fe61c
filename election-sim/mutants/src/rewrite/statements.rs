//! Blocks and their statements: what is left out, and what a `let` may fail to find.

use super::{Place, Rewriter};
use quote::quote;
use syn::{BinOp, Block, Expr, Pat, Stmt, parse_quote, spanned::Spanned as _};

impl Rewriter<'_> {
    /// Rewrites the statements of a block whose value is of use at `place`.
    pub(super) fn block(&mut self, block: &mut Block, place: Place) {
        let count = block.stmts.len();
        let statements = std::mem::take(&mut block.stmts);
        for (n, mut statement) in statements.into_iter().enumerate() {
            let is_last = n + 1 == count;
            match &mut statement {
                Stmt::Local(local) if matches!(local.pat, Pat::Wild(_)) => {
                    self.ignored(&mut statement);
                }
                Stmt::Local(_) => block.stmts.extend(self.local(&mut statement)),
                Stmt::Expr(expression, None) if is_last && place != Place::Effect => {
                    self.expression(expression, place);
                }
                Stmt::Expr(expression, _) => self.effect(expression),
                Stmt::Item(_) | Stmt::Macro(_) => {}
            }
            block.stmts.push(statement);
        }
    }

    /// An expression that is there for its effect. Calls and assignments may be left out.
    pub(super) fn effect(&mut self, expression: &mut Expr) {
        let (span, text) = (expression.span(), self.text(expression.span()));
        let is_dropped = match expression {
            Expr::Call(_) | Expr::MethodCall(_) | Expr::Try(_) => true,
            // A loop that takes what a variable holds needs it to be set again.
            Expr::Assign(assignment) => {
                let to = self.text(assignment.left.span());
                !self.emptied.contains(&to)
            }
            // What never ends may stand for a value of any type.
            Expr::Await(_) => !text.starts_with("pending"),
            Expr::Binary(binary) => is_assignment(&binary.op),
            _ => false,
        };
        self.expression(expression, Place::Effect);
        if is_dropped {
            let on = self.mutant(span, &text, "nothing");
            *expression = parse_quote!({ if !#on { #expression; } });
        }
    }

    /// `let _ = …`: an effect whose outcome is ignored.
    fn ignored(&mut self, statement: &mut Stmt) {
        let Stmt::Local(local) = statement else { return };
        let Some(init) = &mut local.init else { return };
        let (span, text) = (init.expr.span(), self.text(init.expr.span()));
        self.value(&mut init.expr);
        let on = self.mutant(span, &text, "nothing");
        *statement = parse_quote!(if !#on { #statement });
    }

    /// Rewrites a `let`. Returns a statement that has to go before it.
    fn local(&mut self, statement: &mut Stmt) -> Option<Stmt> {
        let Stmt::Local(local) = statement else { return None };
        let (span, pattern) = (local.pat.span(), self.text(local.pat.span()));
        let init = local.init.as_mut()?;
        self.value(&mut init.expr);
        let (_, otherwise) = init.diverge.as_mut()?;
        let taken = self.branch(otherwise.span(), &format!("not let {pattern}"));
        self.expression(otherwise, Place::Effect);
        if let Expr::Block(block) = &mut **otherwise {
            block.block.stmts.insert(0, taken);
        }
        let on = self.mutant(span, &format!("let {pattern}"), "its else");
        let (pattern, value) = (&local.pat, &init.expr);
        if is_place(value) {
            // It cannot move into a tuple, and has no effect that would be lost.
            return Some(parse_quote!(if #on #otherwise));
        }
        *statement = parse_quote!(let (#pattern, false) = (#value, #on) else #otherwise;);
        None
    }

    /// `target op= value`: the opposite operator.
    pub(super) fn compound(&mut self, expression: &mut Expr) {
        let span = expression.span();
        let Expr::Binary(binary) = expression else { return };
        self.value(&mut binary.right);
        let (op, target, value) = (&binary.op, &binary.left, &binary.right);
        let other = match op {
            BinOp::AddAssign(_) => quote!(-=),
            BinOp::SubAssign(_) => quote!(+=),
            BinOp::BitAndAssign(_) => quote!(|=),
            BinOp::BitOrAssign(_) => quote!(&=),
            _ => return,
        };
        let (before, after) = (quote!(#op).to_string(), other.to_string());
        let place = self.text(target.span());
        let on = self.mutant(span, &format!("{place} {before}"), &format!("{place} {after}"));
        *expression = parse_quote!(if #on { #target #other #value } else { #target #op #value });
    }
}

pub(super) fn is_assignment(op: &BinOp) -> bool {
    matches!(
        op,
        BinOp::AddAssign(_)
            | BinOp::SubAssign(_)
            | BinOp::MulAssign(_)
            | BinOp::DivAssign(_)
            | BinOp::RemAssign(_)
            | BinOp::BitAndAssign(_)
            | BinOp::BitOrAssign(_)
            | BinOp::BitXorAssign(_)
            | BinOp::ShlAssign(_)
            | BinOp::ShrAssign(_)
    )
}

fn is_place(value: &Expr) -> bool {
    matches!(value, Expr::Path(_) | Expr::Field(_) | Expr::Unary(_) | Expr::Index(_))
}
