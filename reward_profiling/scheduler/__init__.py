"""Where jobs run: one Protocol, several implementations. Knows neither Dagster nor sweeps."""
