"""The Dagster code location: one asset group per manifest found."""
