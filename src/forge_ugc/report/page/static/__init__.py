"""What the page is made of: the template, the style sheet and the scripts."""
