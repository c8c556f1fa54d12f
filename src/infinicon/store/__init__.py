"""The only SQL. One module for each family of tables; each function answers one question and returns frozen domain values.

Scope comes first: every function that reads or writes rows of a tenant takes the scope (or the tenant) as its first argument and has
it in its statement, beside the row-level security that holds even where a statement forgets it. Sweeps over all tenants carry the
decorator `unscoped` with a reason, and run under the sweeper's role, which sees ids and states only.
"""
