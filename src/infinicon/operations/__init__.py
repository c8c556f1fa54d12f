"""One file for each verb. An operation opens its own transactions as visible `with` blocks, and slow calls stand between them."""
