"""The promises as rules over histories; the rules read nothing else."""
