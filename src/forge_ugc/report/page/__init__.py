"""The report page: one HTML file with everything that is known of a compilation."""

from forge_ugc.report.page.render import render_page, write_page

__all__ = ["render_page", "write_page"]
