"""Attacks on the gateway, each as a test that fails where the defence is missing."""
