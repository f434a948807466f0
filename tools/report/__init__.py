"""Reports of programs: pages in HTML, graphs for other viewers.

`model` collects the facts, `layered` and `hierarchy` place the graph, `page` embeds both in a page
that makes no requests.
"""
