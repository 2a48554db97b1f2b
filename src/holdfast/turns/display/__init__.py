"""What people see of a run while it goes on; lossy, and never a delivery."""
