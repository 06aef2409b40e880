use gadgetry::gadgets;

struct Book;

#[gadgets]
impl Book {
    /// Makes one
    fn new() -> Self {
        Self
    }

    /// Changes it
    fn change(&mut self) {}

    /// Eats it
    fn eat(self) {}

    fn silent(&self) {}

    /// Has a wrong argument
    #[gadget(timeout = "soon", colour = "red")]
    fn odd(&self) {}

    /// Blocks and waits
    #[gadget(blocking)]
    async fn both(&self) {}
}

struct Named;

#[gadgets(all)]
impl Named {
    /// Fine
    fn fine(&self) {}
}

struct Empty;

#[gadgets]
impl Empty {}

struct Wide<T>(T);

#[gadgets]
impl<T> Wide<T> {
    /// Fine
    fn fine(&self) {}
}

trait Talk {
    fn talk(&self);
}

#[gadgets]
impl Talk for Book {
    /// Fine
    fn talk(&self) {}
}

/// Not a block
#[gadgets]
fn alone() {}

fn main() {}
