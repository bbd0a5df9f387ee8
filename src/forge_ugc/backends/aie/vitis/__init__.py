"""AMD's tools for AI Engines, where they are installed: build, simulate, read what they say."""
