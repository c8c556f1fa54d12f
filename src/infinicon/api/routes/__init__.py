"""One module per verb. A route translates and calls an operation once."""
