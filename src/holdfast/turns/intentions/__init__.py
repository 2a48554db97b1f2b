"""What tools ask the gateway to do; each is carried out here and committed with the journal."""
