"""Copies that move or convert elements: views, joins, type conversions."""
