"""The platforms of a simulated world: real adapters against simulated servers."""
