"""What an agent meant to do, should have done and did: plans, workflows, trajectories. Knows no LLM."""
