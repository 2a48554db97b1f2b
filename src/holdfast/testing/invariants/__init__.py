"""The promises as rules over histories; they see nothing else."""
