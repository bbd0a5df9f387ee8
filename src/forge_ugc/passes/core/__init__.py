"""What the simplifying passes share: bound arguments, aliasing, identities, views, evaluation."""
