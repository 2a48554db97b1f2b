"""What people see of a run while it goes on. Updates may get lost; none is a delivery."""
