"""What a person sees in a terminal: heat maps, progress, reports. Every function gives a rich renderable."""
