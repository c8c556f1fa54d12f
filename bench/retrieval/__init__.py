"""What both recall figures share: the sets, the baselines, the way through the front door."""
