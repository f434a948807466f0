"""Program comparison of `et-vm diff`.

Programs are compared in terms that neither numbering nor the layout of the file touches.
"""
