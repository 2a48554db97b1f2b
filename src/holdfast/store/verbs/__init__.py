"""The verbs of the ledger, written against a transaction and named queries; they know no database driver."""
