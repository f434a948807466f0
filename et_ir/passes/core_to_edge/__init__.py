"""Passes from Core ATen to `edge`: functionalization of views, type promotion, memory layout."""
